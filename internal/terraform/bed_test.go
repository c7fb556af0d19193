package terraform

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// speed is how much faster than the machine's the time of the local AWS passes.
const speed = 100

// Images of the tests.
const (
	crashes = "sim/web:v2?crash-after=2s&exit=3"
	hangs   = "sim/web:v2?start-delay=1h"
)

// TestMain serves the provider "aws" of the tests if terraform starts this binary under its name.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-aws") {
		server, err := providerserver.NewProtocol6WithError(newStandIn())()
		if err == nil {
			err = serve(server, os.Stdout)
		}
		if err != nil {
			panic(err)
		}
		return
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "123456789012", "AWS_SECRET_ACCESS_KEY": "sim",
		"AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "SLUICE_SPEED": strconv.Itoa(speed)} {
		os.Setenv(name, value)
	}
	code := m.Run()
	_ = os.RemoveAll(builtFolder)
	os.Exit(code)
}

// bed is a local AWS with the service prod/web, reached over HTTP.
type bed struct {
	*testing.T
	sim   *awssim.Sim
	aws   *awsStandIn
	url   string
	calls atomic.Int64  // of AWS through url
	third chan struct{} // closed at the third of them
}

// newBed returns a bed with the world of an example.
func newBed(t *testing.T, example string) *bed {
	t.Helper()
	world, err := os.ReadFile("../../examples/" + example + "/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sim, err := awssim.New(awssim.Options{Clock: clock.Scaled(speed), Speed: speed})
	if err == nil {
		err = sim.Load("world.yaml", world)
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := sim.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	b := &bed{T: t, sim: sim, aws: newStandInAt(at.URL()), third: make(chan struct{})}
	b.url = b.countCalls()
	return b
}

// countCalls returns an address of the simulator that counts the calls of AWS.
func (b *bed) countCalls() string {
	answer := b.sim.Handler()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/_sluice/") && b.calls.Add(1) == 3 {
			close(b.third)
		}
		answer.ServeHTTP(w, r)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// deploy deploys an image to prod/web, and returns the revision.
func (b *bed) deploy(image string, breaker bool) string {
	b.Helper()
	ctx := context.Background()
	td, err := b.aws.ecs.DescribeTaskDefinition(ctx,
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	if err != nil {
		b.Fatal(err)
	}
	d := td.TaskDefinition
	d.ContainerDefinitions[0].Image = aws.String(image)
	out, err := b.aws.ecs.RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{Family: d.Family,
		NetworkMode: d.NetworkMode, Cpu: d.Cpu, Memory: d.Memory, RequiresCompatibilities: d.RequiresCompatibilities,
		ContainerDefinitions: d.ContainerDefinitions, ExecutionRoleArn: d.ExecutionRoleArn})
	if err != nil {
		b.Fatal(err)
	}
	b.update(*out.TaskDefinition.TaskDefinitionArn, breaker)
	return *out.TaskDefinition.TaskDefinitionArn
}

func (b *bed) update(definition string, breaker bool) {
	b.Helper()
	_, err := b.aws.ecs.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskDefinition: aws.String(definition), ForceNewDeployment: true,
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{
			DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: breaker, Rollback: breaker}}})
	if err != nil {
		b.Fatal(err)
	}
}

// service returns prod/web.
func (b *bed) service() ecstypes.Service {
	b.Helper()
	out, err := b.aws.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{
		Cluster: aws.String("prod"), Services: []string{"web"}})
	if err != nil || len(out.Services) != 1 {
		b.Fatalf("%v %v", out, err)
	}
	return out.Services[0]
}

// addRule adds a rule of priority 10 to the listener.
func (b *bed) addRule(weights map[string]int32) (arn string) {
	b.Helper()
	out, err := b.aws.elb.CreateRule(context.Background(), &awselb.CreateRuleInput{ListenerArn: aws.String(listenerARN),
		Priority: aws.Int32(10), Actions: forwardTo(weights),
		Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/shop/*"}}}})
	if err != nil {
		b.Fatal(err)
	}
	return *out.Rules[0].RuleArn
}

// shift sets the weights of the rule of priority 10, as a release does.
func (b *bed) shift(weights map[string]int32) {
	b.Helper()
	r := b.rule()
	_, err := b.aws.elb.ModifyRule(context.Background(),
		&awselb.ModifyRuleInput{RuleArn: r.RuleArn, Actions: forwardTo(weights)})
	if err != nil {
		b.Fatal(err)
	}
}

// rule returns the rule of priority 10.
func (b *bed) rule() elbtypes.Rule {
	b.Helper()
	out, err := b.aws.elb.DescribeRules(context.Background(),
		&awselb.DescribeRulesInput{ListenerArn: aws.String(listenerARN)})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range out.Rules {
		if aws.ToString(r.Priority) == "10" {
			return r
		}
	}
	b.Fatal("no rule of priority 10")
	return elbtypes.Rule{}
}

// weights returns the weights of the rule of priority 10, as JSON.
func (b *bed) weights() string {
	b.Helper()
	all := map[string]int32{}
	for _, g := range b.rule().Actions[0].ForwardConfig.TargetGroups {
		all[strings.Split(*g.TargetGroupArn, "/")[1]] = aws.ToInt32(g.Weight)
	}
	text, _ := json.Marshal(all)
	return string(text)
}

func forwardTo(weights map[string]int32) []elbtypes.Action {
	config := &elbtypes.ForwardActionConfig{}
	for group, w := range weights {
		config.TargetGroups = append(config.TargetGroups,
			elbtypes.TargetGroupTuple{TargetGroupArn: aws.String(group), Weight: aws.Int32(w)})
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: config}}
}

// ARNs of the world of examples/canary.
const (
	elbARN      = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	listenerARN = elbARN + "listener/app/web/0123456789abcdef/0123456789abcdef"
	balancerARN = elbARN + "loadbalancer/app/web/0123456789abcdef"
	stableARN   = elbARN + "targetgroup/web-primary/0123456789abcdef"
	canaryARN   = elbARN + "targetgroup/web-canary/fedcba9876543210"
)
