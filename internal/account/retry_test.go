package account_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

func discover(t *testing.T, ctx context.Context, w *world) {
	t.Helper()
	if _, err := w.CloudMap().DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: ptr("n"),
		ServiceName: ptr("s")}); err != nil {
		t.Fatal(err)
	}
}

func counting(n *int) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("counting",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error,
			) {
				*n++
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
	}
}

// newRow is one planned write as a hand makes it.
type newRow struct {
	plan   string
	repeat bool // an unanswered attempt is repeated
	do     func(context.Context, *world) error
}

func sent[O any](_ O, err error) error { return err }

const (
	setARN  = "arn:aws:ecs:us-east-1:123456789012:task-set/prod/web/ecs-svc/1"
	ruleARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/lb/1/2/3"
	lstARN  = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/lb/1/2"
	svcARN  = "arn:aws:ecs:us-east-1:123456789012:service/prod/web"
)

var writeTable = []newRow{
	{"ecs:CreateTaskSet prod/web", true,
		func(ctx context.Context, w *world) error { return createTaskSet(ctx, w, "token") }},
	{"ecs:CreateTaskSet prod/web", false,
		func(ctx context.Context, w *world) error { return createTaskSet(ctx, w, "") }},
	{"ecs:CreateService prod/web", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().CreateService(ctx, &awsecs.CreateServiceInput{Cluster: ptr("prod"), ServiceName: ptr("web"),
			ClientToken: ptr("t")}))
	}},
	{"ecs:CreateService default/web", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().CreateService(ctx, &awsecs.CreateServiceInput{ServiceName: ptr("web")}))
	}},
	{"ecs:UpdateService prod/web", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: ptr("prod"), Service: ptr(svcARN)}))
	}},
	{"ecs:UpdateService prod/web", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: ptr("prod"), Service: ptr("web"),
			ForceNewDeployment: true}))
	}},
	{"ecs:DeleteService prod/web", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: ptr("prod"), Service: ptr("web")}))
	}},
	{"ecs:UpdateTaskSet ecs-svc/1", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().UpdateTaskSet(ctx, &awsecs.UpdateTaskSetInput{Cluster: ptr("prod"), Service: ptr("web"),
			TaskSet: ptr(setARN), Scale: &ecstypes.Scale{}}))
	}},
	{"ecs:DeleteTaskSet ecs-svc/1", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().DeleteTaskSet(ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr("prod"), Service: ptr("web"),
			TaskSet: ptr("ecs-svc/1")}))
	}},
	{"ecs:UpdateServicePrimaryTaskSet ecs-svc/1", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().UpdateServicePrimaryTaskSet(ctx,
			&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr("prod"), Service: ptr("web"),
				PrimaryTaskSet: ptr(setARN)}))
	}},
	{"ecs:RegisterTaskDefinition web", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{Family: ptr("web"),
			ContainerDefinitions: []ecstypes.ContainerDefinition{}}))
	}},
	{"ecs:DeregisterTaskDefinition web:7", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: ptr(
				"arn:aws:ecs:us-east-1:123456789012:task-definition/web:7")}))
	}},
	{"ecs:RunTask prod/job:3", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().RunTask(ctx, &awsecs.RunTaskInput{Cluster: ptr("prod"), TaskDefinition: ptr("job:3"),
			ClientToken: ptr("t")}))
	}},
	{"ecs:RunTask prod/job:3", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().RunTask(ctx, &awsecs.RunTaskInput{Cluster: ptr("prod"), TaskDefinition: ptr("job:3"),
			ClientToken: ptr("")}))
	}},
	{"ecs:StopTask prod/abc", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().StopTask(ctx, &awsecs.StopTaskInput{Cluster: ptr("prod"),
			Task: ptr("arn:aws:ecs:us-east-1:123456789012:task/prod/abc")}))
	}},
	{"ecs:StopServiceDeployment sd", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().StopServiceDeployment(ctx,
			&awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: ptr("sd")}))
	}},
	{"ecs:ContinueServiceDeployment sd", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().ContinueServiceDeployment(ctx,
			&awsecs.ContinueServiceDeploymentInput{ServiceDeploymentArn: ptr("sd"), HookId: ptr("h")}))
	}},
	{"ecs:TagResource " + svcARN, true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().TagResource(ctx, &awsecs.TagResourceInput{ResourceArn: ptr(svcARN),
			Tags: []ecstypes.Tag{}}))
	}},
	{"ecs:UntagResource " + svcARN, true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().UntagResource(ctx, &awsecs.UntagResourceInput{ResourceArn: ptr(svcARN),
			TagKeys: []string{"k"}}))
	}},
	{"elasticloadbalancing:ModifyRule " + ruleARN, true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().ModifyRule(ctx, &awselb.ModifyRuleInput{RuleArn: ptr(ruleARN)}))
	}},
	{"elasticloadbalancing:ModifyListener " + lstARN, true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: ptr(lstARN)}))
	}},
	{"elasticloadbalancing:CreateRule " + lstARN, false, func(ctx context.Context, w *world) error {
		prio := int32(1)
		return sent(w.ELB().CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: ptr(lstARN), Priority: &prio,
			Actions: []elbtypes.Action{}, Conditions: []elbtypes.RuleCondition{}}))
	}},
	{"elasticloadbalancing:DeleteRule " + ruleARN, true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().DeleteRule(ctx, &awselb.DeleteRuleInput{RuleArn: ptr(ruleARN)}))
	}},
	{"elasticloadbalancing:RegisterTargets tg", true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().RegisterTargets(ctx, &awselb.RegisterTargetsInput{TargetGroupArn: ptr("tg"),
			Targets: []elbtypes.TargetDescription{}}))
	}},
	{"elasticloadbalancing:DeregisterTargets tg", true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().DeregisterTargets(ctx, &awselb.DeregisterTargetsInput{TargetGroupArn: ptr("tg"),
			Targets: []elbtypes.TargetDescription{}}))
	}},
	{"elasticloadbalancing:ModifyTargetGroupAttributes tg", true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().ModifyTargetGroupAttributes(ctx,
			&awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: ptr("tg"),
				Attributes: []elbtypes.TargetGroupAttribute{}}))
	}},
	{"elasticloadbalancing:AddTags a,b", true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().AddTags(ctx, &awselb.AddTagsInput{ResourceArns: []string{"a", "b"},
			Tags: []elbtypes.Tag{}}))
	}},
	{"elasticloadbalancing:RemoveTags a", true, func(ctx context.Context, w *world) error {
		return sent(w.ELB().RemoveTags(ctx, &awselb.RemoveTagsInput{ResourceArns: []string{"a"},
			TagKeys: []string{"k"}}))
	}},
	{"servicediscovery:RegisterInstance srv-1/i-1", true, func(ctx context.Context, w *world) error {
		return sent(w.CloudMap().RegisterInstance(ctx, &awssd.RegisterInstanceInput{ServiceId: ptr("srv-1"),
			InstanceId: ptr("i-1"), CreatorRequestId: ptr("t"), Attributes: map[string]string{}}))
	}},
	{"servicediscovery:DeregisterInstance srv-1/i-1", true, func(ctx context.Context, w *world) error {
		return sent(w.CloudMap().DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: ptr("srv-1"),
			InstanceId: ptr("i-1")}))
	}},
	{"servicediscovery:UpdateInstanceCustomHealthStatus srv-1/i-1", true, func(ctx context.Context, w *world) error {
		return sent(w.CloudMap().UpdateInstanceCustomHealthStatus(ctx,
			&awssd.UpdateInstanceCustomHealthStatusInput{ServiceId: ptr("srv-1"), InstanceId: ptr("i-1"),
				Status: "HEALTHY"}))
	}},
	{"application-autoscaling:RegisterScalableTarget service/prod/web", true,
		func(ctx context.Context, w *world) error {
			return sent(w.Scaling().RegisterScalableTarget(ctx, &applicationautoscaling.RegisterScalableTargetInput{
				ResourceId:        ptr("service/prod/web"),
				ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
				ServiceNamespace:  aastypes.ServiceNamespaceEcs,
			}))
		}},
	{"codedeploy:CreateDeployment shop/web", false, func(ctx context.Context, w *world) error {
		return sent(w.CodeDeploy().CreateDeployment(ctx, &awscd.CreateDeploymentInput{ApplicationName: ptr("shop"),
			DeploymentGroupName: ptr("web")}))
	}},
	{"codedeploy:StopDeployment d-ABCDEFGHI", true, func(ctx context.Context, w *world) error {
		return sent(w.CodeDeploy().StopDeployment(ctx, &awscd.StopDeploymentInput{DeploymentId: ptr("d-ABCDEFGHI")}))
	}},
	{"codedeploy:ContinueDeployment d-ABCDEFGHI", false, func(ctx context.Context, w *world) error {
		return sent(w.CodeDeploy().ContinueDeployment(ctx,
			&awscd.ContinueDeploymentInput{DeploymentId: ptr("d-ABCDEFGHI")}))
	}},
	{"ecs:DeleteTaskDefinitions web:7,web:8", true, func(ctx context.Context, w *world) error {
		return sent(w.ECS().DeleteTaskDefinitions(ctx, &awsecs.DeleteTaskDefinitionsInput{TaskDefinitions: []string{
			"arn:aws:ecs:us-east-1:123456789012:task-definition/web:7", "web:8"}}))
	}},
	{"ecs:ExecuteCommand prod/abc", false, func(ctx context.Context, w *world) error {
		return sent(w.ECS().ExecuteCommand(ctx, &awsecs.ExecuteCommandInput{Cluster: ptr("prod"), Task: ptr("abc"),
			Command: ptr("sh"), Interactive: true}))
	}},
}

// cutBody is an answer that breaks off.
type cutBody struct{}

func (cutBody) Read([]byte) (int, error) { return 0, errors.New("use of closed network connection") }

var errUntrusted = &tls.CertificateVerificationError{
	UnverifiedCertificates: []*x509.Certificate{{Issuer: pkix.Name{CommonName: "Corp Root CA"}}},
	Err:                    x509.UnknownAuthorityError{}}

// failure is one way in which an attempt ends.
type failure struct {
	name     string
	answer   func(op string, n int, r *http.Request) (*http.Response, error)
	attempts int  // for what may be repeated
	unclear  bool // the effect is unknown
	kind     sluice.Kind
}

var failures = []failure{
	{"throttled", alwaysRepeat(throttle), 8, false, sluice.Throttled},
	{"throttled by query code", alwaysRepeat(func(op string) *http.Response {
		return bad(op, 400, "Throttling",
			"Rate exceeded")
	}), 8, false, sluice.Throttled},
	{"429", alwaysRepeat(func(op string) *http.Response { return bad(op, 429, "Weird", "slow") }), 8, false,
		sluice.Throttled},
	{"500", alwaysRepeat(classBroken), 6, true, sluice.Unreachable},
	{"503", alwaysRepeat(func(op string) *http.Response { return bad(op, 503, "ServiceUnavailable", "x") }), 6, true,
		sluice.Unreachable},
	{"502 of a proxy", alwaysRepeat(func(string) *http.Response { return reply(502, "<html>bad gateway") }), 6, true,
		sluice.Unreachable},
	{"reset", func(string, int, *http.Request) (*http.Response, error) {
		return nil, errors.New("connection reset by peer")
	}, 6, true, sluice.Unreachable},
	{"cut", func(string, int, *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 6, true,
		sluice.Unreachable},
	{"garbled", alwaysRepeat(func(string) *http.Response { return reply(200, `{"taskSet": [<`) }), 6, true,
		sluice.Unreachable},
	{"refused connection", func(string, int, *http.Request) (*http.Response, error) { return nil, errDial }, 4, false,
		sluice.Unreachable},
	{"redirected", alwaysRepeat(func(string) *http.Response {
		return reply(302, "", "Location",
			"http://portal.test/login")
	}), 6, true, sluice.Unreachable},
	{"a refusal that cannot be read", alwaysRepeat(func(string) *http.Response {
		r := reply(400, "")
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), cutBody{}))
		return r
	}), 6, true, sluice.Unreachable},
	{"a page that refuses", alwaysRepeat(func(string) *http.Response { return reply(404, "<html>nginx") }), 6, true,
		sluice.Unreachable},
	{"untrusted certificate", func(string, int, *http.Request) (*http.Response, error) { return nil, errUntrusted }, 4,
		false, sluice.Unreachable},
	{"refused", alwaysRepeat(func(op string) *http.Response { return bad(op, 400, "InvalidParameterException", "no") }),
		1, false, ""},
	{"quota", alwaysRepeat(func(op string) *http.Response { return bad(op, 400, "LimitExceededException", "no") }), 1,
		false, ""},
}

// The whole policy: what has no effect is repeated for every write, what may
// have had one only where twice is once.
func TestEveryWriteUnderEveryFailure(t *testing.T) {
	for _, f := range failures {
		for i, x := range writeTable {
			t.Run(fmt.Sprintf("%s/%d %s", f.name, i, x.plan), func(t *testing.T) {
				if f.name == "garbled" && !strings.HasPrefix(x.plan, "ecs:Create") {
					t.Skip("an output without members reads nothing")
				}
				inside(t, &wire{answer: f.answer}, nil, func(ctx context.Context, w *world) {
					err := x.do(may(ctx, x.plan), w)
					want := f.attempts
					if f.unclear && !x.repeat {
						want = 1
					}
					equal(t, "attempts", len(w.calls), want)
					equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), f.unclear)
					equal(t, "kind", orNone(sluice.KindOf(err)), orNone(f.kind))
					equal(t, "op", told(t, err).Op+" "+told(t, err).Resource, x.plan)
				})
			})
		}
	}
}

func TestReadsAreRepeatedAndNeverUnanswered(t *testing.T) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			inside(t, &wire{answer: f.answer}, nil, func(ctx context.Context, w *world) {
				err := describe(ctx, w)
				if f.name == "garbled" && err == nil {
					t.Skip("read as empty")
				}
				equal(t, "attempts", len(w.calls), f.attempts)
				equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), false)
				equal(t, "resource", told(t, err).Resource, "prod/web")
			})
		})
	}
}

func TestWaitsBetweenAttempts(t *testing.T) {
	for _, c := range []struct {
		name string
		res  func(string) *http.Response
		draw func() float64
		want string
	}{
		{"throttled", throttle, nil, "0s 1s 3s 7s 15s 31s 51s 1m11s"},
		{"broken", classBroken, nil, "0s 200ms 600ms 1.4s 3s 6.2s"},
		{"jitter", throttle, func() float64 { return 0.5 }, "0s 500ms 1.5s 3.5s 7.5s 15.5s 25.5s 35.5s"},
		{"Retry-After", func(op string) *http.Response {
			return bad(op, 500, "ServerException", "", "Retry-After",
				"7")
		}, nil, "0s 7s 14s 21s 28s 35s"},
		{"in milliseconds", func(op string) *http.Response {
			return bad(op, 500, "ServerException", "",
				"X-Amz-Retry-After", "900")
		}, nil, "0s 900ms 1.8s 2.7s 4.3s 7.5s"},
		{"Retry-After out of reason", func(op string) *http.Response {
			return bad(op, 500, "ServerException", "",
				"Retry-After", "86400")
		}, nil, "0s 1m0s 2m0s 3m0s 4m0s 5m0s"},
		{"Retry-After as a date", func(op string) *http.Response {
			return bad(op, 500, "ServerException", "", "Retry-After", "Wed, 01 May 2030 12:00:59 GMT")
		}, nil, "0s 200ms 600ms 1.4s 3s 6.2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inside(t, &wire{answer: alwaysRepeat(c.res)}, func(o *account.Config) { o.Jitter = c.draw },
				func(ctx context.Context, w *world) {
					_ = describe(ctx, w)
					var at []string
					for i, call := range w.calls {
						at = append(at, call.At.Sub(start).String())
						equal(t, "attempt", call.Attempt, i+1)
					}
					equal(t, "sent at", strings.Join(at, " "), c.want)
				})
		})
	}
}

func TestOneSuccessEndsIt(t *testing.T) {
	inside(t, &wire{answer: first(3, classBroken)}, nil, func(ctx context.Context, w *world) {
		if err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t"); err != nil {
			t.Error(err)
		}
		equal(t, "sent", w.seen("CreateTaskSet"), 4)
		equal(t, "waited", w.calls[3].Waited, 800*time.Millisecond)
	})
}

// silent never answers before the attempt's time limit.
func silent(w *world) func(string, int, *http.Request) (*http.Response, error) {
	return func(_ string, _ int, r *http.Request) (*http.Response, error) {
		return nil, w.clock.Sleep(r.Context(), time.Hour)
	}
}

func TestAttemptsEndAfterTwentySeconds(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		w.answer = silent(w)
		err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
		equal(t, "attempts", len(w.calls), 6)
		equal(t, "took", w.calls[0].Took, 20*time.Second)
		equal(t, "text", told(t, err).Error(),
			"ecs:CreateTaskSet (prod/web): no response within 20s, at attempt 6; no response: the call may have taken "+
				"effect")
		equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), true)
	})
}

// A network is no faster on a scaled clock: an answer after ten seconds of the machine's time is in
// time at every speed, and the limit is twenty seconds of the machine's time.
func TestAttemptsEndByTheMachinesTimeOnAScaledClock(t *testing.T) {
	for _, speed := range []float64{1, 20, 40, 100} {
		for delay, want := range map[time.Duration]error{10 * time.Second: nil, time.Hour: sluice.ErrUnanswered} {
			synctest.Test(t, func(t *testing.T) {
				var took time.Duration
				slow := func(_ string, _ int, r *http.Request) (*http.Response, error) {
					began := time.Now()
					err := clock.Real().Sleep(r.Context(), delay)
					took = time.Since(began)
					return nil, err
				}
				a, err := account.Open(context.Background(), account.Config{Region: "us-east-1", Clock: clock.Scaled(speed),
					Credentials: credentials.NewStaticCredentialsProvider("AKID", "s3cr3t", ""), HTTPClient: &wire{answer: slow}})
				if err != nil {
					t.Fatal(err)
				}
				_, err = a.ECS().DeleteService(may(context.Background(), "ecs:DeleteService prod/web"),
					&awsecs.DeleteServiceInput{Cluster: ptr("prod"), Service: ptr("web")})
				if !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Errorf("speed %v, an answer after %s: error %v, want %v", speed, delay, err, want)
				}
				if limit := min(delay, 20*time.Second); took != limit {
					t.Errorf("speed %v, an answer after %s: the attempt took %s, want %s", speed, delay, took, limit)
				}
			})
		}
	}
}

var errStop = errors.New("stopped by Ctrl-C")

func TestCancelInFlight(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		w.answer = silent(w)
		ctx, cancel := context.WithCancelCause(ctx)
		w.clock.Go(func() { _ = w.clock.Sleep(context.Background(), 5*time.Second); cancel(errStop) })
		err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
		equal(t, "attempts", len(w.calls), 1)
		equal(t, "ended after", w.clock.Now().Sub(start), 5*time.Second)
		equal(t, "text", told(t, err).Error(),
			"ecs:CreateTaskSet (prod/web): stopped before AWS responded: stopped by Ctrl-C; no response: the call may "+
				"have taken effect")
		for _, want := range []error{errStop, context.Canceled, sluice.ErrUnanswered} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not in %v", want, err)
			}
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	inside(t, &wire{answer: alwaysRepeat(throttle)}, nil, func(ctx context.Context, w *world) {
		ctx, cancel := context.WithCancelCause(ctx)
		w.clock.Go(func() { _ = w.clock.Sleep(context.Background(), 1500*time.Millisecond); cancel(errStop) })
		err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
		equal(t, "attempts", len(w.calls), 2)
		equal(t, "ended after", w.clock.Now().Sub(start), 1500*time.Millisecond)
		equal(t, "text", told(t, err).Error(), "ecs:CreateTaskSet (prod/web): stopped by Ctrl-C")
		equal(t, "cause", errors.Is(err, errStop) && errors.Is(err, context.Canceled), true)
		equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), false)
	})
}

func TestCancelledBeforeIsNotSent(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		err := describe(ctx, w)
		equal(t, "cause", errors.Is(err, context.Canceled), true)
		equal(t, "sent", w.ops(), "")
		told(t, err)
	})
}

// A delete whose first reply was lost meets its own success; the hand must be
// able to see that.
func TestRefusalAfterALostReplyReportsBoth(t *testing.T) {
	answer := func(op string, n int, _ *http.Request) (*http.Response, error) {
		if n == 1 {
			return nil, io.ErrUnexpectedEOF
		}
		return bad(op, 400, "TaskSetNotFoundException", "The specified task set does not exist."), nil
	}
	inside(t, &wire{answer: answer}, nil, func(ctx context.Context, w *world) {
		_, err := w.ECS().DeleteTaskSet(may(ctx, "ecs:DeleteTaskSet ecs-svc/1"),
			&awsecs.DeleteTaskSetInput{Cluster: ptr("prod"), Service: ptr("web"), TaskSet: ptr("ecs-svc/1")})
		equal(t, "kind", sluice.KindOf(err), sluice.NotFound)
		equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), true)
		var typed *ecstypes.TaskSetNotFoundException
		equal(t, "typed", errors.As(err, &typed), true)
	})
}
