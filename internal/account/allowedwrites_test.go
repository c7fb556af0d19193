package account_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

func createTaskSet(ctx context.Context, w *world, token string) error {
	in := &awsecs.CreateTaskSetInput{Cluster: ptr("arn:aws:ecs:us-east-1:123456789012:cluster/prod"),
		Service: ptr("web"), TaskDefinition: ptr("web:2")}
	if token != "" {
		in.ClientToken = ptr(token)
	}
	_, err := w.ECS().CreateTaskSet(ctx, in)
	return err
}

func describe(ctx context.Context, w *world) error {
	_, err := w.ECS().DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: ptr("prod"),
		Services: []string{"web"}})
	return err
}

func TestReadsNeedNoPermit(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		if err := describe(ctx, w); err != nil {
			t.Error(err)
		}
		if _, err := w.ELB().DescribeRules(ctx, &awselb.DescribeRulesInput{}); err != nil {
			t.Error(err)
		}
	})
}

func TestUnplannedWritesAreNeverSent(t *testing.T) {
	for name, permit := range map[string]func(context.Context) context.Context{
		"no action":       func(ctx context.Context) context.Context { return ctx },
		"empty action":    func(ctx context.Context) context.Context { return may(ctx) },
		"other operation": func(ctx context.Context) context.Context { return may(ctx, "ecs:UpdateService prod/web") },
		"other resource":  func(ctx context.Context) context.Context { return may(ctx, "ecs:CreateTaskSet prod/web2") },
		"no wildcard": func(ctx context.Context) context.Context {
			return may(ctx, "ecs:CreateTaskSet *", "* *", "ecs:* prod/web")
		},
		"inner replaces": func(ctx context.Context) context.Context {
			return may(may(ctx,
				"ecs:CreateTaskSet prod/web"))
		},
		"other service's": func(ctx context.Context) context.Context {
			return may(ctx,
				"servicediscovery:CreateTaskSet prod/web")
		},
		"bare operation": func(ctx context.Context) context.Context { return may(ctx, "CreateTaskSet prod/web") },
		"ARN in the plan": func(ctx context.Context) context.Context {
			return may(ctx, "ecs:CreateTaskSet arn:aws:ecs:service/prod/web")
		},
		"default cluster": func(ctx context.Context) context.Context {
			return may(ctx,
				"ecs:CreateTaskSet default/web")
		},
		"resource missing": func(ctx context.Context) context.Context { return may(ctx, "ecs:CreateTaskSet") },
	} {
		t.Run(name, func(t *testing.T) {
			inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
				err := createTaskSet(permit(ctx), w, "t")
				if !errors.Is(err, account.ErrNotPlanned) {
					t.Errorf("got %v", err)
				}
				equal(t, "resource", told(t, err).Resource, "prod/web")
				equal(t, "sent", w.ops(), "")
				equal(t, "attempts", len(w.calls), 0)
			})
		})
	}
}

func TestPlannedWriteIsSent(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		ctx = may(ctx, "ecs:UpdateService prod/web", "ecs:CreateTaskSet prod/web")
		if err := createTaskSet(ctx, w, "t"); err != nil {
			t.Fatal(err)
		}
		got := w.calls[0]
		equal(t, "sent", w.ops(), "CreateTaskSet")
		equal(t, "call", got.Service+":"+got.Operation+" "+got.Resource+" "+string(got.Action),
			"ecs:CreateTaskSet prod/web d/1-canary/create")
		equal(t, "write", got.Write, true)
	})
}

func TestWriteWithoutRowIsRefusedEvenIfListed(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		_, err := w.ECS().CreateCluster(may(ctx, "ecs:CreateCluster prod", "ecs:CreateCluster "),
			&awsecs.CreateClusterInput{ClusterName: ptr("prod")})
		if !errors.Is(err, account.ErrNotPlanned) {
			t.Error(err)
		}
		equal(t, "sent", w.ops(), "")
	})
}

func TestPermitKeepsItsOwnList(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		writes := []sluice.Write{{Operation: "ecs:UpdateService", Resource: "prod/web"}}
		ctx = account.Permit(ctx, account.Action{ID: "a/b/c", Writes: writes})
		writes[0] = sluice.Write{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}
		if err := createTaskSet(ctx, w, "t"); !errors.Is(err, account.ErrNotPlanned) {
			t.Error(err)
		}
	})
}

func TestIsWrite(t *testing.T) {
	for _, op := range []string{
		"ecs:DescribeServices", "DescribeServices", "ecs:ListTasks", "ecs:GetTaskProtection",
		"servicediscovery:DiscoverInstances",
		"codedeploy:BatchGetDeployments", "cloudtrail:LookupEvents", "sts:GetCallerIdentity", "sts:AssumeRole",
		"sts:AssumeRoleWithWebIdentity", "x:CheckDomain",
	} {
		if account.IsWrite(op) {
			t.Errorf("%s is a read", op)
		}
	}
	for _, op := range []string{
		"ecs:CreateTaskSet", "UpdateService", "ecs:AssumeRole", "AssumeRole", "ecs:Checkout", "ecs:Listen",
		"ecs:Getaway", "ecs:PutAttributes", "ecs:describeServices", "", "ecs:",
	} {
		if !account.IsWrite(op) {
			t.Errorf("%s is a write", op)
		}
	}
}

func TestClaimIsAskedBeforeEveryAttempt(t *testing.T) {
	inside(t, &wire{answer: first(2, throttle)}, nil, func(ctx context.Context, w *world) {
		var asked []time.Duration
		ctx = account.Permit(ctx, account.Action{
			ID: "d/s/a", Writes: []sluice.Write{{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}},
			CheckClaim: func(now time.Time) error { asked = append(asked, now.Sub(start)); return nil },
		})
		if err := createTaskSet(ctx, w, "t"); err != nil {
			t.Fatal(err)
		}
		if len(asked) != 3 || asked[0] != 0 || asked[1] != time.Second || asked[2] != 3*time.Second {
			t.Errorf("asked at %v", asked)
		}
		if err := describe(ctx, w); err != nil || len(asked) != 3 {
			t.Errorf("a read asked for the claim: %v, %v", asked, err)
		}
	})
}

func TestLostClaimStopsTheWriteUnsent(t *testing.T) {
	gone := errors.New("claim of d not seen since 12:00:00")
	inside(t, &wire{answer: first(1, classBroken)}, nil, func(ctx context.Context, w *world) {
		ctx = account.Permit(ctx, account.Action{
			ID: "d/s/a", Writes: []sluice.Write{{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}},
			CheckClaim: func(now time.Time) error {
				if now.After(start) {
					return gone
				}
				return nil
			},
		})
		err := createTaskSet(ctx, w, "t")
		equal(t, "sent", w.ops(), "CreateTaskSet")
		equal(t, "kind", sluice.KindOf(err), sluice.LostClaim)
		equal(t, "text", told(t, err).Error(),
			"ecs:CreateTaskSet (prod/web): claim of d not seen since 12:00:00; no response: the call may have taken "+
				"effect")
		if !errors.Is(err, gone) {
			t.Errorf("cause lost: %v", err)
		}
		if !errors.Is(err, sluice.ErrUnanswered) {
			t.Errorf("the first attempt had no answer, the error does not say so: %v", err)
		}
	})
}

// A claim that goes while the write waits for its token stops it too.
func TestClaimIsAskedAgainAfterWaitingForAToken(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		held := true
		ctx = account.Permit(ctx, account.Action{
			ID: "d/s/a", Writes: []sluice.Write{{Operation: "ecs:RegisterTaskDefinition", Resource: "web"}},
			CheckClaim: func(now time.Time) error {
				if held && now.Equal(start) {
					return nil
				}
				return errors.New("gone")
			},
		})
		var err error
		for n := 0; err == nil && n < 100; n++ {
			_, err = w.ECS().RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{Family: ptr("web"),
				ContainerDefinitions: []ecstypes.ContainerDefinition{}})
		}
		equal(t, "kind", sluice.KindOf(err), sluice.LostClaim)
		equal(t, "sent", w.seen("RegisterTaskDefinition"), 10)
		equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), false)
	})
}

func TestNoRandomClientTokens(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		ctx = may(ctx, "ecs:RunTask default/job:3")
		_, err := w.ECS().RunTask(ctx,
			&awsecs.RunTaskInput{TaskDefinition: ptr("arn:aws:ecs:us-east-1:123456789012:task-definition/job:3")})
		if err == nil ||
			!strings.Contains(told(t, err).Error(), "ecs:RunTask (default/job:3): the request has no client token") {
			t.Errorf("got %v", err)
		}
		equal(t, "sent", w.ops(), "")
		if _, err := w.ECS().RunTask(ctx, &awsecs.RunTaskInput{TaskDefinition: ptr("job:3"),
			ClientToken: ptr("t")}); err != nil {
			t.Error(err)
		}
	})
}

func TestInvalidInputIsNamed(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		_, err := w.ECS().UpdateTaskSet(may(ctx, "ecs:UpdateTaskSet ecs-svc/1"),
			&awsecs.UpdateTaskSetInput{TaskSet: ptr("ecs-svc/1")})
		got := told(t, err).Error()
		if !strings.HasPrefix(got, "ecs:UpdateTaskSet (ecs-svc/1): ") ||
			!strings.Contains(got, "UpdateTaskSetInput.Scale") || strings.Contains(got, "\n") {
			t.Errorf("got %q", got)
		}
	})
}

// The SDK prepends "data-" to the host of discovery calls, custom or not.
func TestCustomEndpointKeepsItsHost(t *testing.T) {
	inside(t, &wire{}, func(c *account.Config) { c.EndpointURL = "http://127.0.0.1:4566" },
		func(ctx context.Context, w *world) {
			discover(t, ctx, w)
			equal(t, "host", w.hosts[0], "127.0.0.1:4566")
		})
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		discover(t, ctx, w)
		equal(t, "host", w.hosts[0], "data-servicediscovery.us-east-1.amazonaws.com")
	})
}

func TestCallersMiddlewareRunsInsideEachAttempt(t *testing.T) {
	ran := 0
	change := func(c *account.Config) { c.APIOptions = append(c.APIOptions, counting(&ran)) }
	inside(t, &wire{answer: func(op string, n int, _ *http.Request) (*http.Response,
		error) {
		return first(2, throttle)(op, n, nil)
	}}, change,
		func(ctx context.Context, w *world) {
			if err := describe(ctx, w); err != nil {
				t.Fatal(err)
			}
			equal(t, "ran", ran, 3)
			if err := createTaskSet(ctx, w, "t"); err == nil {
				t.Error("unplanned write passed")
			}
			equal(t, "ran after a refusal", ran, 3)
		})
}
