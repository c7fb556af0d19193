package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// checking has the health check of the target group fail a target after so many checks, every interval.
func (b *bench) checking(interval time.Duration, failures int32) {
	got(b.elb.ModifyTargetGroup(context.Background(), &awselb.ModifyTargetGroupInput{TargetGroupArn: aws.String(b.group),
		HealthCheckIntervalSeconds: aws.Int32(int32(interval.Seconds())), UnhealthyThresholdCount: aws.Int32(failures)}))(b)
}

// checkedRevision registers a revision of web whose container has a health check.
func (b *bench) checkedRevision(image string, check *ecstypes.HealthCheck) string {
	td := got(b.ecs.RegisterTaskDefinition(context.Background(), &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc, Cpu: aws.String("256"), Memory: aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image),
			Essential: aws.Bool(true), HealthCheck: check, PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}}},
		}}))(b)
	return fmt.Sprintf("web:%d", td.TaskDefinition.Revision)
}

// A task was killed, and the next one answers errors from its 45th second on, which a slow health check notices minutes
// later: the time for which tasks must be stable includes the time that the checks take. A version that keeps answering
// is a success after that time, and not later.
func TestChecksThatNoticeFailuresLate(t *testing.T) {
	every := &ecstypes.HealthCheck{Command: []string{"CMD", "true"}, Interval: aws.Int32(30)}
	for _, c := range []struct {
		name     string
		balanced bool
		interval time.Duration // of the target group
		failures int32
		check    *ecstypes.HealthCheck // of the container
		notice   time.Duration         // for how long a failure is not noticed
	}{
		{"target group", true, 30 * time.Second, 4, nil, 122 * time.Second},
		{"target group with quick checks", true, 5 * time.Second, 2, nil, 12 * time.Second},
		{"container with AWS's defaults", false, 0, 0, every, 95 * time.Second},
		{"the slower of two checks", true, 30 * time.Second, 2, &ecstypes.HealthCheck{Command: []string{"CMD", "true"},
			Interval: aws.Int32(30), Retries: aws.Int32(4), Timeout: aws.Int32(20)}, 140 * time.Second},
		{"no check", false, 0, 0, nil, 0},
	} {
		for image, want := range map[string]sluice.Outcome{
			"sim/web:v2?unhealthy-after=45s": sluice.Failed, "sim/web:v2": sluice.Succeeded} {
			if want == sluice.Failed && c.notice == 0 {
				continue // nothing can notice it
			}
			t.Run(c.name+" "+string(want), func(t *testing.T) {
				on(t, options{}, func(b *bench) {
					if c.balanced {
						b.balance()
						b.checking(c.interval, c.failures)
					}
					b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1, breaker: true, rollback: true})
					b.deploy("web", b.checkedRevision(image, c.check))
					var died time.Time
					b.clock.Go(func() {
						b.until("only the new task runs", func() bool { return b.isAlone(1) })
						must(b, b.sim.Inject("task-crash web count=1 exit=137"))
						died = b.clock.Now()
					})
					v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
					if v.Outcome != want {
						t.Errorf("%s: %s\n%s", v.Outcome, v.Detail, b.story())
					}
					if want == sluice.Failed {
						return
					}
					_, text, _ := strings.Cut(b.story(), "1 task stopped by itself: success needs ")
					text, _, _ = strings.Cut(text, " ")
					// Twice the life of the dead task, which lived for less than 65 s, and a minute or more for the next to start.
					added, d := got(time.ParseDuration(text))(b)-c.notice, b.clock.Now().Sub(died)
					if added < time.Minute || added > 130*time.Second || d < added+c.notice || d > added+c.notice+90*time.Second {
						t.Errorf("succeeded %s after the death, the checks take %s\n%s", d, c.notice, b.story())
					}
				})
			})
		}
	}
}

// The same rule holds for a deployment with CodeDeploy, which does not watch tasks that were healthy once.
func TestCodeDeployChecksThatNoticeFailuresLate(t *testing.T) {
	for image, want := range map[string]sluice.Outcome{
		"sim/web:v2?unhealthy-after=100s": sluice.Failed, "sim/web:v2": sluice.Succeeded} {
		t.Run(string(want), func(t *testing.T) {
			onCode(t, codeOptions{seed: 3}, func(b *codeBench) {
				b.elb = awselb.NewFromConfig(b.sim.Config())
				for _, g := range got(b.elb.DescribeTargetGroups(context.Background(), nil))(b).TargetGroups {
					b.group = *g.TargetGroupArn
					b.checking(30*time.Second, 5)
				}
				id := b.bring(image, "")
				var died time.Time
				b.clock.Go(func() {
					b.until("the new tasks serve", func() bool {
						return strings.HasSuffix(aws.ToString(b.service("web").TaskDefinition), "web:2")
					})
					must(b, b.sim.Inject("task-crash web revision=2 exit=137"))
					died = b.clock.Now()
				})
				v := b.follow(verdict.Wanted{Deployment: id, Revision: "web:2", JustCreated: true})
				least := time.Minute + 152*time.Second
				if d := b.clock.Now().Sub(died); v.Outcome != want || want == sluice.Succeeded && (d < least || d > least+4*time.Minute ||
					v.Counts.Running != 3 || !strings.Contains(v.Detail, "3 of 3 running")) {
					t.Errorf("%s %s after the death: %s\n%s", v.Outcome, d, v.Detail, strings.Join(b.seen, "\n"))
				}
			})
		})
	}
}
