package pulumi_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
)

// The provider and `sluice wait` follow the same deployments, successes and rollbacks in turn, each on its own. Both
// have the same outcome. The log has how long after AWS's end each verdict came, in AWS's time.
func TestVerdictLagIsThatOfWait(t *testing.T) {
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	var ofProvider, ofWait []time.Duration
	for i := range 6 {
		image, want := "sim/web:v2", "succeeded"
		if i%2 == 1 {
			image, want = crash, "rolled back"
		}
		arn := r.revision(image)
		deployment := r.deploy(arn)
		provider, wait := make(chan time.Time), make(chan time.Time)
		go func() {
			r.create(inputs(t, arn, nil), 0).expect(t, want)
			provider <- r.clock.Now()
		}()
		go func() {
			if got := r.judge(arn); got.Outcome != sluice.Outcome(want) {
				t.Errorf("%+v", got)
			}
			wait <- r.clock.Now()
		}()
		knownToProvider, knownToWait := <-provider, <-wait
		out := got(r.ecs.DescribeServiceDeployments(context.Background(),
			&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{deployment}}))(t)
		end := aws.ToTime(out.ServiceDeployments[0].FinishedAt)
		ofProvider, ofWait = append(ofProvider, knownToProvider.Sub(end)), append(ofWait, knownToWait.Sub(end))
	}
	slices.Sort(ofProvider)
	slices.Sort(ofWait)
	t.Logf("median lag: provider %s, wait %s", ofProvider[3].Round(time.Millisecond), ofWait[3].Round(time.Millisecond))
}
