package stage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	saved "github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// deploymentID is the deployment of these tests.
const deploymentID = plan.IDPrefix + "order"

// Examples that are deployed: a canary on task sets and a canary service behind a load
// balancer, and a canary service behind a Cloud Map name.
var (
	routedExamples   = []string{"canary", "beside-rolling"}
	namedExamples    = []string{"discovery", "discovery/bluegreen"}
	deployedExamples = append(slices.Clone(routedExamples), namedExamples...)
)

// write is one call that changes AWS, just before AWS receives it.
type write struct {
	operation string
	input     any
}

// deployment runs the stages of an example, one after the other, in virtual time.
// onWrite is called before AWS receives a write.
type deployment struct {
	*testing.T
	clock   *clock.Virtual
	ecs     *awsecs.Client
	elb     *awselb.Client
	sd      *awssd.Client
	sim     *awssim.Sim
	account *account.Account
	plan    *plan.Plan
	saved   *memory
	onWrite func(write)
	onRead  func(operation string)
	writes  int
}

// memory is a [stage.Host] in memory. The save with number failAt fails, as all after it.
type memory struct {
	values map[string][]byte
	saves  int
	failAt int // 0: none fails
	failed bool
	now    func() time.Time
}

func (m *memory) Load(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := m.values[key]
	return v, ok, nil
}

func (m *memory) Save(_ context.Context, key string, value []byte) error {
	m.saves++
	if m.failAt > 0 && m.saves >= m.failAt {
		m.failed = true
		return errors.New("the disk is full")
	}
	m.values[key] = slices.Clone(value)
	return nil
}

func (m *memory) Began() time.Time  { return m.now() }
func (m *memory) Emit(sluice.Event) {}

// deployExample calls f with a deployment of v2 on the world of the example.
func deployExample(t *testing.T, name string, f func(*deployment)) {
	t.Helper()
	v := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	dir := filepath.Join("../../examples", name)
	world := filepath.Join("../../examples", strings.Split(name, "/")[0], "world.yaml")
	text, err := os.ReadFile(world)
	check(t, err)
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true})
		check(t, err)
		check(t, sim.Load(world, text))
		cfg := sim.Config()
		d := &deployment{T: t, clock: v, ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg),
			sd: awssd.NewFromConfig(cfg), sim: sim,
			saved: &memory{values: map[string][]byte{}, now: v.Now}}
		d.account, err = account.Open(context.Background(),
			account.Config{Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint,
				HTTPClient: sim.HTTPClient(), APIOptions: append(sim.APIOptions(), d.observe), Clock: v})
		check(t, err)
		file := "sluice.yaml"
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			file = "app.pipecd.yaml"
		}
		app, err := appfile.Load(os.DirFS(dir), file, nil)
		check(t, err)
		live, err := survey.ReadInputs(context.Background(), d.account, v, app)
		check(t, err)
		d.plan, err = mode.Make(app, live, mode.Options{})
		check(t, err)
		f(d)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// observe shows every attempt of a call to the deployment.
func (d *deployment) observe(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("observe",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			name := middleware.GetOperationName(ctx)
			if !isWrite(name) && d.onRead != nil {
				d.onRead(name)
			}
			if isWrite(name) {
				d.writes++
				if d.onWrite != nil {
					d.onWrite(write{name, in.Parameters})
				}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

// isWrite reports whether an operation changes anything.
func isWrite(operation string) bool {
	return !slices.ContainsFunc([]string{"Describe", "List", "Get", "Discover", "Batch"},
		func(read string) bool { return strings.HasPrefix(operation, read) })
}

// run executes stages one after the other.
func (d *deployment) run(stages ...plan.Stage) error {
	for _, s := range stages {
		check(d.T, d.clock.Sleep(context.Background(), s.Duration))
		if s.IsWait() {
			continue
		}
		r, err := stage.Open(stage.Config{Account: d.account, Clock: d.clock, Plan: d.plan, Index: s.Index,
			Deployment: deploymentID, Host: d.saved})
		check(d.T, err)
		if err := r.Execute(context.Background()); err != nil {
			return fmt.Errorf("stage %d %s: %w", s.Index+1, s.Name, err)
		}
	}
	return nil
}

// everyRun runs each example forward, and forward to each stage and back, and calls
// onWrite before each write.
func everyRun(t *testing.T, examples []string, onWrite func(*deployment, write)) {
	for _, name := range examples {
		last := 0
		for stop := 0; stop <= last; stop++ {
			t.Run(fmt.Sprintf("%s/back_from_%d", name, stop+1), func(t *testing.T) {
				deployExample(t, name, func(d *deployment) {
					last = len(d.plan.Stages) - 1
					d.onWrite = func(w write) { onWrite(d, w) }
					check(t, d.run(append(slices.Clone(d.plan.Stages[:stop+1]), d.plan.Rollback)...))
					if d.writes < 3 {
						t.Fatalf("%d writes were seen", d.writes)
					}
				})
			})
		}
	}
}

// A target group gets more weight only when every task behind it is healthy.
func TestHealthyBeforeWeight(t *testing.T) {
	seen := 0
	everyRun(t, routedExamples, func(d *deployment, w write) {
		for group, weight := range weightsOf(w) {
			if weight <= d.weight(group) {
				continue
			}
			seen++
			if want, have := d.tasksBehind(group), d.healthy(group); have < max(1, want) {
				d.Errorf("%s gives %s weight %d: %d of %d tasks are healthy", w.operation, group, weight, have, want)
			}
		}
	})
	if seen < 6 {
		t.Errorf("only %d writes gave a group more weight", seen)
	}
}

// Capacity that gets requests is not removed: a task set or canary service is scaled to
// none only when its group has no weight, or other tasks in the group are healthy. It is
// deleted when its last task has stopped.
func TestDrainedBeforeStopped(t *testing.T) {
	seen := 0
	drainedBefore := func(d *deployment, w write) {
		group, running, stops := d.removed(w)
		if group == "" {
			return
		}
		seen++
		if stops {
			if weight := d.weight(group); weight > 0 && d.healthy(group) <= running {
				d.Errorf("%s removes the %d tasks behind %s, which has weight %d and %d healthy tasks", w.operation,
					running, group, weight, d.healthy(group))
			}
			return
		}
		if running > 0 {
			d.Errorf("%s while %d tasks run", w.operation, running)
		}
	}
	everyRun(t, routedExamples, drainedBefore)
	for _, name := range routedExamples { // a clean while the canary still has a share
		deployExample(t, name, func(d *deployment) {
			d.onWrite = func(w write) { drainedBefore(d, w) }
			last := len(d.plan.Stages) - 1
			check(t, d.run(d.plan.Stages[0], d.plan.Stages[1], d.plan.Stages[last]))
		})
	}
	if seen < 6 {
		t.Errorf("only %d writes removed capacity", seen)
	}
}

// What AWS does not tell afterwards is saved before the first write other than the claim.
func TestSavedBeforeWritten(t *testing.T) {
	everyRun(t, deployedExamples, func(d *deployment, w write) {
		if w.operation == "TagResource" || w.operation == "RegisterTaskDefinition" {
			return
		}
		if _, ok := d.saved.values["snapshot"]; !ok {
			d.Errorf("%s before the state was saved", w.operation)
		}
	})
}

// A save that fails is followed by no write, whichever save it is.
func TestNoWriteAfterAFailedSave(t *testing.T) {
	for _, name := range deployedExamples {
		t.Run(name, func(t *testing.T) {
			all := 0
			deployExample(t, name, func(d *deployment) {
				check(t, d.run(d.plan.Stages...))
				all = d.saved.saves
			})
			if all < 5 {
				t.Fatalf("%d saves", all)
			}
			for n := 1; n <= all; n++ {
				deployExample(t, name, func(d *deployment) {
					d.saved.failAt = n
					d.onWrite = func(w write) {
						if d.saved.failed {
							t.Errorf("%s after save %d failed", w.operation, n)
						}
					}
					if err := d.run(d.plan.Stages...); !errors.Is(err, saved.ErrNotSaved) {
						t.Errorf("save %d failed, and the deployment ended with %v", n, err)
					}
				})
			}
		})
	}
}

// A stage makes no write when another deployment has claimed the service since the stage
// before it: it reads the claim first.
func TestClaimReadBeforeAWrite(t *testing.T) {
	for _, name := range deployedExamples {
		last := 1
		for n := 1; n <= last; n++ {
			deployExample(t, name, func(d *deployment) {
				last = len(d.plan.Stages) - 1
				check(t, d.run(d.plan.Stages[:n]...))
				d.claimByAnother()
				d.onWrite = func(w write) { t.Errorf("%s in stage %d %s", w.operation, n+1, d.plan.Stages[n].Name) }
				err := d.run(d.plan.Stages[n])
				if kind := sluice.KindOf(err); !d.plan.Stages[n].IsWait() && kind != sluice.LostClaim &&
					kind != sluice.Overtaken {
					t.Errorf("stage %d %s ended with %v (%v)", n+1, d.plan.Stages[n].Name, err, kind)
				}
			})
		}
	}
}

// claimByAnother puts the claim of another deployment on the service.
func (d *deployment) claimByAnother() {
	d.Helper()
	out, err := d.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{d.plan.Service}})
	check(d.T, err)
	value := plan.Claim{Deployment: plan.IDPrefix + "another", Until: d.clock.Now().Add(time.Hour)}.String()
	_, err = d.ecs.TagResource(context.Background(), &awsecs.TagResourceInput{ResourceArn: out.Services[0].ServiceArn,
		Tags: []ecstypes.Tag{{Key: aws.String(plan.ClaimTag), Value: aws.String(value)}}})
	check(d.T, err)
}

// No deregistration leaves the name without an instance, those included that Cloud Map is
// still carrying out.
func TestRegisteredBeforeThePrimaryIsDeregistered(t *testing.T) {
	seen := 0
	leaving := map[*deployment]map[string]bool{} // instances
	everyRun(t, namedExamples, func(d *deployment, w write) {
		if in, ok := w.input.(*awssd.RegisterInstanceInput); ok {
			delete(leaving[d], *in.InstanceId)
		}
		in, ok := w.input.(*awssd.DeregisterInstanceInput)
		if !ok {
			return
		}
		seen++
		if leaving[d] == nil {
			leaving[d] = map[string]bool{}
		}
		leaving[d][*in.InstanceId] = true
		registered, err := d.sd.ListInstances(context.Background(), &awssd.ListInstancesInput{ServiceId: in.ServiceId})
		check(d.T, err)
		if !slices.ContainsFunc(registered.Instances,
			func(i sdtypes.InstanceSummary) bool { return !leaving[d][*i.Id] }) {
			d.Errorf("%s is deregistered, and no other instance is registered", *in.InstanceId)
		}
	})
	if seen < 6 {
		t.Errorf("only %d instances were deregistered", seen)
	}
}

// weightsOf are the weights that a write gives to target groups.
func weightsOf(w write) map[string]int {
	var actions []elbtypes.Action
	switch in := w.input.(type) {
	case *awselb.ModifyRuleInput:
		actions = in.Actions
	case *awselb.ModifyListenerInput:
		actions = in.DefaultActions
	}
	all := map[string]int{}
	for _, a := range actions {
		if a.ForwardConfig == nil {
			continue
		}
		for _, g := range a.ForwardConfig.TargetGroups {
			all[aws.ToString(g.TargetGroupArn)] = int(aws.ToInt32(g.Weight))
		}
	}
	return all
}

// weight is the largest weight that a rule gives to the group now.
func (d *deployment) weight(group string) int {
	d.Helper()
	most := 0
	balancers, err := d.elb.DescribeLoadBalancers(context.Background(), &awselb.DescribeLoadBalancersInput{})
	check(d.T, err)
	for _, b := range balancers.LoadBalancers {
		listeners, err := d.elb.DescribeListeners(context.Background(),
			&awselb.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn})
		check(d.T, err)
		for _, l := range listeners.Listeners {
			rules, err := d.elb.DescribeRules(context.Background(),
				&awselb.DescribeRulesInput{ListenerArn: l.ListenerArn})
			check(d.T, err)
			for _, r := range rules.Rules {
				most = max(most, weightsOf(write{input: &awselb.ModifyRuleInput{Actions: r.Actions}})[group])
			}
		}
	}
	return most
}

// healthy counts the healthy targets of a group.
func (d *deployment) healthy(group string) int {
	d.Helper()
	out, err := d.elb.DescribeTargetHealth(context.Background(),
		&awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)})
	check(d.T, err)
	n := 0
	for _, t := range out.TargetHealthDescriptions {
		if t.TargetHealth.State == elbtypes.TargetHealthStateEnumHealthy {
			n++
		}
	}
	return n
}

// capacity is a task set or an ECS service that has tasks behind a target group.
type capacity struct {
	id, group        string // id of the task set or name of the service
	desired, running int
}

// capacities are all of the cluster.
func (d *deployment) capacities() (all []capacity) {
	d.Helper()
	out, err := d.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{d.plan.Service, d.plan.Service + "-canary"}})
	check(d.T, err)
	groupOf := func(lbs []ecstypes.LoadBalancer) string {
		if len(lbs) == 0 {
			return ""
		}
		return aws.ToString(lbs[0].TargetGroupArn)
	}
	for _, s := range out.Services {
		for _, set := range s.TaskSets {
			all = append(all, capacity{aws.ToString(set.Id), groupOf(set.LoadBalancers), int(set.ComputedDesiredCount),
				int(set.RunningCount)})
		}
		if len(s.TaskSets) == 0 {
			all = append(all, capacity{aws.ToString(s.ServiceName), groupOf(s.LoadBalancers), int(s.DesiredCount),
				int(s.RunningCount)})
		}
	}
	return all
}

// tasksBehind is how many tasks should be behind a group now.
func (d *deployment) tasksBehind(group string) (n int) {
	for _, c := range d.capacities() {
		if c.group == group {
			n += c.desired
		}
	}
	return n
}

// removed is the group and the running tasks of the capacity that a write scales to none
// (stops) or deletes; the group is "" for other writes.
func (d *deployment) removed(w write) (group string, running int, stops bool) {
	id := ""
	switch in := w.input.(type) {
	case *awsecs.UpdateTaskSetInput:
		if in.Scale.Value == 0 {
			id, stops = aws.ToString(in.TaskSet), true
		}
	case *awsecs.UpdateServiceInput:
		if in.DesiredCount != nil && *in.DesiredCount == 0 {
			id, stops = aws.ToString(in.Service), true
		}
	case *awsecs.DeleteTaskSetInput:
		id = aws.ToString(in.TaskSet)
	case *awsecs.DeleteServiceInput:
		id = aws.ToString(in.Service)
	}
	for _, c := range d.capacities() {
		if id != "" && (c.id == id || strings.HasSuffix(id, "/"+c.id)) {
			return c.group, c.running, stops
		}
	}
	return "", 0, false
}

// No read from before a write is served after it: a wait that begins with a write to a task set
// reads the service again, in the same second, before it judges the task set.
func TestNoReadSurvivesAWrite(t *testing.T) {
	deployExample(t, "canary", func(d *deployment) {
		var wrote string
		var at time.Time
		seen := 0
		d.onWrite = func(w write) {
			if wrote = ""; strings.HasSuffix(w.operation, "TaskSet") {
				wrote, at = w.operation, d.clock.Now()
			}
		}
		d.onRead = func(operation string) {
			if wrote == "" {
				return
			}
			// The first poll of a task set that was just created comes later: no read of before the write is shared then.
			if now := d.clock.Now(); now.After(at) && wrote != "CreateTaskSet" {
				t.Errorf("after %s the service was first read %s later", wrote, now.Sub(at))
				wrote = ""
			} else if operation == "DescribeServices" {
				wrote, seen = "", seen+1
			}
		}
		check(t, d.run(d.plan.Stages...))
		if seen < 4 {
			t.Errorf("only %d writes to task sets were read back", seen)
		}
	})
}
