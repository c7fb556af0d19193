package loadbalancer_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestNewTargetIsHealthyAfterOnePassingCheck(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.TargetRegistration = world.Range{Min: 2 * time.Second, Max: 2 * time.Second}
		k.FirstCheck = world.Range{Min: time.Second, Max: time.Second}
	})
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"))
	b.want(g, "initial Elb.RegistrationInProgress")
	b.pass(2 * time.Second)
	b.want(g, "initial Elb.InitialHealthChecking")
	b.pass(time.Second)
	b.want(g, "healthy")
}

func TestThresholds(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	// healthy at once, 503 from 100 s on; checks at 0, 30, … 120, 150
	b.register(g, b.task("sim/web:v1?unhealthy-after=100s"))
	b.want(g, "healthy")
	b.pass(149 * time.Second)
	b.want(g, "healthy")
	b.pass(time.Second)
	b.want(g, "unhealthy Target.ResponseCodeMismatch")
	if d := g.Targets[0].Description; d != "Health checks failed with these codes: [503]" {
		t.Errorf("description: %s", d)
	}
}

func TestUnhealthyNeedsTheHealthyThreshold(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	// 503 until 40 s: checks at 0 and 30 fail; 60, 90, 120, 150, 180 pass
	b.register(g, b.task("sim/web:v1?healthy-after=40s"))
	b.want(g, "initial Elb.InitialHealthChecking")
	b.pass(30 * time.Second)
	b.want(g, "unhealthy Target.ResponseCodeMismatch")
	b.pass(149 * time.Second)
	b.want(g, "unhealthy Target.ResponseCodeMismatch")
	b.pass(time.Second)
	b.want(g, "healthy")
}

func TestSlowAnswersTimeOut(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1?latency=6s"))
	b.pass(34 * time.Second)
	b.want(g, "initial Elb.InitialHealthChecking")
	b.pass(time.Second) // the second check began at 30 s and waited 5 s
	b.want(g, "unhealthy Target.Timeout")
}

func TestCrashedTaskFailsItsChecks(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	task := b.task("sim/web:v1")
	b.register(g, task)
	b.pass(70 * time.Second)
	b.kill(task)
	b.pass(49 * time.Second) // checks at 90 and 120 are refused
	b.want(g, "healthy")
	b.pass(time.Second)
	b.want(g, "unhealthy Target.FailedHealthChecks")
	b.do(func(tx *world.Tx) { tx.SetStatus(task, "STOPPED") })
	b.pass(35 * time.Second) // nobody has the address any more
	b.want(g, "unhealthy Target.Timeout")
}

func TestSignalledTaskFailsItsChecks(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	task := b.task("sim/web:v1?term=50s")
	b.register(g, task)
	b.pass(10 * time.Second)
	b.signal(task)           // refuses from 60 s on
	b.pass(79 * time.Second) // checks at 60 and 90
	b.want(g, "healthy")
	b.pass(time.Second)
	b.want(g, "unhealthy Target.FailedHealthChecks")
}

func TestUnusedUntilARuleNamesTheGroup(t *testing.T) {
	b := newBench(t, nil)
	web, canary := b.group("web"), b.group("canary")
	l := b.listen(80, share(web, 1))
	b.register(canary, b.task("sim/web:v2"))
	b.pass(time.Hour)
	b.want(canary, "unused Target.NotInUse")
	if d := canary.Targets[0].Description; d != "Target group is not configured to receive traffic from the load "+
		"balancer" {
		t.Errorf("description: %s", d)
	}
	b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(web, 100), share(canary, 0))) })
	b.want(canary, "healthy")
	if canary.Balancer != b.lb.ARN {
		t.Errorf("the group is behind %q", canary.Balancer)
	}
	b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(web, 1))) })
	b.want(canary, "unused Target.NotInUse")
	if canary.Balancer != "" {
		t.Errorf("the group is still behind %q", canary.Balancer)
	}
}

func TestUnusedInAZoneThatIsNotEnabled(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	task := b.task("sim/web:v1")
	b.do(func(tx *world.Tx) { tx.RegisterTarget(g, task.Address.String(), 80, "eu-west-1c", task) })
	b.want(g, "unused Target.NotInUse")
	if d := g.Targets[0].Description; d != "Target is in an Availability Zone that is not enabled for the load "+
		"balancer" {
		t.Errorf("description: %s", d)
	}
	b.do(func(tx *world.Tx) {
		b.lb.Zones = append(b.lb.Zones, "eu-west-1c")
		tx.Changed(world.BalancerChanged, b.lb)
	})
	b.want(g, "healthy")
}

func TestUnusedWhileTheLoadBalancerIsProvisioning(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.LoadBalancerProvisioning = world.Range{Min: time.Minute, Max: time.Minute}
	})
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"))
	b.want(g, "unused Target.NotInUse")
	b.pass(time.Minute)
	b.want(g, "healthy")
}

func TestDrainLastsTheWholeDelay(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	var effects []world.Effect
	b.w.SetSink(func(e world.Effect) { effects = append(effects, e) })
	one, two := b.task("sim/web:v1"), b.task("sim/web:v1")
	b.register(g, one, two)
	b.deregister(g, one)
	b.pass(59 * time.Second)
	b.want(g, "draining Target.DeregistrationInProgress, healthy")
	b.pass(time.Second)
	b.want(g, "healthy")
	gone := world.TargetGone{Key: key, Group: g.ARN, ID: one.Address.String(), Port: 80}
	if !slices.Contains(effects, world.Effect(gone)) {
		t.Errorf("no %+v among the effects", gone)
	}
}

func TestRegisteringADrainingTargetKeepsIt(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	one := b.task("sim/web:v1")
	b.register(g, one)
	b.deregister(g, one)
	b.pass(30 * time.Second)
	b.register(g, one)
	b.pass(time.Hour)
	b.want(g, "healthy")
}

func TestOtherHealthCheckTakesEffect(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"))
	b.pass(time.Hour)
	b.do(func(tx *world.Tx) {
		g.Check.Matcher, g.Check.Interval = "204", 10*time.Second
		tx.Changed(world.GroupChanged, g)
	})
	b.pass(19 * time.Second)
	b.want(g, "healthy")
	b.pass(time.Second)
	b.want(g, "unhealthy Target.ResponseCodeMismatch")
}

func TestCheckOnAPortWhereNothingListens(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.do(func(tx *world.Tx) {
		g.Check.Port = "8081"
		tx.Changed(world.GroupChanged, g)
	})
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"))
	b.pass(30 * time.Second)
	b.want(g, "unhealthy Target.FailedHealthChecks")
}

func TestTargetRegisteredBeforeItsTask(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.do(func(tx *world.Tx) { tx.RegisterTarget(g, "127.16.0.1", 80, "", nil) })
	b.pass(35 * time.Second)
	b.want(g, "unhealthy Target.Timeout")
	task := b.task("sim/web:v1")
	b.do(func(tx *world.Tx) { tx.Changed(world.TaskChanged, task) })
	b.pass(5 * 30 * time.Second)
	b.want(g, "healthy")
}

// An image that is not modelled is asked by the data plane.
func TestProbes(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	var asked []world.ProbeTarget
	b.w.SetSink(func(e world.Effect) {
		if p, ok := e.(world.ProbeTarget); ok {
			asked = append(asked, p)
		}
	})
	b.register(g, b.taskOf(image.Behaviour{Handler: http.NotFoundHandler()}))
	answer := func(status int, err error) {
		b.do(func(tx *world.Tx) { b.law.RecordProbe(tx, asked[len(asked)-1], status, err) })
	}
	if len(asked) != 1 || asked[0].Path != "/" || asked[0].Check != 80 || asked[0].Address.String() != g.Targets[0].ID {
		t.Fatalf("asked %+v", asked)
	}
	answer(200, nil)
	b.want(g, "healthy")
	for range 2 {
		b.pass(30 * time.Second)
		answer(0, errors.New("connection refused"))
	}
	b.want(g, "unhealthy Target.FailedHealthChecks")
	b.do(func(tx *world.Tx) { b.law.RecordProbe(tx, asked[0], 200, nil) }) // late: ignored
	for range 5 {
		b.want(g, "unhealthy Target.FailedHealthChecks")
		b.pass(30 * time.Second)
		answer(200, nil)
	}
	b.want(g, "healthy")
}

// An idle world has no events, however many targets are checked.
func TestIdleWorldIsIdle(t *testing.T) {
	b := newBench(t, nil)
	for i := range 100 {
		g := b.group(fmt.Sprint("web", i))
		b.listen(int32(1000+i), share(g, 1))
		b.register(g, b.task("sim/web:v1"), b.task("sim/web:v1?healthy-after=45s"))
	}
	b.pass(10 * time.Minute)
	if at, ok := b.w.NextDue(); ok {
		t.Fatalf("there is an event at %s", at)
	}
	b.pass(24 * time.Hour)
	b.do(func(tx *world.Tx) {
		for _, g := range tx.TargetGroups.All() {
			if g.Count("healthy") != 2 {
				t.Errorf("%s: %s", g.Name, states(g))
			}
		}
	})
}

func TestSameSeedSameLog(t *testing.T) {
	run := func() string {
		b := newBench(t, func(k *world.Settings) { *k = world.DefaultSettings() })
		web, canary := b.group("web"), b.group("canary")
		l := b.listen(80, share(web, 1))
		for range 5 {
			b.register(web, b.task("sim/web:v1?crash-after=90s"))
			b.register(canary, b.task("sim/web:v2?healthy-after=40s"))
		}
		for i := range int32(10) {
			b.pass(17 * time.Second)
			b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(web, 10-i), share(canary, i))) })
		}
		b.pass(time.Hour)
		return b.log()
	}
	first, second := run(), run()
	if first != second {
		t.Error("two runs with one seed have different logs")
	}
	if strings.Count(first, "\n") < 50 {
		t.Errorf("the log is too short to show anything:\n%s", first)
	}
}
