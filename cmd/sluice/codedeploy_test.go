package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/rogpeppe/go-internal/testscript"
)

// codedeploy is somebody else at CodeDeploy:
//
//	codedeploy start APPLICATION/GROUP IMAGE [EVENT=FUNCTION …]
//	codedeploy stop ID [rollback]
//	codedeploy continue ID
//
// start sets $DEPLOYMENT to the new deployment's id.
func codedeploy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: codedeploy start APPLICATION/GROUP IMAGE [EVENT=FUNCTION ...]|stop ID [rollback]|continue ID")
	}
	ctx, api := context.Background(), awscd.NewFromConfig(theSim(ts).Config())
	switch args[0] {
	case "start":
		out, err := api.CreateDeployment(ctx, startInput(ts, args[1:]))
		ts.Check(err)
		scriptOf(ts).setenv(ts, "DEPLOYMENT", *out.DeploymentId)
		ts.Check(os.WriteFile(ts.MkAbs("deployment.txt"), []byte(*out.DeploymentId+"\n"), 0o644))
	case "stop":
		_, err := api.StopDeployment(ctx, &awscd.StopDeploymentInput{DeploymentId: &args[1],
			AutoRollbackEnabled: aws.Bool(len(args) > 2)})
		ts.Check(err)
	case "continue":
		_, err := api.ContinueDeployment(ctx, &awscd.ContinueDeploymentInput{DeploymentId: &args[1],
			DeploymentWaitType: cdtypes.DeploymentWaitTypeReadyWait})
		ts.Check(err)
	default:
		ts.Fatalf("codedeploy cannot %s", args[0])
	}
}

// startInput deploys a revision like the service's own with an image.
func startInput(ts *testscript.TestScript, args []string) *awscd.CreateDeploymentInput {
	application, group, _ := strings.Cut(args[0], "/")
	ctx, config := context.Background(), theSim(ts).Config()
	found, err := awscd.NewFromConfig(config).GetDeploymentGroup(ctx,
		&awscd.GetDeploymentGroupInput{ApplicationName: &application, DeploymentGroupName: &group})
	ts.Check(err)
	of := found.DeploymentGroupInfo.EcsServices[0]
	ecs := awsecs.NewFromConfig(config)
	arn := register(ts, ecs, *of.ClusterName, *of.ServiceName, args[1])
	svc, err := ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: of.ClusterName,
		Services: []string{*of.ServiceName}})
	ts.Check(err)
	lb := svc.Services[0].LoadBalancers[0]
	spec := fmt.Sprintf(`{version: 0.0, Resources: [{TargetService: {Type: "AWS::ECS::Service", Properties: {TaskDefinition: %q, LoadBalancerInfo: {ContainerName: %s, ContainerPort: %d}}}}], Hooks: [`,
		arn, *lb.ContainerName, *lb.ContainerPort)
	for _, h := range args[2:] {
		event, function, _ := strings.Cut(h, "=")
		spec += fmt.Sprintf("{%s: %s}, ", event, function)
	}
	return &awscd.CreateDeploymentInput{ApplicationName: &application, DeploymentGroupName: &group,
		Revision: &cdtypes.RevisionLocation{
			RevisionType:   cdtypes.RevisionLocationTypeAppSpecContent,
			AppSpecContent: &cdtypes.AppSpecContent{Content: aws.String(spec + "]}")}}}
}
