package wait

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// on runs f in a world with a service "web" that was just created, in virtual
// time.
func on(t *testing.T, image string, f func(v *clock.Virtual, o Options)) {
	t.Helper()
	v := clock.NewVirtual(time.Now().Add(24 * time.Hour))
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Strict: true, Direct: true})
		if err != nil {
			t.Fatal(err)
		}
		create(t, sim, image)
		cfg := sim.Config()
		f(v, Options{Cluster: "prod", Service: "web", Timeout: 20 * time.Minute, Region: cfg.Region,
			Credentials: cfg.Credentials,
			HTTPClient:  sim.HTTPClient(), EndpointURL: awssim.Endpoint, clock: v, apiOptions: sim.APIOptions()})
	})
}

func create(t *testing.T, sim *awssim.Sim, image string) {
	t.Helper()
	ctx, api := context.Background(), awsecs.NewFromConfig(sim.Config())
	var subnets []string
	_ = sim.World().Do(world.Key{Account: sim.Account(), Region: sim.Region()}, func(tx *world.Tx) error {
		subnets = tx.Subnets.Keys()
		return nil
	})
	_, err := api.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("prod")})
	_, err2 := api.RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"),
		NetworkMode: ecstypes.NetworkModeAwsvpc,
		Cpu:         aws.String("256"), Memory: aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions:    []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image)}}})
	_, err3 := api.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("web"), TaskDefinition: aws.String("web"),
		DesiredCount: aws.Int32(1), LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets}}})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
}

func TestForSucceeds(t *testing.T) {
	on(t, "sim/web:v1", func(_ *clock.Virtual, o Options) {
		looks := 0
		o.Progress = func(r Result) { looks++ }
		r, err := For(context.Background(), o)
		if err != nil || !r.Succeeded() || r.Revision != "web:1" || looks < 2 {
			t.Errorf("%+v %v, %d looks", r, err, looks)
		}
	})
}

func TestForFailsWithReasons(t *testing.T) {
	on(t, "sim/web:v1?noboot", func(_ *clock.Virtual, o Options) {
		r, err := For(context.Background(), o)
		if err != nil || r.Outcome != sluice.Failed || len(r.Reasons) == 0 || r.Reasons[0].Kind != "image not found" ||
			r.Reasons[0].Count != 3 || r.Next == "" {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestForEndsWithItsContext(t *testing.T) {
	on(t, "sim/web:v1?noboot", func(v *clock.Virtual, o Options) {
		ctx, cancel := v.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		r, err := For(ctx, o)
		if !errors.Is(err, context.DeadlineExceeded) || r.Outcome != "" || r.Detail == "" {
			t.Errorf("%+v %v", r, err)
		}
	})
}
