package stage_test

import (
	"context"
	"slices"
	"testing"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// denies lets one call of an operation, the nth from now on, be answered with an error
// code: AWS says that what is read does not exist. reached tells whether there was one.
func (b *bench) denies(n int, operation, code string) (reached func() bool) {
	return b.deniesWhen(func() bool { return true }, n, operation,
		&smithy.GenericAPIError{Code: code, Message: "it does not exist", Fault: smithy.FaultClient})
}

// deniesWhen is denies, of the calls that are made while counts is true.
func (b *bench) deniesWhen(counts func() bool, n int, operation string, gone error) (reached func() bool) {
	calls := 0
	b.through(&network{before: func(name string) error {
		if name != operation || !counts() {
			return nil
		}
		if calls++; calls == n {
			return gone
		}
		return nil
	}})
	return func() bool { return calls >= n }
}

// eachDenied calls f for each call of an operation, or some of them.
func eachDenied(t *testing.T, operation, code string, f func(t *testing.T, n int) (reached bool)) {
	t.Run(operation+"/"+code, func(t *testing.T) {
		t.Parallel()
		for n, step := 1, 1; f(t, n) && !t.Failed(); n += step {
			step = 1 + n/3
		}
	})
}

// One answer that says that a listener or target group does not exist is not believed:
// the deployment and its rollback go on as if it had not been given.
func TestOneAnswerThatSomethingIsGoneIsNotBelieved(t *testing.T) {
	for _, c := range [][2]string{{"DescribeListeners", "ListenerNotFound"}, {"DescribeRules", "ListenerNotFound"},
		{"DescribeTargetHealth", "TargetGroupNotFound"}} {
		eachDenied(t, c[0], c[1], func(t *testing.T, n int) (reached bool) {
			on(t, options{}, func(b *bench) {
				id := b.Start(b.Files("sim/web:v2", canaryPipeline))
				denied := b.denies(n, c[0], c[1])
				b.ExpectEnd(got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
					servesV2)
				b.ExpectNoneLost()
				reached = denied()
			})
			return reached
		})
		eachDenied(t, "rollback/"+c[0], c[1], func(t *testing.T, n int) (reached bool) {
			on(t, options{}, func(b *bench) {
				ctx := context.Background()
				id := b.upToApproval(b.Files("sim/web:v2", heldAfterStage(3)))
				must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				denied := b.denies(n, c[0], c[1])
				b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
				b.ExpectNoneLost()
				reached = denied()
			})
			return reached
		})
	}
}

// withoutRules lets one answer of DescribeRules, the nth from now on, list no rule.
func (b *bench) withoutRules(n int) (reached func() bool) {
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
	eachDenied(t, "DescribeRules", "forward", func(t *testing.T, n int) (reached bool) {
		on(t, options{}, func(b *bench) {
			id := b.Start(b.Files("sim/web:v2", canaryPipeline))
			lost := b.withoutRules(n)
			b.ExpectEnd(got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
				servesV2)
			reached = lost()
		})
		return reached
	})
	eachDenied(t, "DescribeRules", "back", func(t *testing.T, n int) (reached bool) {
		on(t, options{}, func(b *bench) {
			ctx := context.Background()
			id := b.upToApproval(b.Files("sim/web:v2", heldAfterStage(3)))
			must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			lost := b.withoutRules(n)
			b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
			reached = lost()
		})
		return reached
	})
}

// One answer that a name of Cloud Map does not exist is not believed either.
func TestOneAnswerThatANameIsGoneIsNotBelieved(t *testing.T) {
	for _, operation := range []string{"ListInstances", "DiscoverInstances", "GetInstancesHealthStatus"} {
		eachDenied(t, operation, "ServiceNotFound", func(t *testing.T, n int) (reached bool) {
			byName(t, named{check: 5e9}, func(b *nameBench) {
				id := b.startNamed("sim/api:v2", namedCanary)
				denied := b.denies(n, operation, "ServiceNotFound")
				b.ends(got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "", namedV2,
					"4 primary, 0 canary")
				b.nobodyLost()
				reached = denied()
			})
			return reached
		})
	}
}

// Nor is one that a deployment of CodeDeploy, which a rollback has to stop, does not exist.
func TestOneAnswerThatADeploymentOfCodeDeployIsGoneIsNotBelieved(t *testing.T) {
	eachDenied(t, "GetDeployment", "DeploymentDoesNotExistException", func(t *testing.T, n int) (reached bool) {
		shifts(t, shop{config: "CodeDeployDefault.ECSCanary10Percent5Minutes"}, func(b *bench) {
			denied := b.deniesWhen(b.rollsBack, n, "GetDeployment", &cdtypes.DeploymentDoesNotExistException{})
			b.ends(b.rolledBackAt(b.shifted("sim/web:v2", ""), "AllowTraffic", "InProgress"), sluice.RolledBack, "",
				shiftedV1)
			if n := b.shiftCount(); n != 1 {
				b.Errorf("%d deployments of CodeDeploy", n)
			}
			reached = denied()
		})
		return reached
	})
}

// rollsBack reports whether a rollback has begun.
func (b *bench) rollsBack() bool {
	return slices.ContainsFunc(b.Events, func(e sluice.Envelope) bool {
		_, ok := e.Open().(sluice.RollbackStarted)
		return ok
	})
}
