package awssim_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim"
)

// A test in Go needs no process and no port: its SDK clients call the simulated AWS directly.
func ExampleNew() {
	sim, err := awssim.New(awssim.Options{})
	if err != nil {
		panic(err)
	}
	err = sim.Load("world.yaml", []byte(`
clusters: [prod]
services: [{name: shop, controller: ECS, count: 2, image: "sim/shop:v1"}]
`))
	if err != nil {
		panic(err)
	}
	ecs := awsecs.NewFromConfig(sim.Config())
	out, err := ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{
		Cluster: aws.String("prod"), Services: []string{"shop"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(*out.Services[0].Status, out.Services[0].RunningCount)
	// Output: ACTIVE 2
}
