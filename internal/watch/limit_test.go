package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// slowGroup gives the bench's target group AWS's own drain and health checks, or slower ones.
func (b *bench) slowGroup(drain string, interval int32) {
	ctx := context.Background()
	got(b.elb.ModifyTargetGroup(ctx, &awselb.ModifyTargetGroupInput{TargetGroupArn: &b.group,
		HealthCheckIntervalSeconds: &interval, HealthyThresholdCount: aws.Int32(5)}))(b)
	got(b.elb.ModifyTargetGroupAttributes(ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &b.group,
		Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
			Value: &drain}}}))(b)
}

// A wait without a limit of its caller is long enough for the service: for AWS's default drain, and for one of 15
// minutes, which takes more than the least limit. A version that does not start still ends the wait.
func TestDefaultLimitFollowsFromTheService(t *testing.T) {
	follows := verdict.Wanted{DefaultTimeout: true}
	for _, drain := range []string{"300", "900"} {
		on(t, options{}, func(b *bench) {
			b.balance()
			b.slowGroup(drain, 30)
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: true, rollback: true})
			b.deploy("web", b.revision("sim/web:v2"))
			b.ends(b.wait("web", follows), sluice.Succeeded, "", "")
		})
	}
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		b.deploy("web", b.revision("sim/web:v2?start-delay=10h"))
		began := b.clock.Now()
		b.ends(b.wait("web", follows), sluice.TimedOut, "", diagnosis.SlowStart)
		if d := b.clock.Now().Sub(began); d < 10*time.Minute || d > 30*time.Minute {
			t.Errorf("the wait took %s", d)
		}
	})
}

// The reason of a wait that ends while the former tasks drain is the drain, and when it ends.
func TestDrainIsNamedAtTheLimit(t *testing.T) {
	for _, breaker := range []bool{false, true} {
		on(t, options{}, func(b *bench) {
			b.balance()
			b.slowGroup("900", 5)
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: breaker, rollback: breaker})
			b.deploy("web", b.revision("sim/web:v2"))
			v := b.wait("web", verdict.Wanted{Timeout: 5 * time.Minute})
			b.ends(v, sluice.TimedOut, "", diagnosis.Draining)
			if !strings.Contains(v.Detail, "all 4 tasks run; the former tasks drain until ") ||
				strings.Contains(v.Next, "start faster") {
				t.Errorf("%s\n%s", v.Detail, v.Next)
			}
			_, until, _ := strings.Cut(v.Detail, "drain until ")
			end, err := time.Parse("2006-01-02 15:04:05Z", until[:20])
			must(t, err)
			b.until("the deployment ends", func() bool { return len(b.service("web").Deployments) == 1 })
			if d := b.clock.Now().Sub(end); d < -30*time.Second || d > time.Minute {
				t.Errorf("it ended %s after the time that was said", d)
			}
		})
	}
}

// An ARN of a service deployment names its cluster and its service.
func TestDeploymentARNNeedsNoService(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		seen, err := b.watch.Wait(context.Background(), watch.Target{Wanted: verdict.Wanted{Timeout: time.Minute,
			Deployment: *b.service("web").CurrentServiceDeployment}}, nil)
		must(t, err)
		b.ends(seen.Verdict, sluice.Succeeded, "", "")
	})
}

// Texts about deployments of one revision say what is meant.
func TestDeploymentsOfOneRevision(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		older := *b.service("web").CurrentServiceDeployment
		b.deploy("web", "")
		b.sleep(20 * time.Second)
		v := b.wait("web", verdict.Wanted{Timeout: time.Minute, Deployment: older})
		if v.Outcome != sluice.Succeeded || strings.Contains(v.Detail, "0 of 0") {
			t.Error(v.Detail)
		}
		running := *b.service("web").CurrentServiceDeployment
		b.deploy("web", "")
		b.sleep(20 * time.Second)
		v = b.wait("web", verdict.Wanted{Timeout: 10 * time.Minute, Deployment: running})
		if v.Outcome != sluice.Superseded || !strings.Contains(v.Detail,
			"web:1 was superseded by a newer deployment of the same revision") {
			t.Error(v.Detail)
		}
	})
}
