package watch_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// refusing answers some operations with an error code, as AWS does.
func refusing(code string, operations ...string) []func(*middleware.Stack) error {
	return []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
		return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("refusing",
			func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
				middleware.SerializeOutput, middleware.Metadata, error) {
				for _, op := range operations {
					if middleware.GetOperationName(ctx) == op {
						return middleware.SerializeOutput{}, middleware.Metadata{},
							&smithy.GenericAPIError{Code: code, Message: op + " is not for you"}
					}
				}
				return next.HandleSerialize(ctx, in)
			}), middleware.Before)
	}}
}

// broken deploys a version that crashes over one that serves.
func broken(b *bench) {
	b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
	b.deploy("web", b.revision(crash))
}

func TestWithoutTheHistoryOfDeployments(t *testing.T) {
	for _, code := range []string{"UnsupportedFeatureException", "UnknownOperationException", "AccessDeniedException"} {
		on(t, options{api: refusing(code, "DescribeServiceDeployments", "DescribeServiceRevisions")}, func(b *bench) {
			broken(b)
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			b.ends(v, sluice.RolledBack, "web:1", diagnosis.ExitCode)
			if len(v.Unread) == 0 || !strings.HasPrefix(v.Unread[0], "service deployments: ") {
				t.Errorf("what was not read: %q", v.Unread)
			}
			b.deploy("web", b.revision("sim/web:v3"))
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: "web:3"}), sluice.Succeeded, "", "")
		})
	}
}

func TestWhatIsDeniedIsSaid(t *testing.T) {
	for op, what := range map[string]string{"ListTasks": "stopped tasks: ", "DescribeTargetHealth": "target health: ",
		"GetLogEvents": "log of container web: ", "DescribeTaskDefinition": "log of container web: "} {
		on(t, options{api: refusing("AccessDeniedException", op)}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			image := crash
			if op == "DescribeTargetHealth" {
				image = "sim/web:v2?never-healthy"
			}
			b.deploy("web", b.revision(image))
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			if v.Outcome != sluice.RolledBack || !strings.Contains(strings.Join(v.Unread, "\n"), what) {
				t.Errorf("%s: %s, unread %q", op, v.Outcome, v.Unread)
			}
		})
	}
}

func TestTheLastLinesAreRead(t *testing.T) {
	for _, absent := range []bool{false, true} {
		on(t, options{noLogs: absent}, func(b *bench) {
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
			b.deploy("web", b.revision(crash+"&prints=reading configuration|no database at db:5432"))
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			b.ends(v, sluice.Failed, "", diagnosis.ExitCode)
			switch {
			case absent && !strings.Contains(strings.Join(v.Unread, ""), "The specified log group does not exist"):
				t.Errorf("unread: %q", v.Unread)
			case !absent &&
				(len(v.Logs) == 0 || !slices.Equal(v.Logs[0].Lines,
					[]string{"version v2 starts", "reading configuration", "no database at db:5432", "fatal: exit 3"})):
				t.Errorf("%+v", v.Logs)
			}
		})
	}
}

func TestARefusalOfTheServiceItselfIsAnError(t *testing.T) {
	on(t, options{api: refusing("AccessDeniedException", "DescribeServices")}, func(b *bench) {
		_, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: "web",
			Wanted: verdict.Wanted{Timeout: time.Hour}}, nil)
		if sluice.KindOf(err) != sluice.Denied {
			t.Error(err)
		}
	})
}

// TestFaults: what strikes reads delays the verdict and does not change it.
func TestFaults(t *testing.T) {
	for _, fault := range []string{
		"throttle ecs:DescribeServices p=0.5", "throttle ecs:* p=0.3", "5xx ecs:Describe* p=0.3", "no-send ecs:* p=0.3",
		"stale ecs:DescribeServices by=8s", "stale ecs:* by=5s p=0.5", "latency ecs:* by=2s",
	} {
		t.Run(fault, func(t *testing.T) {
			on(t, options{codec: true}, func(b *bench) {
				b.balance()
				broken(b)
				must(b, b.sim.Inject(fault))
				b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.RolledBack, "web:1", diagnosis.ExitCode)
				b.sim.ClearFaults()
				rev := b.revision("sim/web:v3")
				must(b, b.sim.Inject(fault))
				b.clock.Go(func() {
					b.sleep(5 * time.Second)
					b.sim.ClearFaults()
					b.deploy("web", rev)
					must(b, b.sim.Inject(fault))
				})
				b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: rev}), sluice.Succeeded, "", "")
			})
		})
	}
}

func TestAWrongClockChangesNothing(t *testing.T) {
	for _, skew := range []time.Duration{-30 * time.Second, 30 * time.Second, -12 * time.Hour, 12 * time.Hour} {
		on(t, options{skew: skew}, func(b *bench) {
			broken(b)
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.RolledBack, "web:1", diagnosis.ExitCode)
			b.deploy("web", b.revision("sim/web:v3"))
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
		})
	}
}

// TestTheLimitHoldsWhenNothingCanBeRead: AWS refuses every read for minutes.
func TestTheLimitHoldsWhenNothingCanBeRead(t *testing.T) {
	on(t, options{codec: true}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		b.deploy("web", b.revision("sim/web:v2?start-delay=10m"))
		b.clock.Go(func() {
			b.sleep(20 * time.Second)
			must(b, b.sim.Inject("throttle ecs:*"))
		})
		began := b.clock.Now()
		v := b.wait("web", verdict.Wanted{Timeout: time.Minute})
		if d := b.clock.Now().Sub(began); v.Outcome != sluice.TimedOut || d < time.Minute ||
			d > time.Minute+3*time.Second {
			t.Errorf("%s after %s: %s", v.Outcome, d, v.Detail)
		}
		if !strings.Contains(v.Detail, "web:1: 1 running") {
			t.Errorf("the last state is not told: %s", v.Detail)
		}
	})
}
