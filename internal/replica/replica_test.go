package replica_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/replica"
)

// newSim returns a local AWS with a world.
func newSim(t *testing.T, data []byte) *awssim.Sim {
	t.Helper()
	s, err := awssim.New(awssim.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load("world", data); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return s
}

func openAccount(t *testing.T, s *awssim.Sim) *account.Account {
	t.Helper()
	a, err := account.Open(t.Context(), account.Config{Region: s.Region(), Credentials: s.Config().Credentials,
		EndpointURL: awssim.Endpoint, HTTPClient: s.HTTPClient(), Clock: clock.Real()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// copyLive reads the service of a local AWS and builds another local AWS from it.
func copyLive(t *testing.T, s *awssim.Sim, cluster, service string) (*replica.Live, *awssim.Sim) {
	t.Helper()
	live, err := replica.Read(t.Context(), openAccount(t, s), cluster, service)
	if err != nil {
		t.Fatal(err)
	}
	w, err := live.World()
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Text()
	if err != nil {
		t.Fatal(err)
	}
	return live, newSim(t, text)
}

// The files of a standalone task build a local AWS with its cluster, and no service.
func TestTaskBuildsItsCluster(t *testing.T) {
	app, err := appfile.Load(folder.New("../../examples/job"), ".", nil)
	failOn(t, err)
	w, err := replica.FromFiles(app)
	failOn(t, err)
	text, err := w.Text()
	failOn(t, err)
	s := newSim(t, text)
	out, err := awsecs.NewFromConfig(s.Config()).DescribeClusters(t.Context(), &awsecs.DescribeClustersInput{
		Clusters: []string{"prod"}})
	if err != nil || len(out.Clusters) != 1 || out.Clusters[0].ActiveServicesCount != 0 {
		t.Errorf("%+v %v", out, err)
	}
}

// Each example's files build a local AWS in which the previous version serves.
func TestEveryExampleBuilds(t *testing.T) {
	folders, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	built := 0
	for _, f := range folders {
		app, err := appfile.Load(folder.New(filepath.Join("../../examples", f.Name())), ".", nil)
		if err != nil || app.Service == nil {
			continue // a folder of folders, or a standalone task
		}
		t.Run(f.Name(), func(t *testing.T) {
			built++
			w, err := replica.FromFiles(app)
			if err != nil {
				t.Fatal(err)
			}
			text, err := w.Text()
			if err != nil {
				t.Fatal(err)
			}
			s := newSim(t, text)
			out, err := awsecs.NewFromConfig(s.Config()).DescribeServices(t.Context(), &awsecs.DescribeServicesInput{
				Cluster: &w.Services[0].Cluster, Services: []string{w.Services[0].Name}})
			if err != nil || len(out.Services) != 1 {
				t.Fatal(out, err)
			}
			if svc := out.Services[0]; svc.RunningCount == 0 || svc.RunningCount != svc.DesiredCount {
				t.Errorf("%d of %d tasks run", svc.RunningCount, svc.DesiredCount)
			}
		})
	}
	if built < 10 {
		t.Errorf("only %d examples were built", built)
	}
}

const liveWorld = `
account: "123456789012"
region: eu-west-1
subnets: [subnet-a, subnet-b, subnet-c, subnet-d, subnet-e]
clusters: [prod]
targetGroups:
  - name: web
    deregistrationDelay: 20s
    attributes: {slow_start.duration_seconds: "30"}
    aws: {Port: 8080, HealthCheckPath: /ready, HealthCheckIntervalSeconds: 7, Matcher: {HttpCode: 200-299}}
  - name: web-canary
  - {name: other, port: 81}
loadBalancers:
  - name: shop
    listeners:
      - port: 80
        aws: {DefaultActions: [{Type: redirect, RedirectConfig: {StatusCode: HTTP_301, Protocol: HTTPS, Port: "443"}}]}
      - port: 443
        aws: {Protocol: HTTPS, Certificates: [{CertificateArn: "arn:aws:acm:eu-west-1:123456789012:certificate/a"}]}
        forward: {web: 9, web-canary: 1}
        stickiness: 10m
        rules:
          - {priority: 3, host: [a.example.com, b.example.com], method: [GET], forward: {other: 1}}
          - {priority: 7, header: {X-Canary: always}, forward: {web-canary: 1}}
          - priority: 9
            aws: {Conditions: [{Field: query-string, QueryStringConfig: {Values: [{Key: a, Value: b}]}}]}
            fixed: {status: 418, body: tea}
services:
  - name: web
    taskDefinition:
      family: shop-web
      networkMode: awsvpc
      requiresCompatibilities: [FARGATE]
      cpu: "512"
      memory: "1024"
      taskRoleArn: arn:aws:iam::123456789012:role/shop
      containerDefinitions:
        - name: app
          image: "example.com/shop/app:v7"
          portMappings: [{containerPort: 8080}]
          environment: [{name: A, value: "<&>"}]
          logConfiguration: {logDriver: awslogs, options: {awslogs-group: /ecs/web, awslogs-region: eu-west-1}}
    aws:
      desiredCount: 3
      deploymentController: {type: CONTROLLER}
      launchType: FARGATE
      enableExecuteCommand: true
      healthCheckGracePeriodSeconds: 11
      networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-a, subnet-e], securityGroups: [sg-1]}}
      loadBalancers: [{targetGroupArn: GROUP, containerName: app, containerPort: 8080}]
scalableTargets: [{service: web, min: 2, max: 9, suspended: [in]}]
logGroups: [/ecs/web]
`

const groupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

// A copy of a running service has the same service, task definition, groups, listeners and rules.
func TestLiveCopyIsEqual(t *testing.T) {
	for _, controller := range []string{"ECS", "EXTERNAL"} {
		t.Run(controller, func(t *testing.T) {
			text := strings.NewReplacer("CONTROLLER", controller, "GROUP", groupARN,
				"- name: web\n    dereg", "- name: web\n    arn: "+groupARN+"\n    dereg").Replace(liveWorld)
			from := newSim(t, []byte(text))
			live, to := copyLive(t, from, "prod", "web")
			want, got := stateOf(t, from), stateOf(t, to)
			for name := range want {
				if !reflect.DeepEqual(want[name], got[name]) {
					t.Errorf("%s differs:\n%s\nwant\n%s", name, jsonText(got[name]), jsonText(want[name]))
				}
			}
			if s := live.Setup(); s.Canary == nil || !strings.Contains(s.Canary.ARN, "/web-canary/") {
				t.Errorf("the canary group is %+v", s.Canary)
			}
		})
	}
}

// stateOf describes a local AWS without what differs by time and by chance.
func stateOf(t *testing.T, s *awssim.Sim) map[string]any {
	t.Helper()
	ctx, ecs, elb := t.Context(), awsecs.NewFromConfig(s.Config()), awselb.NewFromConfig(s.Config())
	services, err := ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}})
	failOn(t, err)
	svc := services.Services[0]
	definition, network := svc.TaskDefinition, svc.NetworkConfiguration
	balancers := svc.LoadBalancers
	if len(svc.TaskSets) > 0 {
		definition, network = svc.TaskSets[0].TaskDefinition, svc.TaskSets[0].NetworkConfiguration
		balancers = svc.TaskSets[0].LoadBalancers
	}
	task, err := ecs.DescribeTaskDefinition(ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: definition})
	failOn(t, err)
	task.TaskDefinition.RegisteredAt = nil
	groups, err := elb.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{})
	failOn(t, err)
	state := map[string]any{"task definition": task.TaskDefinition, "network": network, "balancers": balancers,
		"controller": svc.DeploymentController, "configuration": svc.DeploymentConfiguration,
		"counts": []int32{svc.DesiredCount, svc.RunningCount}, "exec": svc.EnableExecuteCommand,
		"grace": svc.HealthCheckGracePeriodSeconds}
	for _, g := range groups.TargetGroups {
		attributes, err := elb.DescribeTargetGroupAttributes(ctx,
			&awselb.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
		failOn(t, err)
		values := map[string]string{}
		for _, a := range attributes.Attributes {
			values[*a.Key] = *a.Value
		}
		g.VpcId = nil
		state["group "+*g.TargetGroupName], state["attributes "+*g.TargetGroupName] = g, values
	}
	lbs, err := elb.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{})
	failOn(t, err)
	listeners, err := elb.DescribeListeners(ctx,
		&awselb.DescribeListenersInput{LoadBalancerArn: lbs.LoadBalancers[0].LoadBalancerArn})
	failOn(t, err)
	for _, l := range listeners.Listeners {
		state["listener "+*l.ListenerArn] = l
		rules, err := elb.DescribeRules(ctx, &awselb.DescribeRulesInput{ListenerArn: l.ListenerArn})
		failOn(t, err)
		for i := range rules.Rules {
			if aws.ToBool(rules.Rules[i].IsDefault) {
				rules.Rules[i].RuleArn = nil
			}
		}
		state["rules of "+*l.ListenerArn] = rules.Rules
	}
	return state
}

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func jsonText(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A copy of a service that callers find by a Cloud Map name, and of one that CodeDeploy deploys.
func TestLiveCopyOfOtherWays(t *testing.T) {
	for folder, service := range map[string]string{"discovery": "api", "codedeploy": "web", "nlb": "web"} {
		t.Run(folder, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("../../examples", folder, "world.yaml"))
			failOn(t, err)
			from := newSim(t, data)
			_, to := copyLive(t, from, "prod", service)
			again, err := replica.Read(t.Context(), openAccount(t, to), "prod", service)
			failOn(t, err)
			first, err := replica.Read(t.Context(), openAccount(t, from), "prod", service)
			failOn(t, err)
			want, err := first.World()
			failOn(t, err)
			got, err := again.World()
			failOn(t, err)
			if jsonText(got) != jsonText(want) {
				t.Errorf("the copy of the copy differs:\n%s\nwant\n%s", jsonText(got), jsonText(want))
			}
		})
	}
}
