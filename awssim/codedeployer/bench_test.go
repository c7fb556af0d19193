package codedeployer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// bench is a world with a service of two tasks behind listener 80, which CodeDeploy deploys.
type bench struct {
	*worldtest.Harness
	t       *testing.T
	ecs     *ecs
	control *codedeployer.Controller
	service *world.Service
	blue    *world.TaskSet // PRIMARY before the deployments
	group   *codedeployer.Group

	production, test string   // ARNs of the listeners
	pair             []string // ARNs of the target groups; the first serves
	shares           []string // distinct shares of the second group in production, in order
}

// ecs is the scheduler with the calls that package ecs gives to CodeDeploy.
type ecs struct {
	*scheduler.Scheduler
	refusal error // of Replace
}

func (e *ecs) Replace(tx *world.Tx, svc *world.Service, r world.Replacement) (*world.TaskSet, error) {
	if e.refusal != nil {
		return nil, e.refusal
	}
	ts := newTaskSet(tx, svc, r.Definition, r.TargetGroup)
	ts.ExternalID = r.ExternalID
	e.AddTaskSet(tx, ts)
	return ts, nil
}

func (e *ecs) Retire(tx *world.Tx, ts *world.TaskSet) { e.DrainTaskSet(tx, ts) }

func newTaskSet(tx *world.Tx, svc *world.Service, image, group string) *world.TaskSet {
	return &world.TaskSet{ID: "ecs-svc/" + tx.NewDigits("set", 19), Service: svc, Status: "ACTIVE", Scale: 100,
		Subnets: worldtest.Subnets, LaunchType: "FARGATE",
		Attached: []world.Attachment{{TargetGroup: group, Container: "web", ContainerPort: 80}},
		Definition: &world.TaskDefinition{Family: "web", Revision: 1, NetworkMode: "awsvpc",
			Containers: []world.ContainerSpec{{Name: "web", Image: image, Essential: true,
				Ports: []world.Port{{Container: 80}}}}}}
}

// newBench starts version 1. Its settings shift all traffic together.
func newBench(t *testing.T) *bench {
	t.Helper()
	settings := world.NoDelays()
	settings.ScaledOutLimit = 5 * time.Minute
	settings.DeployStep = world.Range{Min: time.Second, Max: time.Second}
	b := &bench{t: t, Harness: worldtest.NewHarness(world.Options{Settings: &settings})}
	b.ecs = &ecs{Scheduler: scheduler.New(b.World)}
	b.control = codedeployer.New(b.World, b.ecs)
	b.World.Watch(b.recordShare)
	b.pair = []string{b.AddGroup("web-a"), b.AddGroup("web-b")}
	b.Do(func(tx *world.Tx) {
		lb := &world.LoadBalancer{ARN: "lb", Name: "edge", Type: "application", State: "active"}
		tx.LoadBalancers.Put(lb.ARN, lb)
		b.production, b.test = addListener(tx, lb, 80, b.pair[0]), addListener(tx, lb, 8080, b.pair[0])
		cluster := &world.Cluster{Name: "prod", ARN: tx.ARN("ecs", "cluster/prod"), Status: "ACTIVE"}
		tx.Clusters.Put("prod", cluster)
		b.service = &world.Service{ARN: tx.ARN("ecs", "service/prod/web"), Name: "web", Cluster: cluster,
			Controller: "CODE_DEPLOY", Status: "ACTIVE", Desired: 2, MinPercent: 100, MaxPercent: 200,
			CreatedAt: tx.Now()}
		b.ecs.AddService(tx, b.service)
		b.blue = newTaskSet(tx, b.service, "sim/web:v1", b.pair[0])
		b.blue.Status = "PRIMARY"
		b.ecs.AddTaskSet(tx, b.blue)
		b.group = &codedeployer.Group{Name: "web", Application: &codedeployer.Application{Name: "shop"},
			Settings: codedeployer.Settings{Cluster: "prod", Service: "web", Pair: [2]string{"web-a", "web-b"},
				Production: b.production}}
	})
	b.until("version 1 serves", func() bool { return b.blue.Stability == "STEADY_STATE" })
	return b
}

func addListener(tx *world.Tx, lb *world.LoadBalancer, port int32, group string) string {
	l := &world.Listener{ARN: fmt.Sprintf("listener-%d", port), Balancer: lb, Port: port, Protocol: "HTTP"}
	l.Rules = []*world.Rule{{ARN: fmt.Sprintf("rule-%d", port), Listener: l, Actions: []world.Action{{Type: "forward",
		Forward: &world.Forward{Groups: []world.Share{{Group: group, Weight: 1}}, Sticky: true, StickySeconds: 60}}}}}
	tx.AddListener(l)
	return l.ARN
}

// recordShare records each share of the second target group in production. It fails the test if
// requests would reach a target that is not healthy.
func (b *bench) recordShare(tx *world.Tx, c world.Change) {
	l, ok := c.Object.(*world.Listener)
	if !ok || l.ARN != b.production || c.Kind != world.RoutingChanged {
		return
	}
	share := b.share(l.Default())
	if n := len(b.shares); n == 0 || b.shares[n-1] != share {
		b.shares = append(b.shares, share)
	}
	g, _ := tx.TargetGroups.Get(b.pair[1])
	if share != "0" && g.Count("healthy") < b.service.Desired {
		b.t.Errorf("%s percent of the requests reach %d healthy targets", share, g.Count("healthy"))
	}
}

// share returns the weight of the second target group in a rule.
func (b *bench) share(r *world.Rule) string {
	f := r.ForwardAction()
	if f == nil {
		return "0"
	}
	for _, s := range f.Groups {
		if s.Group == b.pair[1] {
			return fmt.Sprint(s.Weight)
		}
	}
	return "0"
}

// start starts a deployment of an image.
func (b *bench) start(image string, hooks ...codedeployer.Hook) (d *codedeployer.Deployment) {
	b.Do(func(tx *world.Tx) {
		d = b.control.StartDeployment(tx, b.group, &codedeployer.Deployment{Settings: b.group.Settings,
			Spec: codedeployer.Spec{Definition: image, Container: "web", Port: 80, Hooks: hooks}})
	})
	return d
}

func (b *bench) until(what string, f func() bool) {
	b.t.Helper()
	if err := b.Until(3*time.Hour, f); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// end advances the clock until the deployment and its rollback have ended.
func (b *bench) end(d *codedeployer.Deployment) {
	b.t.Helper()
	b.until("the end", func() bool { return d.HasEnded() && b.group.ActiveDeployment() == nil })
}

// expect compares the end of a deployment, and whether the service then has version 1 or 2 alone.
func (b *bench) expect(d *codedeployer.Deployment, status, code, serves string) {
	b.t.Helper()
	b.end(d)
	got := ""
	if d.Failure != nil {
		got = d.Failure.Code
	}
	if d.Status != status || got != code {
		b.t.Errorf("%s %+v, want %s %s", d.Status, d.Failure, status, code)
	}
	b.Run(10 * time.Minute) // for drains
	if s := b.serving(); s != serves {
		b.t.Errorf("afterwards %s, want %s\n%s", s, serves, b.Log())
	}
}

// States of the service, as serving returns them.
const (
	servesV1 = "sim/web:v1 PRIMARY, 0 percent to web-b"
	servesV2 = "sim/web:v2 PRIMARY, 100 percent to web-b"
)

// serving returns the task sets of the service and the share of the second target group.
func (b *bench) serving() (text string) {
	var sets []string
	for _, ts := range b.service.TaskSets {
		sets = append(sets, ts.Definition.Containers[0].Image+" "+ts.Status)
	}
	slices.Sort(sets)
	b.Do(func(tx *world.Tx) {
		l, _ := tx.Listeners.Get(b.production)
		text = strings.Join(sets, ", ") + ", " + b.share(l.Default()) + " percent to web-b"
		if b.service.DeployedBy != "" {
			text += ", deployed by " + b.service.DeployedBy
		}
	})
	return text
}

// events returns the lifecycle events with their statuses, without those that succeeded.
func events(d *codedeployer.Deployment) string {
	var all []string
	for _, e := range d.Events {
		if e.Status != codedeployer.Succeeded {
			all = append(all, e.Name+" "+e.Status)
		}
	}
	return strings.Join(all, ", ")
}
