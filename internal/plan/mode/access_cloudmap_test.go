package mode

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

const (
	cloudMap  = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"
	elsewhere = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-9999999999999999"
)

// Edits of the files of [app] for a service that is found by a name.
const (
	steersName = "input:|input:\n  accessType: SERVICE_DISCOVERY"
	awsvpc     = "family: web|family: web\nnetworkMode: awsvpc"
	registered = "serviceName: web|serviceName: web\nserviceRegistries: [{registryArn: \"" + cloudMap + "\"}]"
	onEC2      = "serviceName: web|serviceName: web\nlaunchType: EC2"
	ungrouped  = "  targetGroups:\n    primary: {targetGroupArn: \"" + primary +
		"\", containerName: web, containerPort: 8080}\n    canary: {targetGroupArn: \"" + canary +
		"\", containerName: web, containerPort: 8080}\n|"
)

// foundLive is live, found under a name; inService puts the registry on the PRIMARY
// task set of AWS's answer.
func foundLive(changes ...func(*plan.AWSState)) plan.AWSState {
	base := func(l *plan.AWSState) {
		l.Registry = &plan.Registry{ARN: cloudMap, ID: "srv-0123456789abcdef", Name: "web", Namespace: "shop.local",
			Kind:    "DNS_PRIVATE",
			Records: []plan.Record{{Type: "A", TTL: 10 * time.Second}}, Custom: true}
		inService(cloudMap)(l)
	}
	return live(append([]func(*plan.AWSState){base}, changes...)...)
}

func inService(registry string) func(*plan.AWSState) {
	return func(l *plan.AWSState) {
		l.Service.TaskSets = []ecstypes.TaskSet{{Status: aws.String("PRIMARY"),
			ServiceRegistries: []ecstypes.ServiceRegistry{{RegistryArn: aws.String(registry)}}}}
	}
}

func inGroup(l *plan.AWSState) {
	l.Service.TaskSets[0].LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(primary)}}
}

func TestRefusedByNameBeforeAnythingIsWritten(t *testing.T) {
	named := []string{steersName, awsvpc, registered, ungrouped}
	in := func(mode string) []string {
		return []string{steersName, registered, onEC2, ungrouped, "family: web|family: web\nnetworkMode: " + mode}
	}
	for name, c := range map[string]struct {
		edits []string
		live  plan.AWSState
		err   string
		next  string
	}{
		"no registry": {edits: []string{steersName, awsvpc, ungrouped}, live: live(),
			err: "names none", next: "serviceRegistries"},
		"two registries": {edits: []string{steersName, awsvpc, ungrouped,
			strings.Replace(registered, "}]", "}, {registryArn: \""+elsewhere+"\"}]", 1)}, live: foundLive(),
			err: "names 2 service registries", next: "name one"},
		"another registry in AWS": {edits: named, live: foundLive(inService(elsewhere)),
			err: "srv-9999999999999999", next: "create a new service"},
		"EC2 in network mode bridge": {edits: in("bridge"), live: foundLive(),
			err: "a different port for each task", next: "awsvpc"},
		"EC2 in network mode host": {edits: in("host"), live: foundLive(),
			err: "a fixed port, which only one of its tasks can have", next: "awsvpc"},
		"EC2 and no network mode": {edits: []string{steersName, registered, onEC2, ungrouped}, live: foundLive(),
			err: "network mode bridge", next: "awsvpc"},
		"a load balancer too": {edits: []string{awsvpc, registered}, live: foundLive(),
			err: "the file does not choose one", next: "accessType: ELB or accessType: SERVICE_DISCOVERY"},
		"a registry in AWS alone": {live: live(inService(cloudMap)), err: "the file does not choose one",
			next: "accessType: ELB or accessType: SERVICE_DISCOVERY"},
		"a load balancer in AWS alone": {edits: []string{awsvpc, registered, ungrouped}, live: foundLive(inGroup),
			err: "the file does not choose one", next: "accessType: ELB or accessType: SERVICE_DISCOVERY"},
		"a canary without a task": {edits: named,
			live: foundLive(func(l *plan.AWSState) { l.Service.DesiredCount = 0 }), err: "the canary has no task",
			next: "raise the desired count"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(app(t, threeSteps, c.edits...), c.live, Options{})
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(sluice.NextStep(err), c.next) {
				t.Errorf("error %v\nnext %q\nwant %q, next %q", err, sluice.NextStep(err), c.err, c.next)
			}
		})
	}
}

// Who names the way to steer is told of those that come on the other one.
func TestOtherWaysAreWarnings(t *testing.T) {
	const steersELB = "input:|input:\n  accessType: ELB"
	for name, c := range map[string]struct {
		edits []string
		live  plan.AWSState
		warns string
	}{
		"the name, and a load balancer in AWS": {[]string{steersName, awsvpc, registered, ungrouped},
			foundLive(inGroup), "callers through the load balancer reach new tasks"},
		"the load balancer, and a registry": {[]string{steersELB, awsvpc, registered},
			live(inService(cloudMap)), "callers that use the name of the service registry reach every new task"},
		"the load balancer, and a registry in AWS alone": {[]string{steersELB}, live(inService(cloudMap)),
			"service registry srv-0123456789abcdef will not reach new tasks"},
		"the name, on EC2 with an address for each task": {[]string{steersName, awsvpc, registered, onEC2,
			ungrouped}, foundLive(), "no container has a health check"},
		"the name, with instances that are neither's": {[]string{steersName, awsvpc, registered, ungrouped},
			foundLive(func(l *plan.AWSState) { l.Strangers = []string{"by-hand"} }),
			"1 instance under web.shop.local: not registered by ECS or sluice"},
		"a name without DNS": {[]string{steersName, awsvpc, registered, ungrouped},
			foundLive(func(l *plan.AWSState) { l.Registry.Kind = "HTTP" }), "has no DNS records"},
		"a scale so small that the canary's share is rounded": {[]string{steersName, awsvpc, registered, ungrouped,
			"scale: 50|scale: 1", "canary: 20|canary: 1"}, foundLive(), "less than one task: sluice uses one task"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(app(t, threeSteps, c.edits...), c.live, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, c.warns) {
				t.Errorf("no warning says %q:\n%s", c.warns, all)
			}
		})
	}
}
