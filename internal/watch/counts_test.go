package watch_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// ECS makes no deployment for a changed desired count: the last one stays completed while tasks are missing. That is no
// success before all of them run and are healthy.
func TestScaleOutIsWaitedFor(t *testing.T) {
	for _, balanced := range []bool{false, true} {
		on(t, options{}, func(b *bench) {
			if balanced {
				b.balance()
			}
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true})
			b.scale("web", 6)
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			b.ends(v, sluice.Succeeded, "", "")
			if n := b.service("web").RunningCount; n != 6 || v.Counts.Running != 6 || balanced && b.healthy() != 6 {
				t.Errorf("balanced %t: %d run: %s\n%s", balanced, n, v.Detail, b.story())
			}
		})
	}
}

// Without capacity the verdict names AWS's reason.
func TestScaleOutWithoutCapacityIsNoSuccess(t *testing.T) {
	for name, want := range map[string]verdict.Wanted{
		"limit": {Timeout: 3 * time.Minute}, "no progress": {Timeout: time.Hour, Deadline: 5 * time.Minute},
		"by revision": {Timeout: 3 * time.Minute, Revision: "web:1"}} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: true})
				must(b, b.sim.Inject("no-capacity prod"))
				b.scale("web", 8)
				v := b.wait("web", want)
				outcome := sluice.TimedOut
				if want.Deadline > 0 {
					outcome = sluice.Stalled
				}
				b.ends(v, outcome, "", diagnosis.NoCapacity)
				t.Log(v.Detail, v.Next)
			})
		})
	}
}

// scale sets the desired count of a service.
func (b *bench) scale(name string, n int32) {
	got(b.ecs.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String(name), DesiredCount: &n}))(b)
}

// healthy counts the healthy targets of the bench's group.
func (b *bench) healthy() (n int) {
	for _, t := range got(b.elb.DescribeTargetHealth(context.Background(),
		&awselb.DescribeTargetHealthInput{TargetGroupArn: &b.group}))(b).TargetHealthDescriptions {
		if t.TargetHealth.State == elbtypes.TargetHealthStateEnumHealthy {
			n++
		}
	}
	return n
}
