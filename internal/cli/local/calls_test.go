package local

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// rehearsal is the demo's release in virtual time.
type rehearsal struct {
	calls map[string]int
	took  time.Duration
	ended engine.RunResult
}

// rehearse releases v2 of the demo's application, plan included.
func rehearse(t *testing.T) (r rehearsal) {
	t.Helper()
	r.calls = map[string]int{}
	// The world begins after real now: the SDK compares credentials with that.
	v := clock.NewVirtual(time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour))
	v.Run(func() {
		if err := r.run(v); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func (r *rehearsal) run(v *clock.Virtual) error {
	ctx := context.Background()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true})
	if err != nil {
		return err
	}
	world, err := demoFiles.ReadFile("demo/world.yaml")
	if err != nil {
		return err
	}
	if err := sim.Load("world.yaml", world); err != nil {
		return err
	}
	a, err := account.Open(ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
		EndpointURL: awssim.Endpoint,
		HTTPClient:  sim.HTTPClient(), APIOptions: sim.APIOptions(), Clock: v,
		OnCall: func(c account.Call) { r.calls[c.Service+":"+c.Operation]++ }})
	if err != nil {
		return err
	}
	j, err := journal.Open(journal.Memory, v)
	if err != nil {
		return err
	}
	defer j.Close()
	began := v.Now()
	p, err := rehearsed(ctx, a, v)
	if err != nil {
		return err
	}
	e := &engine.Engine{Journal: j, Account: a, Clock: v, Owner: "test/1", NewID: func() string {
		return plan.IDPrefix +
			"1"
	}}
	id, err := e.Start(ctx, p, engine.TriggerManual)
	if err == nil {
		r.ended, err = e.Run(ctx, id, engine.Options{})
	}
	r.took = v.Now().Sub(began)
	return err
}

// rehearsed is the plan of the demo at its speed.
func rehearsed(ctx context.Context, a *account.Account, c clock.Clock) (*plan.Plan, error) {
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return nil, err
	}
	s := &demoSetup{demo: &demo{speed: demoSpeed, loadScale: 1}}
	app, err := appfile.Load(editedFiles{files, s.fitToFlags}, "app.pipecd.yaml", nil)
	if err != nil {
		return nil, err
	}
	live, err := survey.ReadInputs(ctx, a, c, app)
	if err != nil {
		return nil, err
	}
	return mode.Make(app, live, mode.Options{})
}

// whys say what each call of a pipeline is for. One without a row here is a
// call too many.
var whys = map[string]string{
	"ecs:DescribeServices": "the poll: service, task sets, counts and the claim in " +
		"one read, every four seconds until a task runs, then every two while tasks start, stop or are removed, every ten " +
		"while only the health of targets can change; before a write, if the claim was last seen more " +
		"than 30 s ago; after a write, to read back the result; during a wait, every 10 to 20 s, to monitor " +
		"the serving tasks",
	"ecs:ListTasks": "stopped tasks, for the cause of a failure, when a wait begins, " +
		"when counts or events indicate a failure, every 30 s while tasks start, and once before the end of a canary; the running tasks of a set when their number changed",
	"ecs:DescribeTasks": "the addresses of a set's tasks, once for each task, to distinguish its targets from " +
		"those of another set in the same target group; and why a task stopped",
	"ecs:DescribeTaskDefinition": "the newest revision of the family: an identical one is not registered " +
		"again; and the one that serves, to compare them",
	"elasticloadbalancing:DescribeTargetHealth": "health as the load balancer reports it, at every poll " +
		"from the first running task on; of a set that drains, when its tasks stop and when its deregistration delay ends",
	"elasticloadbalancing:DescribeRules": "the current rules: for the plan, at the beginning of " +
		"each stage, every 10 s at most while it or a `WAIT` lasts, before each write, read back after it, and at " +
		"the end",
	"elasticloadbalancing:DescribeListeners": "the load balancer's listeners, for the plan; their " +
		"ports, once in each run; and their default actions at the end",
	"elasticloadbalancing:DescribeTargetGroups": "both target groups, for the plan",
	"elasticloadbalancing:DescribeLoadBalancers": "their load balancer, for the plan: its type and its " +
		"listeners",
	"elasticloadbalancing:DescribeTargetGroupAttributes": "the deregistration delay of each, for the plan: how long " +
		"a drain may take",
	"application-autoscaling:DescribeScalableTargets": "whether the service is auto scaled, for the plan: AWS " +
		"does not hold scale-in back for task sets; and how it is, if a deployment suspends it, in each stage, " +
		"every 10 s at most",
	"cloudwatch:GetMetricData": "the requests of the canary and the primary in the last minute, for users: once a minute " +
		"while the canary has had requests for five minutes; no wait depends on it",
	"ecs:TagResource":                     "the claim, before anything else",
	"ecs:RegisterTaskDefinition":          "the new revision",
	"ecs:CreateTaskSet":                   "the canary; the new primary",
	"ecs:UpdateServicePrimaryTaskSet":     "promote",
	"ecs:UpdateTaskSet":                   "the old primary to 0 %; the canary to 0 %",
	"ecs:DeleteTaskSet":                   "the old primary; the canary",
	"elasticloadbalancing:ModifyListener": "three shifts of the weights, on the default rule",
	"ecs:UntagResource":                   "the release of the claim",
}

// TestEveryCallHasItsReason counts the calls of the demo's pipeline.
func TestEveryCallHasItsReason(t *testing.T) {
	r := rehearse(t)
	if r.ended.Outcome != sluice.Succeeded {
		t.Fatalf("%s: %s", r.ended.Outcome, r.ended.Cause)
	}
	total := 0
	for op, n := range r.calls {
		total += n
		if whys[op] == "" {
			t.Errorf("%s is called %d times, and nobody knows why", op, n)
		}
	}
	for op := range whys {
		if r.calls[op] == 0 {
			t.Errorf("%s has a reason and is not called", op)
		}
	}
	if limit := 7*time.Minute + 21*time.Second; total > 330 || r.took > limit {
		t.Errorf("%d calls in %s, want at most 330 in %s", total, r.took, limit)
	}
}

// TestReferenceOfCalls holds docs/benchmarks.md to what is called.
func TestReferenceOfCalls(t *testing.T) {
	goldentest.CheckPage(t, "docs/benchmarks.md", map[string]string{"calls": callTable(rehearse(t))})
}

// callTable is every call of a pipeline, the most frequent first.
func callTable(r rehearsal) string {
	var all [][]string
	total := 0
	for _, op := range slices.SortedFunc(maps.Keys(r.calls), func(a, b string) int {
		return cmp.Or(r.calls[b]-r.calls[a], cmp.Compare(a, b))
	}) {
		all = append(all, []string{"`" + op + "`", fmt.Sprint(r.calls[op]), whys[op]})
		total += r.calls[op]
	}
	all = append(all, []string{"all", fmt.Sprint(total), fmt.Sprintf("in %s of AWS's time: one every %.1f s",
		show.FormatDuration(r.took.Round(time.Second)), r.took.Seconds()/float64(total))})
	return goldentest.Table([]string{"operation", "calls", "what for"}, all)
}
