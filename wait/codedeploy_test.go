package wait

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const codeWorld = `
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups: [{name: blue, port: 80}, {name: green, port: 80}]
loadBalancers: [{name: web, listeners: [{port: 80, forward: {blue: 1}}]}]
services: [{name: web, controller: CODE_DEPLOY, count: 1, image: "sim/web:v1", port: 80, targetGroup: blue}]
applications: [{name: web, groups: [{name: web, service: web, targetGroups: [blue, green], listener: "web:80"}]}]
`

func TestForFollowsCodeDeploy(t *testing.T) {
	v := clock.NewVirtual(time.Now().Add(24 * time.Hour))
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Strict: true, Direct: true})
		if err == nil {
			err = sim.Load("world.yaml", []byte(codeWorld))
		}
		if err != nil {
			t.Fatal(err)
		}
		cfg := sim.Config()
		id := deployAgain(t, awsecs.NewFromConfig(cfg), awscd.NewFromConfig(cfg))
		o := Options{Deployment: id, Timeout: 20 * time.Minute, Region: cfg.Region, Credentials: cfg.Credentials,
			HTTPClient: sim.HTTPClient(), EndpointURL: awssim.Endpoint, clock: v, apiOptions: sim.APIOptions()}
		r, err := For(context.Background(), o)
		if err != nil || r.Outcome != sluice.Succeeded || r.Deployment != id || r.Revision != "web:1" ||
			!strings.HasPrefix(r.Detail, "web:1 serves") {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// deployAgain brings the revision that serves once more.
func deployAgain(t *testing.T, ecs *awsecs.Client, api *awscd.Client) (id string) {
	t.Helper()
	td, err := ecs.DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	spec := `{version: 0.0, Resources: [{TargetService: {Type: "AWS::ECS::Service", Properties: {TaskDefinition: "` +
		*td.TaskDefinition.TaskDefinitionArn +
		`", LoadBalancerInfo: {ContainerName: web, ContainerPort: 80}}}}]}`
	out, err := api.CreateDeployment(context.Background(),
		&awscd.CreateDeploymentInput{ApplicationName: aws.String("web"), DeploymentGroupName: aws.String("web"),
			Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
				AppSpecContent: &cdtypes.AppSpecContent{Content: &spec}}})
	if err != nil {
		t.Fatal(err)
	}
	return *out.DeploymentId
}
