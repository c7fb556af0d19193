package watch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// The wait of providers and `sluice wait` follow the same deployments, each with reads of its own. Both have the same
// outcome, and the providers know it as soon after AWS's end.
func TestJudgeKnowsTheEndWhenWaitDoes(t *testing.T) {
	var ofJudge, ofWait []time.Duration
	for seed := range 40 {
		on(t, options{seed: uint64(seed)}, func(b *bench) {
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			image, want := "sim/web:v2", sluice.Succeeded
			if seed%2 == 1 {
				image, want = crash, sluice.RolledBack
			}
			b.deploy("web", b.revision(image))
			var judged, waited time.Time
			var deployment string
			clock.All(b.clock, func() {
				j, _ := b.judge()
				got, err := j.Wait(context.Background(), request("web:2"))
				judged, deployment = b.clock.Now(), got.Deployment
				if err != nil || got.Outcome != want {
					b.Errorf("seed %d: %+v %v", seed, got, err)
				}
			}, func() {
				if v := b.wait("web", verdict.Wanted{Revision: "web:2", Timeout: time.Hour}); v.Outcome != want {
					b.Errorf("seed %d: %s", seed, v.Detail)
				}
				waited = b.clock.Now()
			})
			out := got(b.ecs.DescribeServiceDeployments(context.Background(),
				&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{deployment}}))(b)
			end := aws.ToTime(out.ServiceDeployments[0].FinishedAt)
			ofJudge, ofWait = append(ofJudge, judged.Sub(end)), append(ofWait, waited.Sub(end))
		})
	}
	slices.Sort(ofJudge)
	slices.Sort(ofWait)
	judge, wait := ofJudge[len(ofJudge)/2], ofWait[len(ofWait)/2]
	t.Logf("median: judge %s, wait %s", judge, wait)
	if judge > wait*3/2 {
		t.Errorf("judge %s, wait %s", judge, wait)
	}
}
