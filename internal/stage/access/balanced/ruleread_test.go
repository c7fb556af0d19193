package balanced_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"

	"context"
)

// A rule that another process edits while the write of the weights gets no answer keeps
// that edit: the rule is read again before the next attempt.
func TestWeightsAreNotSentOnARuleReadLongAgo(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		edited := false
		b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
			if operation != "ModifyListener" || edited {
				return nil
			}
			edited = true
			stagetest.Must(b, b.Clock.Sleep(context.Background(), 12*time.Second))
			b.SetRule(70, 30)
			return errNotSent
		}})
		end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		if !edited || end.State != journal.Ended || end.Outcome == sluice.Succeeded ||
			!strings.Contains(b.State(), "primary 70 canary 30") {
			b.Errorf("%s %s: %s\n%s", end.Outcome, end.Cause, b.State(), b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

// errNotSent is the error of a request for which no connection was made.
var errNotSent = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}

// hideRules lets one answer of DescribeRules, the nth from now on, list no rule.
func hideRules(b *stagetest.Bench, n int) (reached func() bool) {
	answers := 0
	stand := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("without rules",
			func(ctx context.Context, in middleware.InitializeInput,
				next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, meta, err := next.HandleInitialize(ctx, in)
				if _, ok := out.Result.(*awselb.DescribeRulesOutput); ok {
					if answers++; answers == n {
						out.Result = &awselb.DescribeRulesOutput{}
					}
				}
				return out, meta, err
			}), middleware.Before)
	}
	b.Engine.Account = b.OpenAccount(stand)
	return func() bool { return answers >= n }
}

// One answer that lists no rule does not mean that the rule was deleted.
func TestOneAnswerWithoutTheRuleIsNotBelieved(t *testing.T) {
	stagetest.DenyEachCall(t, "DescribeRules", "forward", func(t *testing.T, n int) (reached bool) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
			lost := hideRules(b, n)
			b.ExpectEnd(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded,
				"",
				stagetest.ServesV2)
			reached = lost()
		})
		return reached
	})
	stagetest.DenyEachCall(t, "DescribeRules", "back", func(t *testing.T, n int) (reached bool) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			ctx := context.Background()
			id := b.RunToApproval(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(3)))
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			lost := hideRules(b, n)
			b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
				stagetest.ServesV1)
			reached = lost()
		})
		return reached
	})
}

// A rollback begins right after weights were written. A read of the rules from before that
// shows them as they were: they are restored all the same.
func TestRollbackRestoresRulesPastOldReads(t *testing.T) {
	for _, by := range []string{"4s", "9s", "14s"} {
		for _, after := range []time.Duration{0, time.Second, 3 * time.Second} {
			t.Run(fmt.Sprintf("%s/%s", by, after), func(t *testing.T) {
				t.Parallel()
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					ctx := context.Background()
					id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
					b.AfterWrite("elasticloadbalancing:ModifyListener", after, func() {
						stagetest.Must(b, b.Sim.Inject("stale elasticloadbalancing:DescribeRules by="+by+" for=1m"))
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
					})
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// A read of the rules from before the weights of the stage before, at any read of a stage that follows at once, is no
// edit by somebody else: newer reads do not show it.
func TestReadFromBeforeTheStageBeforeIsNoEdit(t *testing.T) {
	stagetest.DenyEachCall(t, "DescribeRules", "old", func(t *testing.T, n int) (reached bool) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			id, reads := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline)), 0
			b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
				if operation != "DescribeRules" {
					return nil
				}
				if reads++; reads == n {
					reached = true
					stagetest.Must(b, b.Sim.Inject("stale elasticloadbalancing:* by=15s for=8s"))
				}
				return nil
			}})
			b.ExpectEnd(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
				stagetest.ServesV2)
			if strings.Contains(b.EventLog(), "external change") {
				b.Errorf("%d: %s", n, b.EventLog())
			}
		})
		return reached
	})
}
