// Package modetest has one application for each way of deploying, access type and type of load
// balancer, with the state of AWS that its plan is made for. The tests of every package that plans,
// runs or shows deployments iterate over them. It does not test modes.
//
// Start reading at [Each].
package modetest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// Sample is an application of one mode and access type, and the state of AWS.
type Sample struct {
	Mode   plan.Mode
	Access sluice.Access
	// Balancer is the type of the load balancer in front of the variants; empty: there is none.
	Balancer plan.BalancerType
	App      *appfile.Application
	Live     plan.AWSState
}

const (
	arn      = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	primary  = arn + "targetgroup/web-primary/0123456789abcdef"
	canary   = arn + "targetgroup/web-canary/0123456789abcdef"
	balancer = arn + "loadbalancer/app/web/0123456789abcdef"
	registry = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"
)

// serviceFile is the service definition of each mode; a task has none. A new mode needs a line.
var serviceFile = map[plan.Mode]string{
	plan.ModeTaskSets:      "deploymentController: {type: EXTERNAL}\n",
	plan.ModeCanaryService: "deploymentController: {type: ECS}\n",
	plan.ModeRolling:       "deploymentController: {type: ECS}\n",
	plan.ModeCodeDeploy: "deploymentController: {type: CODE_DEPLOY}\nloadBalancers: [{targetGroupArn: \"" + primary +
		"\", containerName: web, containerPort: 8080}]\n",
	plan.ModeTask: "",
}

// accessFile is the part of the application file of each access type. A new one needs a line.
var accessFile = map[sluice.Access]string{
	sluice.ELB: "  accessType: ELB\n  targetGroups:\n    primary: {targetGroupArn: \"" + primary +
		"\", containerName: web, containerPort: 8080}\n    canary: {targetGroupArn: \"" + canary +
		"\", containerName: web, containerPort: 8080}\n",
	sluice.ServiceDiscovery: "  accessType: SERVICE_DISCOVERY\n",
	sluice.NoAccess:         "  accessType: NONE\n",
}

// onlyAccess is the access type of modes that have only one.
var onlyAccess = map[plan.Mode]sluice.Access{plan.ModeCodeDeploy: sluice.ELB, plan.ModeTask: sluice.NoAccess}

// listenerOf is the listener rule that forwards to the groups behind each type of load balancer. A
// new type needs a line.
var listenerOf = map[plan.BalancerType]sluice.Rule{
	plan.ApplicationBalancer: {ARN: "rule-10", Listener: "listener-1", Port: 80, Priority: "10"},
	plan.NetworkBalancer: {ARN: networkListener, Listener: networkListener, Port: 80, Priority: "default",
		Protocol: "TCP"},
}

const networkListener = arn + "listener/net/web/0123456789abcdef/0123456789abcdef"

// Each runs a test for every mode with every access type that it can have, behind every type of load
// balancer. It fails for a mode, an access type or a load balancer without an application in this
// package.
func Each(t *testing.T, test func(t *testing.T, s Sample)) {
	t.Helper()
	for _, m := range plan.Modes() {
		for _, a := range plan.AccessTypes() {
			if only, ok := onlyAccess[m]; ok && only != a {
				continue
			}
			for _, b := range balancersOf(m, a) {
				name := string(m) + ", " + string(a)
				if b == plan.NetworkBalancer {
					name += ", " + b.Name()
				}
				t.Run(name, func(t *testing.T) { test(t, newSample(t, m, a, b)) })
			}
		}
	}
}

// balancersOf returns the types of load balancers that a mode can shift traffic behind; an empty one
// if it shifts none there.
func balancersOf(m plan.Mode, a sluice.Access) []plan.BalancerType {
	switch {
	case !plan.HasTargetGroups(a):
		return []plan.BalancerType{""}
	case !m.HasVariants():
		return []plan.BalancerType{plan.ApplicationBalancer}
	}
	return plan.BalancerTypes()
}

// Plan makes the plan of the sample.
func (s Sample) Plan(t *testing.T) *plan.Plan {
	t.Helper()
	p, err := mode.Make(s.App, s.Live, mode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode() != s.Mode || p.Access != s.Access {
		t.Fatalf("the plan has mode %s and access type %s", p.Mode(), p.Access)
	}
	return p
}

func newSample(t *testing.T, m plan.Mode, a sluice.Access, b plan.BalancerType) Sample {
	t.Helper()
	service, known := serviceFile[m]
	if !known {
		t.Fatalf("mode %s has no service definition in package modetest", m)
	}
	part, known := accessFile[a]
	if !known {
		t.Fatalf("access type %s has no application file in package modetest", a)
	}
	if _, known := listenerOf[b]; b != "" && !known {
		t.Fatalf("load balancer type %s has no listener in package modetest", b)
	}
	s := Sample{Mode: m, Access: a, Balancer: b, App: loadApp(t, m, a, service, part), Live: stateOf(m, a, b)}
	return s
}

func loadApp(t *testing.T, m plan.Mode, a sluice.Access, service, part string) *appfile.Application {
	t.Helper()
	file := "name: web\nregion: us-east-1\ncluster: prod\ninput:\n  taskDefinitionFile: task.yaml\n"
	files := fstest.MapFS{"task.yaml": {Data: []byte(
		"family: web\nnetworkMode: awsvpc\ncontainerDefinitions: [{name: web, image: sim/web:v2, memory: 512, " +
			"portMappings: [{containerPort: 8080, name: http}]}]\n")}}
	if m.HasService() {
		file += "  serviceDefinitionFile: service.yaml\n" + part
		if a == sluice.ServiceDiscovery {
			service += "serviceRegistries: [{registryArn: \"" + registry + "\"}]\n"
		}
		files["service.yaml"] = &fstest.MapFile{Data: []byte("serviceName: web\n" + service)}
	} else {
		file += "  awsvpcConfiguration: {subnets: [subnet-1]}\n"
	}
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(file + pipelineOf(m, a))}
	app, err := appfile.Load(files, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// pipelineOf returns a pipeline with every stage that the mode and the access type allow.
func pipelineOf(m plan.Mode, a sluice.Access) string {
	if !m.HasVariants() {
		return ""
	}
	all := []string{"{name: ECS_CANARY_ROLLOUT, with: {scale: 50}}", "{name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}",
		"{name: WAIT, with: {duration: 1m}}", "{name: WAIT_APPROVAL}", "{name: ECS_PRIMARY_ROLLOUT}",
		"{name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}", "{name: ECS_CANARY_CLEAN}"}
	if a == sluice.NoAccess {
		all = slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "ROUTING") })
	}
	return "pipeline:\n  stages:\n    - " + strings.Join(all, "\n    - ") + "\n"
}

// stateOf returns a healthy service at v1.
func stateOf(m plan.Mode, a sluice.Access, b plan.BalancerType) plan.AWSState {
	l := plan.AWSState{Account: "123456789012", Region: "us-east-1",
		Definition: &ecstypes.TaskDefinition{Family: aws.String("web"), Revision: 1, NetworkMode: "awsvpc",
			TaskDefinitionArn: aws.String("arn:aws:ecs:us-east-1:123456789012:task-definition/web:1"),
			ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"),
				Image: aws.String("sim/web:v1"), Essential: aws.Bool(true), Memory: aws.Int32(512),
				PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080), Name: aws.String("http")}}}}}}
	if !m.HasService() {
		return l
	}
	groups := []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(primary), ContainerName: aws.String("web"),
		ContainerPort: aws.Int32(8080)}}
	names := []ecstypes.ServiceRegistry{{RegistryArn: aws.String(registry)}}
	l.Service = &ecstypes.Service{ServiceArn: aws.String("arn:aws:ecs:us-east-1:123456789012:service/prod/web"),
		ClusterArn:  aws.String("arn:aws:ecs:us-east-1:123456789012:cluster/prod"),
		ServiceName: aws.String("web"), Status: aws.String("ACTIVE"), DesiredCount: 4,
		DeploymentController: &ecstypes.DeploymentController{Type: controllerOf(m)}}
	set := ecstypes.TaskSet{Id: aws.String("ecs-svc/1"), Status: aws.String("PRIMARY")}
	switch a {
	case sluice.ELB:
		l.Service.LoadBalancers, set.LoadBalancers = groups, groups
		l.Primary = &plan.GroupAttachment{Name: "web-primary", Balancer: balancer, Type: b, Healthy: 4,
			Protocol: "TCP", Target: "ip", Targets: 4, Drain: 20 * time.Second}
		l.Canary = &plan.GroupAttachment{Name: "web-canary", Balancer: balancer, Type: b, Protocol: "TCP", Target: "ip"}
		rule := listenerOf[b]
		rule.Forward = []sluice.Share{{Group: primary, Weight: 100}, {Group: canary, Weight: 0}}
		l.Steered = []sluice.Rule{rule}
	case sluice.ServiceDiscovery:
		l.Service.ServiceRegistries, set.ServiceRegistries = names, names
		l.Registry = &plan.Registry{ARN: registry, ID: "srv-0123456789abcdef", Name: "web", Namespace: "shop.local",
			Kind: "DNS_PRIVATE", Records: []plan.Record{{Type: "A", TTL: 10 * time.Second}}, Custom: true}
	}
	switch m {
	case plan.ModeTaskSets:
		l.TaskSets = []sluice.TaskSet{{ID: "ecs-svc/1", Status: "PRIMARY", Revision: "web:1", Desired: 4, Running: 4}}
		l.Service.TaskSets = []ecstypes.TaskSet{set}
	case plan.ModeCodeDeploy:
		l.Service.TaskSets = []ecstypes.TaskSet{set}
		l.Deployer = &plan.Deployer{Application: "shop", Group: "web", Config: "CodeDeployDefault.ECSAllAtOnce",
			TargetGroups: []string{"web-primary", "web-canary"}}
	}
	return l
}

// controllerOf returns the deployment controller in the service definition of the mode.
func controllerOf(m plan.Mode) ecstypes.DeploymentControllerType {
	_, rest, _ := strings.Cut(serviceFile[m], "{type: ")
	name, _, _ := strings.Cut(rest, "}")
	return ecstypes.DeploymentControllerType(name)
}
