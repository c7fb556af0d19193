package appspec_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition/appspec"
)

const webARN = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:2"

func balanced() *awsecs.CreateServiceInput {
	return &awsecs.CreateServiceInput{ServiceName: aws.String("web"), LoadBalancers: []ecstypes.LoadBalancer{
		{TargetGroupArn: aws.String("arn:blue"), ContainerName: aws.String("app"), ContainerPort: aws.Int32(8080)},
		{TargetGroupArn: aws.String("arn:other"), ContainerName: aws.String("side"), ContainerPort: aws.Int32(9090)}}}
}

func TestAnAppSpecHasAllThatCodeDeployTakes(t *testing.T) {
	in := balanced()
	in.PlatformVersion = aws.String("1.4.0")
	in.NetworkConfiguration = &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
		Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1"}}}
	in.CapacityProviderStrategy = []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"),
		Base: 1, Weight: 3}}
	var hooks, back []appspec.Hook
	for _, e := range appspec.HookEvents() {
		hooks = append([]appspec.Hook{{Event: e, Function: "check-<" + e + ">"}}, hooks...)
		back = append(back, appspec.Hook{Event: e, Function: "check-<" + e + ">"})
	}
	spec, err := appspec.New(in, webARN, hooks)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":0.0,"Resources":[{"TargetService":{"Type":"AWS::ECS::Service","Properties":{"TaskDefinition":"` + webARN + `",` +
		`"LoadBalancerInfo":{"ContainerName":"app","ContainerPort":8080},"PlatformVersion":"1.4.0",` +
		`"NetworkConfiguration":{"AwsvpcConfiguration":{"Subnets":["subnet-1","subnet-2"],"SecurityGroups":["sg-1"],"AssignPublicIp":"DISABLED"}},` +
		`"CapacityProviderStrategy":[{"Base":1,"CapacityProvider":"FARGATE_SPOT","Weight":3}]}}}],"Hooks":[{"BeforeInstall":"check-<BeforeInstall>"},` +
		`{"AfterInstall":"check-<AfterInstall>"},{"AfterAllowTestTraffic":"check-<AfterAllowTestTraffic>"},` +
		`{"BeforeAllowTraffic":"check-<BeforeAllowTraffic>"},{"AfterAllowTraffic":"check-<AfterAllowTraffic>"}]}`
	if spec.Content != want {
		t.Errorf("got  %s\nwant %s", spec.Content, want)
	}
	if sum := sha256.Sum256([]byte(spec.Content)); spec.SHA256 != hex.EncodeToString(sum[:]) {
		t.Error(spec.SHA256)
	}
	td, read, err := appspec.Read(spec.Content)
	if err != nil || td != webARN || fmt.Sprint(read) != fmt.Sprint(back) {
		t.Errorf("%s %v %v", td, read, err)
	}
}

func TestAnAppSpecInYAMLIsRead(t *testing.T) {
	td, hooks, err := appspec.Read("version: 0.0\nResources:\n  - TargetService:\n      Type: " +
		"AWS::ECS::Service\n      Properties:\n        TaskDefinition: " + webARN +
		"\nHooks:\n  - BeforeInstall: look\n")
	if err != nil || td != webARN || len(hooks) != 1 || hooks[0].Function != "look" {
		t.Errorf("%s %v %v", td, hooks, err)
	}
	for _, wrong := range []string{"", "[", "version: 0.0", "Resources: 3"} {
		if _, _, err := appspec.Read(wrong); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}

func TestAppSpecsThatCodeDeployWouldRefuse(t *testing.T) {
	many := make([]string, 8000)
	for i := range many {
		many[i] = fmt.Sprint("subnet-0123456789", i)
	}
	for want, change := range map[string]func(in *awsecs.CreateServiceInput, hooks *[]appspec.Hook, arn *string){
		"no load balancer": func(in *awsecs.CreateServiceInput, _ *[]appspec.Hook,
			_ *string) {
			in.LoadBalancers = nil
		},
		"has no target group": func(in *awsecs.CreateServiceInput, _ *[]appspec.Hook, _ *string) {
			in.LoadBalancers[0].TargetGroupArn = nil
		},
		"no container name and port": func(in *awsecs.CreateServiceInput, _ *[]appspec.Hook, _ *string) {
			in.LoadBalancers[0].ContainerPort = nil
		},
		"is not an ARN": func(_ *awsecs.CreateServiceInput, _ *[]appspec.Hook,
			arn *string) {
			*arn = "web:2"
		},
		"lifecycle event Install cannot have a hook": func(_ *awsecs.CreateServiceInput, h *[]appspec.Hook,
			_ *string) {
			(*h)[0].Event = "Install"
		},
		"has no Lambda function": func(_ *awsecs.CreateServiceInput, h *[]appspec.Hook,
			_ *string) {
			(*h)[0].Function = ""
		},
		"BeforeInstall has more than one hook": func(_ *awsecs.CreateServiceInput, h *[]appspec.Hook,
			_ *string) {
			*h = append(*h, (*h)[0])
		},
		"bytes; at most": func(in *awsecs.CreateServiceInput, _ *[]appspec.Hook, _ *string) {
			in.NetworkConfiguration = &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: many}}
		},
	} {
		in, hooks, arn := balanced(), []appspec.Hook{{Event: "BeforeInstall", Function: "look"}}, webARN
		change(in, &hooks, &arn)
		if _, err := appspec.New(in, arn, hooks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
