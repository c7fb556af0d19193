package stage_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// deregisterAll deregisters every target of a target group, as a person does.
func deregisterAll(b *stagetest.Bench, group string) { deregister(b, group, 0) }

// deregister deregisters the targets of a target group, except for some of them.
func deregister(b *stagetest.Bench, group string, except int) {
	b.Helper()
	ctx := context.Background()
	var all []elbtypes.TargetDescription
	for _, h := range stagetest.Got(b.ELB.DescribeTargetHealth(ctx, &awselb.DescribeTargetHealthInput{
		TargetGroupArn: aws.String(group)}))(b).TargetHealthDescriptions {
		all = append(all, *h.Target)
	}
	stagetest.Got(b.ELB.DeregisterTargets(ctx, &awselb.DeregisterTargetsInput{TargetGroupArn: aws.String(group),
		Targets: all[except:]}))(b)
}

// Another process deregisters all targets of the group that serves. ECS does not register them again: the deployment names
// that within a minute and a half, and its rollback starts new tasks, which are registered.
func TestDeregisteredTargetsAreNamed(t *testing.T) {
	waits := func(of string) func(sluice.Event) bool {
		return func(e sluice.Event) bool {
			w, ok := e.(sluice.Waiting)
			return ok && strings.Contains(w.For+w.Detail, of)
		}
	}
	sets := func(b *stagetest.Bench) fstest.MapFS { return b.Files("sim/web:v2", stagetest.CanaryPipeline) }
	native := stagetest.Strategies["BLUE_GREEN"]
	for name, c := range map[string]struct {
		run    func(testing.TB, func(*stagetest.Bench))
		files  func(*stagetest.Bench) fstest.MapFS
		when   func(sluice.Event) bool
		groups string // whose targets are deregistered
		ends   sluice.Outcome
	}{
		"canary": {stagetest.RunPlain, sets, waits("the task set of canary to drain"), "primary", sluice.RolledBack},
		"canary, while the former primary drains": {stagetest.RunPlain, sets, waits("the old task set of primary to drain"),
			"canary", sluice.RolledBack},
		"canary, before the shift": {stagetest.RunPlain, sets, func(e sluice.Event) bool {
			x, ok := e.(sluice.CapacityChanged)
			return ok && x.Variant == sluice.Canary && x.Healthy == 1
		}, "canary", sluice.RolledBack},
		"rolling": {stagetest.RunRolling, func(b *stagetest.Bench) fstest.MapFS {
			return b.RollingFiles("sim/web:v2", stagetest.Breaker)
		}, func(e sluice.Event) bool {
			x, ok := e.(sluice.CapacityChanged)
			return ok && x.Variant == sluice.Leaving && x.Running == 0
		}, "primary", sluice.RolledBack},
		"native": {func(t testing.TB, f func(*stagetest.Bench)) { stagetest.RunNative(t, native, f) },
			func(b *stagetest.Bench) fstest.MapFS { return b.NativeFiles("sim/web:v2", native) },
			waits("BAKE_TIME"), "canary", sluice.RolledBack},
		"native, both groups": {func(t testing.TB, f func(*stagetest.Bench)) { stagetest.RunNative(t, native, f) },
			func(b *stagetest.Bench) fstest.MapFS { return b.NativeFiles("sim/web:v2", native) },
			waits("BAKE_TIME"), "primary and canary", sluice.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			c.run(t, func(b *stagetest.Bench) {
				id := b.Start(c.files(b))
				var acted, named time.Time
				b.OnEvent(c.when, func() {
					for group, arn := range map[string]string{"primary": b.Primary, "canary": b.Canary} {
						if strings.Contains(c.groups, group) {
							deregisterAll(b, arn)
						}
					}
					acted = b.Clock.Now()
				})
				b.OnEvent(func(e sluice.Event) bool {
					x, ok := e.(sluice.FailureSeen)
					return ok && strings.Contains(x.Cause, "none is registered in target group web-")
				}, func() { named = b.Clock.Now() })
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if late := named.Sub(acted); late < 0 || late > 90*time.Second {
					b.Errorf("named %s after it\n%s", late, b.EventLog())
				}
				took := b.Clock.Now().Sub(acted)
				if end.Outcome != c.ends || took > 5*time.Minute || !strings.Contains(end.Cause, "deregistered them") ||
					!strings.Contains(end.Next, "find what deregistered the targets") {
					b.Errorf("%s after %s: %s\nnext: %s\n%s", end.Outcome, took, end.Cause, end.Next, b.EventLog())
				}
				if got := b.CallersGet(); end.Outcome == sluice.RolledBack && got != "v1 200" {
					b.Errorf("callers get %q", got)
				}
			})
		})
	}
}

// One target stays registered: that is named as early as if none was. The next step has the command that registers the others
// again, and it works; after an automatic rollback it would name tasks that are stopped.
func TestSomeDeregisteredTargetsAreNamed(t *testing.T) {
	for _, except := range []int{0, 1} {
		for _, rollsBack := range []bool{true, false} {
			t.Run(fmt.Sprint("except ", except, ", rolls back ", rollsBack), func(t *testing.T) {
				stagetest.RunRolling(t, func(b *stagetest.Bench) {
					files := stagetest.AddLines(b.RollingFiles("sim/web:v2", ""), "sluice.yaml",
						fmt.Sprintf("planner: {autoRollback: %t}\n", rollsBack))
					id := b.Start(files)
					var acted, named time.Time
					b.OnEvent(func(e sluice.Event) bool {
						x, ok := e.(sluice.CapacityChanged)
						return ok && x.Variant == sluice.Leaving && x.Running == 0
					}, func() { deregister(b, b.Primary, except); acted = b.Clock.Now() })
					b.OnEvent(func(e sluice.Event) bool {
						x, ok := e.(sluice.FailureSeen)
						return ok && strings.Contains(x.Cause, "another process or person deregistered")
					}, func() { named = b.Clock.Now() })
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if late := named.Sub(acted); late < 0 || late > 90*time.Second {
						b.Errorf("named %s after it\n%s", late, b.EventLog())
					}
					command := "register them again: aws elbv2 register-targets --target-group-arn " + b.Primary + " --targets Id="
					if strings.Contains(end.Next, command) == rollsBack {
						b.Errorf("%s: next: %s, want the command: %t\n%s", end.Outcome, end.Next, !rollsBack, b.EventLog())
					}
					if rollsBack {
						return
					}
					_, list, _ := strings.Cut(end.Next, "--targets ")
					list, _, _ = strings.Cut(list, ";")
					var targets []elbtypes.TargetDescription
					for _, field := range strings.Fields(list) {
						id, port, _ := strings.Cut(strings.TrimPrefix(field, "Id="), ",Port=")
						n := stagetest.Got(strconv.Atoi(port))(b)
						targets = append(targets, elbtypes.TargetDescription{Id: aws.String(id), Port: aws.Int32(int32(n))})
					}
					stagetest.Got(b.ELB.RegisterTargets(context.Background(), &awselb.RegisterTargetsInput{
						TargetGroupArn: aws.String(b.Primary), Targets: targets}))(b)
					b.Until("all tasks are registered and healthy", func() bool { return b.Healthy(b.Primary) == 4 })
				})
			})
		}
	}
}
