package pulumi_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

const taskSetWorld = `
subnets: [subnet-0123456789abcdef0]
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups: [{name: blue, port: 80}]
loadBalancers: [{name: web, listeners: [{port: 80, forward: {blue: 1}}]}]
services: [{name: web, controller: EXTERNAL, count: 2, image: "sim/web:v1", port: 80, targetGroup: blue}]
`

// With deployment controller EXTERNAL, a revision serves once its task set is PRIMARY and
// stable, and the other task sets are gone.
func TestDeploymentByTaskSets(t *testing.T) {
	t.Parallel()
	r := newRig(t, taskSetWorld)
	ctx, v2 := context.Background(), r.revision("sim/web:v2")
	set := got(r.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskDefinition: &v2, LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: network(), Scale: &ecstypes.Scale{Value: 100, Unit: ecstypes.ScaleUnitPercent}}))(t)
	_, err := r.ecs.UpdateServicePrimaryTaskSet(ctx, &awsecs.UpdateServicePrimaryTaskSetInput{
		Cluster: aws.String("prod"), Service: aws.String("web"), PrimaryTaskSet: set.TaskSet.TaskSetArn})
	must(t, err)
	live := got(r.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}}))(t)
	for _, old := range live.Services[0].TaskSets {
		if aws.ToString(old.TaskSetArn) != aws.ToString(set.TaskSet.TaskSetArn) {
			_, err := r.ecs.DeleteTaskSet(ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskSet: old.TaskSetArn, Force: aws.Bool(true)})
			must(t, err)
		}
	}
	r.create(inputs(t, v2, nil), 0).expect(t, "succeeded")
}
