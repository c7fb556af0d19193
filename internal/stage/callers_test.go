package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/view"
)

// routeActs are what people do to the rule of callers, and what the outcome says then.
var routeActs = map[string]struct {
	do    func(*stagetest.Bench)
	cause string
	gets  string // what callers get in the minute after the end
}{
	"no weight": {func(b *stagetest.Bench) { b.SetRule(0, 0) },
		"gives weight to no target group: callers get 503", "503"},
	"weight on the empty group": {func(b *stagetest.Bench) { b.SetRule(0, 100) },
		"forwards to web-primary 0, web-canary 100", "503"},
	"fixed response":   {func(b *stagetest.Bench) { b.Respond() }, "its action is fixed-response", "503"},
	"listener deleted": {func(b *stagetest.Bench) { b.DeleteListener() }, "its listener was deleted", "0"},
	"another port":     {func(b *stagetest.Bench) { b.MoveListener(81) }, "its listener has port 81, and had 80", "0"},
	"a rule in front": {func(b *stagetest.Bench) { b.AddRule(1, "/*", stagetest.Fixed("503")) },
		"gets no requests: rule 1 of port 80, whose action is fixed-response, gets them first", "503"},
}

// A rolling deployment succeeds only if callers get its revision. Whatever others do to the rule, the end of the
// deployment says it, and the deployment is not rolled back: that would not change the rule.
func TestSuccessOfARollingUpdateIsAboutCallers(t *testing.T) {
	for name, act := range routeActs {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				began := b.Clock.Now()
				end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() { act.do(b) })
				if took := b.Clock.Now().Sub(began); took > 10*time.Minute {
					b.Errorf("ended after %s\n%s", took, b.EventLog())
				}
				if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, act.cause) {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if got := b.CallersGet(); got != act.gets {
					b.Errorf("callers get %q, want %q", got, act.gets)
				}
			})
		})
	}
	t.Run("nothing happens", func(t *testing.T) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() {})
			if got := b.CallersGet(); end.Outcome != sluice.Succeeded || end.Cause != "" || got != "v2 200" {
				b.Errorf("%s: %s; callers get %q", end.Outcome, end.Cause, got)
			}
		})
	})
	// At any time in the wait for callers: the nodes of the load balancer follow seconds after the rule is restored.
	for after := 62 * time.Second; after <= 90*time.Second; after += 2 * time.Second {
		t.Run("restored after "+after.String(), func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() {
					b.SetRule(0, 0)
					b.Clock.Go(func() {
						stagetest.Must(b, b.Clock.Sleep(context.Background(), after))
						b.SetRule(100, 0)
					})
				})
				if got := b.CallersGet(); end.Outcome != sluice.Succeeded || got != "v2 200" {
					b.Errorf("%s: %s; callers get %q", end.Outcome, end.Cause, got)
				}
			})
		})
	}
}

// A person turns the redirect of HTTP to HTTPS on during a deployment: callers follow it to a listener that serves the
// service. To another host, or to a port without a listener, they are lost.
func TestRedirectOfCallers(t *testing.T) {
	for name, c := range map[string]struct {
		to      elbtypes.RedirectActionConfig
		outcome sluice.Outcome
	}{
		"served":       {elbtypes.RedirectActionConfig{Port: aws.String("443")}, sluice.Succeeded},
		"another host": {elbtypes.RedirectActionConfig{Port: aws.String("443"), Host: aws.String("example.com")}, sluice.Failed},
		"no listener":  {elbtypes.RedirectActionConfig{Port: aws.String("444")}, sluice.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				b.AddListener(443, stagetest.ForwardTo(b.Primary))
				end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() {
					c.to.Protocol, c.to.StatusCode = aws.String("HTTPS"), elbtypes.RedirectActionStatusCodeEnumHttp301
					stagetest.Got(b.ELB.ModifyListener(context.Background(), &awselb.ModifyListenerInput{
						ListenerArn: aws.String(b.Listener), DefaultActions: []elbtypes.Action{{
							Type: elbtypes.ActionTypeEnumRedirect, RedirectConfig: &c.to}}}))(b)
				})
				if end.Outcome != c.outcome || (end.Cause == "") != (c.outcome == sluice.Succeeded) {
					b.Errorf("%s: %q\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if got := b.CallersOfPort(443); got != "v2 200" {
					b.Errorf("callers of port 443 get %q", got)
				}
			})
		})
	}
}

// A rule that another process adds during a deployment, and that gets a part of the requests first, is named in the
// outcome.
func TestNewRuleInFrontIsNamed(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() {
			b.AddRule(1, "/api/*", stagetest.Fixed("503"))
		})
		if end.Outcome != sluice.Succeeded ||
			!strings.Contains(end.Cause, "rule 1 of port 80 is new and gets the requests for path /api/*") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		end = b.Deploy(b.RollingFiles("sim/web:v3", stagetest.Breaker))
		if end.Outcome != sluice.Succeeded || end.Cause != "" {
			b.Errorf("the next deployment: %s: %s", end.Outcome, end.Cause)
		}
	})
}

// So is one that gets only some of the requests of the service's rule, and others.
func TestNewRuleThatCrossesIsNamed(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.AddRule(5, "/a*", b.Forward(false)...)
		stagetest.Got(b.ELB.ModifyListener(context.Background(), &awselb.ModifyListenerInput{
			ListenerArn: aws.String(b.Listener), DefaultActions: []elbtypes.Action{stagetest.Fixed("404")}}))(b)
		end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() {
			b.AddRule(1, "/*b", stagetest.Fixed("503"))
			b.AddRule(2, "/c*", stagetest.Fixed("503"))
		})
		const want = "rule 1 of port 80 is new and gets the requests for path /*b, whose action is fixed-response"
		if end.Outcome != sluice.Succeeded || end.Cause != want {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		for path, gets := range map[string]string{"/ab": "503", "/a": "v2 200"} {
			if got := b.CallersOf(path); got != gets {
				b.Errorf("callers of %s get %q, want %q", path, got, gets)
			}
		}
	})
}

// runWithAct deploys, and acts when the new targets are healthy, before the former ones have drained.
func runWithAct(b *stagetest.Bench, files fstest.MapFS, act func()) engine.RunResult {
	b.Helper()
	id := b.Start(files)
	b.Clock.Go(func() {
		b.Until("the new targets are healthy", func() bool {
			out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
				&awsecs.DescribeServicesInput{Cluster: aws.String("prod"), Services: []string{"web"}}))(b)
			return out.Services[0].Deployments[0].RunningCount == 4 && b.Healthy(b.Primary) >= 4 &&
				strings.HasSuffix(*out.Services[0].TaskDefinition, ":2")
		})
		act()
	})
	return stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
}

// Credentials that expire before the rules are read leave the outcome open: the deployment pauses, and confirms it with
// new ones. An identity that may not read the rules ends as before: policies of earlier versions do not allow it.
func TestRefusedReadOfCallers(t *testing.T) {
	for _, c := range []struct {
		code          string
		first, second sluice.Outcome
	}{
		{"ExpiredToken", "", sluice.Failed}, {"InvalidClientTokenId", "", sluice.Failed},
		{"AccessDenied", sluice.Succeeded, ""},
	} {
		t.Run(c.code, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				id, refuses := b.Start(b.RollingFiles("sim/web:v2", stagetest.Breaker)), false
				b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
					if refuses && operation != "DescribeServices" {
						return &smithy.GenericAPIError{Code: c.code, Message: "no", Fault: smithy.FaultClient}
					}
					return nil
				}})
				b.OnStageEnd(1, func() { b.SetRule(0, 0); refuses = true })
				end, err := b.Engine.Run(context.Background(), id, engine.Options{})
				if end.Outcome != c.first || (err != nil) != (c.first == "") {
					b.Errorf("%s: %s %v, want %q\n%s", end.Outcome, end.Cause, err, c.first, b.EventLog())
				}
				if c.second == "" {
					return
				}
				refuses = false
				end = stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if end.Outcome != c.second || !strings.Contains(end.Cause, "gives weight to no target group") {
					b.Errorf("%s: %s, want %q\n%s", end.Outcome, end.Cause, c.second, b.EventLog())
				}
			})
		})
	}
}

// A rollback of task sets ends as rolled back only if callers get the former version.
func TestRolledBackIsAboutCallers(t *testing.T) {
	for name, act := range routeActs {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				id := b.Start(b.Files("sim/web:v2-crash-after-2s", stagetest.CanaryPipeline))
				b.OnStageEnd(1, func() { act.do(b) })
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				got := b.CallersGet()
				if end.Outcome == sluice.RolledBack && got != "v1 200" {
					b.Errorf("rolled back, and callers get %q\n%s", got, b.EventLog())
				}
				if end.Outcome != sluice.RolledBack && end.Outcome != sluice.Failed {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// A deployment does not begin while callers are sent to a group that cannot serve, although another one can. No write
// is made, and the printed command mends it.
func TestUnhealthyRouteIsRefused(t *testing.T) {
	for name, weights := range map[string][2]int32{"empty group": {0, 100}, "no weight": {0, 0}, "half": {50, 50}} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				b.SetRule(weights[0], weights[1])
				_, err := b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{})
				if err == nil || !strings.Contains(err.Error(), "callers do not reach the service") ||
					!strings.Contains(sluice.NextStep(err), `"Weight":100`) ||
					!strings.Contains(sluice.NextStep(err), "aws elbv2 modify-listener --listener-arn "+b.Listener) {
					b.Errorf("%v; next: %s", err, sluice.NextStep(err))
				}
			})
		})
	}
}

// A rule in front of the one of callers is an outage before the deployment too. No command is safe: somebody may have
// closed the service for maintenance.
func TestRuleInFrontIsRefused(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		front := b.AddRule(1, "/*", stagetest.Fixed("503"))
		b.CallersGet() // the nodes of the load balancer follow within seconds
		_, err := b.Plan(b.RollingFiles("sim/web:v2", stagetest.Breaker), mode.Options{})
		if err == nil || !strings.Contains(err.Error(), "default rule of port 80 gets no requests: rule 1 of port 80") ||
			!strings.Contains(sluice.NextStep(err), "higher number: aws elbv2 describe-rules --rule-arns "+front) {
			t.Errorf("%v; next: %s", err, sluice.NextStep(err))
		}
		if got := b.CallersGet(); got != "503" {
			t.Errorf("callers get %q, want 503", got)
		}
	})
}

// Other conditions of the rule of callers are an outage, however its weights are.
func TestConditionsOfARuleAreAboutCallers(t *testing.T) {
	for path, want := range map[string]struct {
		outcome     sluice.Outcome
		cause, gets string
	}{
		"/nothing": {sluice.Failed, "its conditions are path /nothing, and were path /*", "404"},
		"*":        {sluice.Succeeded, "", "v2 200"},
	} {
		t.Run(path, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				rule := b.AddRule(5, "/*", b.Forward(false)...)
				stagetest.Got(b.ELB.ModifyListener(context.Background(), &awselb.ModifyListenerInput{
					ListenerArn: aws.String(b.Listener), DefaultActions: []elbtypes.Action{stagetest.Fixed("404")}}))(b)
				end := runWithAct(b, b.RollingFiles("sim/web:v2", stagetest.Breaker), func() {
					stagetest.Got(b.ELB.ModifyRule(context.Background(), &awselb.ModifyRuleInput{RuleArn: aws.String(rule),
						Conditions: stagetest.PathCondition(path)}))(b)
				})
				if end.Outcome != want.outcome || !strings.Contains(end.Cause, want.cause) {
					b.Errorf("%s: %q, want %s: %q\n%s", end.Outcome, end.Cause, want.outcome, want.cause, b.EventLog())
				}
				if got := b.CallersGet(); got != want.gets {
					b.Errorf("callers get %q, want %q", got, want.gets)
				}
			})
		})
	}
}

// A deployment that the file allows leaves a rule by which callers reach the service: neither its end nor its rollback
// restores the outage.
func TestAllowedUnhealthyRouteIsNotRestored(t *testing.T) {
	for _, c := range []struct {
		image   string
		outcome sluice.Outcome
		gets    string
	}{{"sim/web:v2", sluice.Succeeded, "v2 200"}, {"sim/web:v2-crash-after-2s", sluice.RolledBack, "v1 200"}} {
		for name, weights := range map[string][2]int32{"empty group": {0, 100}, "no weight": {0, 0}} {
			t.Run(name+" "+c.gets, func(t *testing.T) {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					b.SetRule(weights[0], weights[1])
					end := b.Deploy(stagetest.AddLines(b.Files(c.image, stagetest.CanaryPipeline), "sluice.yaml",
						"onUnhealthyRoute: allow\n"))
					if got := b.CallersGet(); end.Outcome != c.outcome || got != c.gets {
						b.Errorf("%s: %s; callers get %q, want %q; %s\n%s", end.Outcome, end.Cause, got, c.gets,
							b.Weights(), b.EventLog())
					}
				})
			})
		}
	}
}

// A rollback to a service whose tasks others have removed is none: no task runs the former version.
func TestRolledBackNeedsTasks(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.RollingFiles("sim/web:v2-crash-after-2s", stagetest.Breaker))
		b.OnStageEnd(2, func() { // ECS_ROLLBACK, before the deployment ends
			stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), DesiredCount: aws.Int32(0)}))(b)
		})
		b.AfterWrite("ecs:UpdateService", 40*time.Second, func() {
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		})
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if got := b.CallersGet(); end.Outcome != sluice.Gone || !strings.Contains(got, "503") {
			b.Errorf("%s: %s; callers get %q\n%s", end.Outcome, end.Cause, got, b.EventLog())
		}
	})
}

// A deployment that ended before it changed anything was read once, for its plan. Its end says that no rule reaches the
// service.
func TestEndWithoutAChangeSaysThatNoRuleReachesTheService(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.DeleteListener()
		id := b.Start(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, "receives no requests") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

// A deployment that only changes auto scaling reads no version at its end. It says that no rule reaches the service.
func TestScalingAloneSaysThatNoRuleReachesTheService(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx, lo := context.Background(), 3
		b.Scalable(2, 8, sluice.Suspension{})
		b.DeleteListener()
		p := stagetest.Got(b.Plan(b.RollingFiles("sim/web:v1", "desiredCount: 4\n"+stagetest.Breaker),
			mode.Options{Scaling: appfile.Scaling{Min: &lo}}))(b)
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Succeeded || !strings.Contains(end.Cause, "receives no requests") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

// New tasks of the same version: a service that ECS rolls has no canary, so that a rule which another process points to
// the targets of another service takes its callers.
func TestNewTasksOfTheSameVersionAreAboutCallers(t *testing.T) {
	ctx := context.Background()
	for taken, want := range map[bool]sluice.Outcome{false: sluice.Succeeded, true: sluice.Failed} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			web := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}}))(b).Services[0]
			stagetest.Got(b.ECS.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
				ServiceName: aws.String("other"), TaskDefinition: web.TaskDefinition, DesiredCount: aws.Int32(2),
				LaunchType: web.LaunchType, NetworkConfiguration: web.NetworkConfiguration,
				LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(b.Canary),
					ContainerName: web.LoadBalancers[0].ContainerName, ContainerPort: web.LoadBalancers[0].ContainerPort}}}))(b)
			p := stagetest.Got(b.Plan(b.RollingFiles("sim/web:v1", stagetest.Breaker), mode.Options{Force: true}))(b)
			id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
			if taken {
				b.Clock.Go(func() {
					b.SetRule(50, 50)
					b.Until("the targets of the other service are healthy", func() bool { return b.Healthy(b.Canary) == 2 })
					b.SetRule(0, 100)
				})
			}
			end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
			if end.Outcome != want || taken && !strings.Contains(end.Cause, "callers do not get it") {
				b.Errorf("%s: %s, want %s\n%s", end.Outcome, end.Cause, want, b.EventLog())
			}
		})
	}
}

// A rollback that has nothing to restore is about callers too: another actor may have changed their rule since the
// plan.
func TestRollbackOfNothingIsAboutCallers(t *testing.T) {
	for edit, want := range map[string]sluice.Outcome{"": sluice.RolledBack, "callers get 503": sluice.Failed} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			id := b.Start(b.RollingFiles("sim/web:v2", stagetest.Breaker))
			if edit != "" {
				b.SetRule(0, 0)
			}
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			if end.Outcome != want || !strings.Contains(end.Cause, edit) {
				b.Errorf("%q: %s: %s\n%s", edit, end.Outcome, end.Cause, b.EventLog())
			}
		})
	}
}

// A target that somebody registered by hand before the deployment is no task of the restored version: a rollback waits
// no minute for it. One that is registered during the deployment is told in numbers.
func TestTargetsOfOthersDelayNoRollback(t *testing.T) {
	register := func(b *stagetest.Bench) {
		stagetest.Got(b.ELB.RegisterTargets(context.Background(), &awselb.RegisterTargetsInput{
			TargetGroupArn: aws.String(b.Primary),
			Targets: []elbtypes.TargetDescription{{Id: aws.String("10.9.0.9"), AvailabilityZone: aws.String("all"),
				Port: aws.Int32(8080)}}}))(b)
	}
	restore := func(before, during bool) (took time.Duration, cause string) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			if before {
				register(b)
			}
			began := b.Clock.Now()
			id := b.Start(b.RollingFiles("sim/web:v2-crash-after-2s", stagetest.Breaker))
			if during {
				register(b)
			}
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			if got := b.CallersGet(); end.Outcome != sluice.RolledBack || got != "v1 200" {
				b.Fatalf("%s: %s; callers get %q\n%s", end.Outcome, end.Cause, got, b.EventLog())
			}
			took, cause = b.Clock.Now().Sub(began), end.Cause
		})
		return took, cause
	}
	alone, _ := restore(false, false)
	if took, cause := restore(true, false); took-alone > view.ConfirmGrace/2 || strings.Contains(cause, "targets") {
		t.Errorf("registered before: %s instead of %s: %s", took, alone, cause)
	}
	if _, cause := restore(false, true); !strings.Contains(cause, "5 targets get requests, and 4 tasks run") {
		t.Errorf("registered during the deployment: %q", cause)
	}
}

// outcomeGets is what callers get in the minute after an outcome.
var outcomeGets = map[sluice.Outcome]string{sluice.Succeeded: "v2 200", sluice.RolledBack: "v1 200"}

// A version that dies again and again while the end of its deployment waits for callers is no success, and is rolled
// back unless the files forbid it. A deployment that another one replaces, or whose service is deleted, has not failed:
// a rollback would undo what others did. It does not matter whether they act while callers are waited for, or after
// tasks have died.
func TestDeathsAtTheEnd(t *testing.T) {
	ctx := context.Background()
	nothing := func(*stagetest.Bench) {}
	deploy := func(b *stagetest.Bench) {
		stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), TaskDefinition: aws.String("web:1")}))(b)
	}
	remove := func(b *stagetest.Bench) {
		stagetest.Got(b.ECS.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), Force: aws.Bool(true)}))(b)
	}
	const good, dies = "sim/web:v2", "sim/web:v2?crash-after=70s&exit=1"
	for name, c := range map[string]struct {
		image         string
		keeps         bool                   // no automatic rollback
		before, after func(*stagetest.Bench) // while callers are waited for, and once tasks have died
		outcome       sluice.Outcome
		next          string
	}{
		"nothing happens": {image: good, before: nothing, outcome: sluice.Succeeded},
		"tasks die": {image: dies, before: nothing, after: nothing, outcome: sluice.RolledBack,
			next: "then deploy again"},
		"tasks die, without automatic rollback": {image: dies, keeps: true, before: nothing, after: nothing,
			outcome: sluice.Failed, next: "sluice rollback"},
		"another deployment": {image: good, before: deploy, outcome: sluice.Superseded,
			next: "sluice status to see what is running"},
		"another deployment after a death": {image: dies, before: nothing, after: deploy, outcome: sluice.Superseded,
			next: "sluice status to see what is running"},
		"the service is deleted": {image: good, before: remove, outcome: sluice.Gone,
			next: "run sluice deploy to create the service again"},
		"the service is deleted afterwards": {image: dies, before: nothing, after: remove, outcome: sluice.Gone,
			next: "run sluice deploy to create the service again"},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				files := b.RollingFiles(c.image, stagetest.Breaker)
				if c.keeps {
					stagetest.AddLines(files, "sluice.yaml", "planner: {autoRollback: false}\n")
				}
				id := b.Start(files)
				b.OnStageEnd(1, func() {
					b.SetRule(0, 0)
					b.Clock.Go(func() {
						stagetest.Must(b, b.Clock.Sleep(ctx, 25*time.Second))
						c.before(b)
						stagetest.Must(b, b.Clock.Sleep(ctx, 30*time.Second))
						b.SetRule(100, 0)
						if c.after != nil {
							b.Until("tasks have died", func() bool { return strings.Contains(b.EventLog(), "success needs") })
							c.after(b)
						}
					})
				})
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if end.Outcome != c.outcome || !strings.HasSuffix(end.Next, c.next) || (end.Next == "") != (c.next == "") {
					b.Errorf("%s: %s; next: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
				}
				stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second)) // the nodes follow the restored rule late
				if got, want := b.CallersGet(), outcomeGets[c.outcome]; want != "" && got != want {
					b.Errorf("after %q callers get %s, want %s\n%s", end.Outcome, got, want, b.EventLog())
				}
			})
		})
	}
}

// The process that waits for callers at the end is killed, and the version dies before another one continues: it is
// judged again.
func TestDeathsBeforeTheEndIsContinued(t *testing.T) {
	for image, want := range map[string]sluice.Outcome{"sim/web:v2": sluice.Succeeded,
		"sim/web:v2?crash-after=70s&exit=1": sluice.RolledBack} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			id := b.Start(b.RollingFiles(image, stagetest.Breaker))
			b.OnStageEnd(1, func() { b.SetRule(0, 0) })
			b.OnEvent(func(e sluice.Event) bool {
				w, ok := e.(sluice.Waiting)
				return ok && strings.HasPrefix(w.For, "callers to reach")
			}, func() { panic(stagetest.Killed{At: "the wait for callers"}) })
			if b.RunUntilKilled(id) == "" {
				b.Fatalf("nothing waits for callers\n%s", b.EventLog())
			}
			b.SetRule(100, 0)
			stagetest.Must(b, b.Clock.Sleep(context.Background(), 55*time.Second))
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			if got := b.CallersGet(); end.Outcome != want || got != outcomeGets[want] {
				b.Errorf("%s: %s, want %s; callers get %s\n%s", image, end.Outcome, want, got, b.EventLog())
			}
		})
	}
}

// A rollback that another deployment replaces while its end waits for callers is no rollback to the former version.
func TestReplacedWhileARollbackEnds(t *testing.T) {
	ctx := context.Background()
	for _, replaced := range []bool{false, true} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			id, want := b.Start(b.RollingFiles("sim/web:v2-crash-after-2s", stagetest.Breaker)), sluice.RolledBack
			b.OnStageEnd(2, func() {
				b.SetRule(0, 0)
				b.Clock.Go(func() {
					stagetest.Must(b, b.Clock.Sleep(ctx, 20*time.Second))
					if replaced {
						td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, "sim/web:v3")))(b)
						stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
							Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
					}
					stagetest.Must(b, b.Clock.Sleep(ctx, 30*time.Second))
					b.SetRule(100, 0)
				})
			})
			b.AfterWrite("ecs:UpdateService", 40*time.Second, func() {
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			})
			end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
			if replaced {
				want = sluice.Superseded
			}
			if end.Outcome != want {
				b.Errorf("replaced %t: %s: %s\n%s", replaced, end.Outcome, end.Cause, b.EventLog())
			}
		})
	}
}
