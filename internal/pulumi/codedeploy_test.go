package pulumi_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

const codeWorld = `
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups: [{name: blue, port: 80}, {name: green, port: 80}]
loadBalancers: [{name: web, listeners: [{port: 80, forward: {blue: 1}}]}]
services: [{name: web, controller: CODE_DEPLOY, count: 1, image: "sim/web:v1", port: 80, targetGroup: blue}]
applications: [{name: web, groups: [{name: web, service: web, targetGroups: [blue, green], listener: "web:80"}]}]
`

// A deployment of CodeDeploy is named by its ID.
func TestDeploymentOfCodeDeploy(t *testing.T) {
	t.Parallel()
	r := newRig(t, codeWorld)
	td := got(r.ecs.DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")}))(t)
	spec := `{version: 0.0, Resources: [{TargetService: {Type: "AWS::ECS::Service", Properties: {TaskDefinition: "` +
		*td.TaskDefinition.TaskDefinitionArn +
		`", LoadBalancerInfo: {ContainerName: web, ContainerPort: 80}}}}]}`
	out := got(awscd.NewFromConfig(r.sim.Config()).CreateDeployment(context.Background(),
		&awscd.CreateDeploymentInput{ApplicationName: aws.String("web"), DeploymentGroupName: aws.String("web"),
			Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
				AppSpecContent: &cdtypes.AppSpecContent{Content: &spec}}}))(t)
	r.create(inputs(t, "", map[string]any{"deploymentId": *out.DeploymentId}), 0).expect(t, "succeeded")
}
