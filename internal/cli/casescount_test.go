package cli

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Application Auto Scaling sets the count of a service within its bounds: the count of the file is no change, and the
// plan says so. --tasks sets the count. Outside of the bounds the file's count is a change.
func TestPlanKeepsTheCountOfAutoScaling(t *testing.T) {
	noMachine(t)
	const name = "13-count-of-auto-scaling"
	const note = "Application Auto Scaling sets the number of tasks (2 to 20, 10 now): desiredCount 2 of the file is not written"
	sameImage := caseEdit{"taskdef.json", "sim/web:v2", "sim/web:v1"}
	playCase(t, name, nil, func(b *caseBench) {
		b.expect("plan", 0, note, "!~ desiredCount")
		b.expect("deploy", 0, "succeeded")
		if n := b.describeWeb().DesiredCount; n != 10 {
			t.Errorf("%d tasks after the deployment", n)
		}
		b.expect("plan", 0, "No changes.")
		b.expect("diff", 0, "!desiredCount:")
		b.expect("plan --tasks 3", 0, "desiredCount: 10 -> 3", "!"+note)
	})
	playCase(t, name, []caseEdit{sameImage}, func(b *caseBench) {
		_, err := awsecs.NewFromConfig(b.sim.Config()).UpdateService(context.Background(), &awsecs.UpdateServiceInput{
			Cluster: aws.String("prod"), Service: aws.String("web"), DesiredCount: aws.Int32(25)})
		fail(t, err)
		b.expect("plan", 0, "desiredCount: 25 -> 2", "!is not written")
	})
}
