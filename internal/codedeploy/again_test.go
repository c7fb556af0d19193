package codedeploy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
)

// end stops the deployment from outside and waits until it is over.
func (b *bench) end(id string) {
	b.Helper()
	_, err := awscd.NewFromConfig(b.sim.Config()).StopDeployment(b.ctx,
		&awscd.StopDeploymentInput{DeploymentId: aws.String(id), AutoRollbackEnabled: aws.Bool(false)})
	b.ok(err)
	b.until("the deployment is over", func() bool { return b.status(id) == "Stopped" })
}

// revision is what the deployment brings, as other tools ask for it.
func revision(s codedeploy.StartRequest) *cdtypes.RevisionLocation {
	return &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
		AppSpecContent: &cdtypes.AppSpecContent{Content: aws.String(s.AppSpec.Content),
			Sha256: aws.String(s.AppSpec.SHA256)}}
}

// A deployment whose reply was lost, and that is over before sluice asks again, is not
// created a second time.
func TestADeploymentThatEndedUnheardIsNotMadeAgain(t *testing.T) {
	on(t, 0, func(b *bench) {
		s := b.start("d1/1 ECS_SYNC/create deployment")
		s.NeverTried = true
		b.ok(b.sim.Inject("lost-reply codedeploy:CreateDeployment times=1"))
		made := ""
		act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
			err := b.act(ctx, a, call)
			if made == "" && errors.Is(err, sluice.ErrUnanswered) {
				made = b.deployments()[0]
				b.end(made)
			}
			return err
		}
		id, found, err := b.EnsureDeployment(b.ctx, act, s)
		if all := b.deployments(); err != nil || made == "" || id != made || !found || len(all) != 1 {
			t.Errorf("%q (%t), the first was %q, of %v: %v", id, found, made, all, err)
		}
	})
}

// A deployment of ours that the list does not show yet is not taken for another's.
func TestADeploymentThatIsListedLateIsOfThisAction(t *testing.T) {
	on(t, 0, func(b *bench) {
		s := b.start("d1/1 ECS_SYNC/create deployment")
		if id, err := b.FindOwn(b.ctx, s.Group, s.By); id != "" || err != nil {
			t.Fatalf("%q %v", id, err)
		}
		b.ok(b.sim.Inject("lost-reply codedeploy:CreateDeployment times=1"))
		b.ok(b.sim.Inject("stale codedeploy:ListDeployments by=1m times=2"))
		b.ok(b.clock.Sleep(b.ctx, 2*time.Minute))
		id, found, err := b.EnsureDeployment(b.ctx, b.act, s)
		b.sim.ClearFaults()
		if all := b.deployments(); err != nil || !found || len(all) != 1 || id != all[0] {
			t.Errorf("%q (%t) of %v: %v", id, found, all, err)
		}
		if n := b.count("CreateDeployment"); n != 2 {
			t.Errorf("%d calls of CreateDeployment: the list was not behind", n)
		}
	})
}

// A deployment of ours is found behind a hundred newer ones.
func TestADeploymentIsFoundOnALaterPage(t *testing.T) {
	on(t, 0, func(b *bench) {
		s := b.start("d1/1 ECS_SYNC/create deployment")
		first, _, err := b.EnsureDeployment(b.ctx, b.act, s)
		b.ok(err)
		b.end(first)
		others := awscd.NewFromConfig(b.sim.Config())
		for range 100 {
			out, err := others.CreateDeployment(b.ctx,
				&awscd.CreateDeploymentInput{ApplicationName: aws.String(web.Application),
					DeploymentGroupName: aws.String(web.Name),
					Revision:            revision(s)})
			b.ok(err)
			b.end(*out.DeploymentId)
		}
		b.calls = nil
		id, found, err := b.EnsureDeployment(b.ctx, b.act, s)
		if err != nil || id != first || !found || b.count("ListDeployments") != 2 || b.count("CreateDeployment") != 0 {
			t.Errorf("%q (%t), want %q, after %v: %v", id, found, first, b.calls, err)
		}
	})
}
