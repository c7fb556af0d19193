package piped_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
)

// A canary stands beside a service that ECS rolls, as a service of its own, and is
// gone in the end. Rolled back from the middle it is gone too.
func TestCanaryServiceOfARollingService(t *testing.T) {
	t.Parallel()
	r := newRig(t, rolling)
	r.flow()
	v1, v2 := source{image: "sim/web:v1", service: rollingFile}, source{service: rollingFile}
	d := r.begin(v1, v2, stagesOf()...)
	for _, s := range d.forward()[:2] {
		d.run(s)
	}
	if n := r.tasksOf("web-canary"); n != 1 {
		t.Errorf("%d tasks of the canary, want 1: half of two", n)
	}
	d.run(d.back())
	r.want("PRIMARY sim/web:v1 100% 2 running; primary 100; canary 0")
	for d = r.begin(v1, v2, stagesOf()...); len(d.Stages) > 0; d.Stages = d.Stages[1:] {
		if s := d.Stages[0]; !s.GetRollback() {
			d.run(s)
		}
	}
	r.want("PRIMARY sim/web:v2 100% 2 running; primary 100; canary 0")
	if n := r.tasksOf("web-canary"); n != 0 {
		t.Errorf("%d tasks of the canary are left", n)
	}
	r.noneLost()
}

// tasksOf counts the running tasks of a service; none if there is no such service.
func (r *rig) tasksOf(service string) int {
	r.Helper()
	out := got(r.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{service}}))(r)
	n := 0
	for _, s := range out.Services {
		n += int(s.RunningCount)
	}
	return n
}

const named = `
namespaces:
  - name: shop.local
    kind: private
    id: ns-0123456789abcdef
    services:
      - {name: api, id: srv-0123456789abcdef, records: {A: 10s}, routing: multivalue, health: custom}
services:
  - {name: web, cluster: prod, controller: EXTERNAL, count: 2, image: sim/web:v1, port: 80, registry: api.shop.local}
`

const registry = `serviceRegistries:
  - registryArn: arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef
`

// found are the addresses behind the name, in order.
func (r *rig) found() (all []string) {
	r.Helper()
	out := got(awssd.NewFromConfig(r.sim.Config()).DiscoverInstances(context.Background(),
		&awssd.DiscoverInstancesInput{
			NamespaceName: aws.String("shop.local"), ServiceName: aws.String("api")}))(r)
	for _, i := range out.Instances {
		all = append(all, i.Attributes["AWS_INSTANCE_IPV4"])
	}
	slices.Sort(all)
	return all
}

// addresses are those of the tasks that run an image, in order.
func (r *rig) addresses(image string) (all []string) {
	for _, set := range r.sim.View().Regions[0].Clusters[0].Services[0].TaskSets {
		for _, task := range set.Tasks {
			if slices.Contains(task.Images, image) && task.Status == "RUNNING" {
				all = append(all, task.Address)
			}
		}
	}
	slices.Sort(all)
	return all
}

// byName is an application file without target groups.
func byName(app string) string {
	from, to := strings.Index(app, "        targetGroups:"), strings.Index(app, "  pipeline:")
	return app[:from] + "        accessType: SERVICE_DISCOVERY\n" + app[to-1:]
}

// Behind a name of Cloud Map the canary joins the primary, and is alone never.
func TestPipelineBehindAName(t *testing.T) {
	t.Parallel()
	r := newRig(t, named)
	app, service := byName(appFile(pipeline)), serviceFile+registry
	d := r.begin(source{image: "sim/web:v1", app: app, service: service}, source{app: app, service: service},
		stagesOf()...)
	for i, s := range d.forward() {
		before := r.found()
		d.run(s)
		switch at := r.found(); {
		case len(at) == 0:
			t.Fatalf("nobody is found after %s", s.GetName())
		case i == 0 && !slices.Equal(at, before):
			t.Errorf("the canary was found before traffic was routed to it: %v", at)
		case i == 1 && len(at) <= len(before):
			t.Errorf("the canary is not found: %v", at)
		}
	}
	if at, want := r.found(), r.addresses("sim/web:v2"); !slices.Equal(at, want) || len(at) != 2 {
		t.Errorf("found %v, want those of v2: %v", at, want)
	}
}

const shifted = `
services:
  - {name: web, cluster: prod, controller: CODE_DEPLOY, count: 2, image: sim/web:v1, port: 80, targetGroup: web-primary}
applications:
  - name: shop
    groups:
      - {name: web, cluster: prod, service: web, targetGroups: [web-primary, web-canary], listener: web:80, rollback: [DEPLOYMENT_FAILURE]}
`

func shiftedFile() string {
	return strings.Replace(serviceFile, "EXTERNAL", "CODE_DEPLOY", 1) + `loadBalancers:
  - {targetGroupArn: "` + primaryARN + `", containerName: web, containerPort: 80}
`
}

// A service that CodeDeploy deploys is brought to the new version by CodeDeploy, and
// back by a rollback.
func TestServiceThatCodeDeployDeploys(t *testing.T) {
	t.Parallel()
	r := newRig(t, shifted)
	r.flow()
	app, service := appFile(""), shiftedFile()
	d := r.begin(source{image: "sim/web:v1", app: app, service: service}, source{app: app, service: service})
	d.run(d.Stages[0])
	log := r.piped.text(d.Stages[0].GetId())
	if state := r.state(); !strings.Contains(state, "PRIMARY sim/web:v2 100% 2 running") ||
		!strings.Contains(log, "CodeDeploy deployment d-") {
		t.Errorf("%s\n%s", state, log)
	}
	d.run(d.back())
	if state := r.state(); !strings.Contains(state, "PRIMARY sim/web:v1 100% 2 running") {
		t.Errorf("%s\n%s", state, r.piped.text(d.back().GetId()))
	}
	r.noneLost()
}
