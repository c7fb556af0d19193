package metrics

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// sharedBench is a local AWS on a virtual clock, with load balancers whose canary gets a tenth of ten
// requests per second, and a reader.
type sharedBench struct {
	testing.TB
	clock  *clock.Virtual
	sim    *awssim.Sim
	reader *SharedReader
	groups []TargetGroups
	calls  []awscw.GetMetricDataInput
}

// runShared runs a test with load balancers in virtual time, from 12:00.
func runShared(t *testing.T, balancers int, f func(*sharedBench)) {
	b := &sharedBench{TB: t, clock: clock.NewVirtual(at(0))}
	b.clock.Run(func() {
		var err error
		b.sim, err = awssim.New(awssim.Options{Clock: b.clock, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.sim.Load("world.yaml", manyBalancers(balancers)); err != nil {
			t.Fatal(err)
		}
		b.attachCallers()
		cfg := b.sim.Config()
		b.reader = NewSharedReader(awscw.NewFromConfig(cfg, b.countCalls), b.clock,
			func(ctx context.Context) context.Context { return ctx })
		f(b)
	})
}

// manyBalancers returns a world with services that have a primary and a canary.
func manyBalancers(n int) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "account: \"123456789012\"\nregion: us-east-1\nclusters: [prod]\ntargetGroups:")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, port: 80}\n  - {name: c%d, port: 80}\n", i, i)
	}
	fmt.Fprintln(&b, "loadBalancers:")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: lb%d, listeners: [{port: 80, forward: {p%d: 90, c%d: 10}}]}\n", i, i, i)
	}
	fmt.Fprintln(&b, "services:")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, cluster: prod, count: 1, image: \"sim/web:v1\", port: 80, targetGroup: p%d}\n", i, i)
		fmt.Fprintf(&b, "  - {name: c%d, cluster: prod, count: 1, image: \"sim/web:v2?errors=20%%\", port: 80, "+
			"targetGroup: c%d}\n", i, i)
	}
	return b.Bytes()
}

func (b *sharedBench) attachCallers() {
	v := b.sim.View().Regions[0]
	groups := map[string]string{}
	for _, g := range v.TargetGroups {
		groups[g.Name] = g.ARN
	}
	for _, lb := range v.LoadBalancers {
		n := lb.Name[len("lb"):]
		g, ok := GroupsOf(lb.Listeners[0].ARN, groups["p"+n], groups["c"+n])
		if !ok {
			b.Fatalf("%s has no groups", lb.Name)
		}
		b.groups = append(b.groups, g)
		loadgen.Attach(b.sim.World(), b.sim.Balancer(), loadgen.Caller{
			Key: world.Key{Account: v.Account, Region: v.Region}, Balancer: lb.ARN, Port: 80, Rate: 10,
			Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: lb.Name + ".test", Path: "/"}})
	}
}

func (b *sharedBench) countCalls(o *awscw.Options) {
	o.RetryMaxAttempts = 1
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("count", func(ctx context.Context,
			in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput,
			middleware.Metadata, error) {
			if call, ok := in.Parameters.(*awscw.GetMetricDataInput); ok {
				b.calls = append(b.calls, *call)
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}

// sleep advances the test's actor.
func (b *sharedBench) sleep(d time.Duration) { _ = b.clock.Sleep(b.Context(), d) }

// Fifty deployments with gates, which start and ask at different seconds, cause one call per minute,
// and each gets every minute once it is closed.
func TestOneCallAMinuteForAllDeployments(t *testing.T) {
	const deployments, minutes = 50, 30
	runShared(t, deployments, func(b *sharedBench) {
		began := b.clock.Now()
		var gates []func()
		for i, g := range b.groups {
			gates = append(gates, func() {
				b.sleep(time.Duration(i*7%60) * time.Second)
				b.runGate(g, began.Add(minutes*time.Minute), time.Duration(5+i%20)*time.Second)
			})
		}
		clock.All(b.clock, gates...)
		if n := len(b.calls); n > minutes+1 || n < minutes-4 {
			t.Errorf("%d calls in %d minutes", n, minutes)
		}
		for i, c := range b.calls {
			if i > 0 && len(c.MetricDataQueries) > maxQueries {
				t.Errorf("call %d has %d queries", i, len(c.MetricDataQueries))
			}
		}
	})
}

// runGate asks for the windows of a group until a time, and checks them.
func (b *sharedBench) runGate(g TargetGroups, until time.Time, pause time.Duration) {
	from := b.clock.Now()
	var last []analysis.Window
	for b.clock.Now().Before(until) {
		all, err := b.reader.ReadSignal(b.Context(), g, appfile.Signal{}, from)
		if err != nil {
			b.Fatal(err)
		}
		if len(all) < len(last) || len(all) > 0 && len(last) > 0 && all[len(last)-1] != last[len(last)-1] {
			b.Errorf("the windows changed: %v, before %v", all, last)
		}
		last = all
		b.sleep(pause)
	}
	// The last minute of the test was asked for at most a pause ago.
	want := int(CloseTime(until.Add(-pause), minute).Sub(alignUp(from, minute)) / minute)
	if len(last) < want {
		b.Errorf("%v: %d windows, want %d", g, len(last), want)
	}
	for i, w := range last {
		if w.From != alignUp(from, minute).Add(time.Duration(i)*time.Minute) || w.Canary.All != 60 ||
			w.Canary.Bad != 12 || w.Primary != (analysis.Counts{All: 540}) {
			b.Errorf("%v: window %d is %+v", g, i, w)
		}
	}
}
