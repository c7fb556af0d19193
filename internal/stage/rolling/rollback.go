package rolling

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/view"
)

// RollBack returns a rolling service to the former revision. If our deployment still runs,
// ECS stops it and rolls it back. Otherwise the former revision is deployed, unless ECS has rolled
// back by itself. Only a read that is newer than our own update decides that.
func RollBack(ctx context.Context, s *step.Step) error {
	former := s.Snapshot.Revision
	if !s.Snapshot.Service || former == "" {
		s.EmitWarning("the service had no deployment before this one; sluice keeps it unchanged")
		return nil
	}
	was, begun, err := LoadUpdate(ctx, s)
	if err != nil {
		return err
	}
	var after step.WriteProof
	if begun {
		after = was.proofAt(s.Clock.Now())
	}
	live, err := s.ReadSharedAfter(ctx, after)
	if err != nil {
		return err
	}
	if !begun {
		return followFormer(ctx, s, live, former)
	}
	if was, err = ensureIdentified(ctx, s, was, live); err != nil {
		return err
	}
	after = was.proofAt(s.Clock.Now())
	if err := checkRoutes(ctx, s, live); err != nil {
		return err
	}
	if was.isPrimary(live) {
		running, err := runningDeployment(ctx, s, was)
		if err != nil {
			return err
		}
		if running != "" {
			if live, err = stopDeployment(ctx, s, live, after, plan.OwnDeployment, running); err != nil {
				return err
			}
			if !was.isPrimary(live) {
				after = after.WithReplaced(was.Deployment)
			}
		}
	}
	return deployFormer(ctx, s, live, former, after)
}

// checkRoutes returns an error if ECS itself shifts the requests, all tasks run, and no rule by which callers reached
// the service leads to it any more. The former version would get no request either: ECS refuses a deployment of it, or
// never ends it. What cannot be read is no reason against a rollback.
func checkRoutes(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	v := live.ForVerdict()
	lacksTasks := slices.ContainsFunc(v.Deployments,
		func(d verdict.Deployment) bool { return d.Status == "PRIMARY" && d.Running < d.Desired })
	if !v.IsNative() || lacksTasks || !s.Plan.Callers.ReceivesRequests() {
		return nil
	}
	t, err := s.ReadTraffic(ctx, live)
	if lost := t.LostSince(s.Plan.Callers); err == nil && t.IsUnused() && len(lost) > 0 {
		return &sluice.Error{Op: "restore the service", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
			Err: errors.New("no version can get requests: " + view.Texts(lost)), Next: lost[0].Next()}
	}
	return nil
}

// followFormer follows the version that served before and that this deployment has not changed.
func followFormer(ctx context.Context, s *step.Step, live *ecs.ServiceState, former string) error {
	id, now := live.PrimaryDeployment()
	if now != former {
		return errReplaced(s, id, now, former)
	}
	return followDeployment(ctx, s, former, id, step.WriteProof{})
}

// ensureIdentified finds our deployment if a process was killed between the call and its record, or
// if the call got no response. The history of deployments is another API, with its own lag.
func ensureIdentified(ctx context.Context, s *step.Step, was updateRequest, live *ecs.ServiceState) (updateRequest,
	error) {
	if was.Deployment != "" {
		return was, nil
	}
	name, err := begin.RegisteredName(ctx, s)
	if err != nil {
		return was, err
	}
	ours, found, err := identifyDeployment(ctx, s, was, live, ecs.Revision{Name: name})
	if err != nil || !found {
		return was, err
	}
	return ours, nil
}

// isPrimary reports whether the PRIMARY deployment is ours. It may have the same revision as the
// one before, so only the ID distinguishes them.
func (a updateRequest) isPrimary(live *ecs.ServiceState) bool {
	now, _ := live.PrimaryDeployment()
	return now != a.Before && now == a.Deployment
}

// runningDeployment is the ARN of our service deployment if it is known. stopDeployment does
// not change one that has ended. Otherwise it is the one that runs.
func runningDeployment(ctx context.Context, s *step.Step, ours updateRequest) (string, error) {
	if ours.ARN != "" {
		return ours.ARN, nil
	}
	return s.Client.RunningDeployment(ctx)
}

// stopOtherDeployment stops another actor's deployment that the plan names. It returns the service
// after that.
func stopOtherDeployment(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	arn := s.Stage.Stop
	rec, err := s.Client.RecordState(ctx, arn)
	if err != nil {
		return nil, err
	}
	after := step.WriteProof{WriteName: "deployment " + arn, SentAt: s.Clock.Now(),
		Shows: func(live *ecs.ServiceState) bool {
			return live.CurrentDeployment() == arn || !live.PrimaryCreated().Before(rec.CreatedAt)
		}}
	live, err := s.ReadAfter(ctx, after)
	if err != nil {
		return nil, err
	}
	return stopDeployment(ctx, s, live, after, arn, arn)
}

// stopDeployment stops a running service deployment with a rollback and waits until the former
// deployment is PRIMARY. A second run finds the rollback already in progress. A deployment that has
// ended, or that somebody stops without a rollback, is left unchanged.
func stopDeployment(ctx context.Context, s *step.Step, live *ecs.ServiceState, after step.WriteProof, label,
	arn string) (*ecs.ServiceState, error) {
	rec, err := s.Client.RecordState(ctx, arn)
	if err != nil {
		return nil, err
	}
	if !sluice.IsServiceDeploymentRunning(rec.Status) || rec.Status == "STOP_REQUESTED" {
		return live, nil
	}
	saved, err := s.Memory.Rolling.Load(ctx)
	if err != nil {
		return nil, err
	}
	if saved.Stop == nil {
		saved.Stop = &memory.StopRequest{}
	}
	if saved.Stop.ARN != arn {
		saved.Stop.ARN = arn
		if !sluice.IsServiceDeploymentRollingBack(rec.Status) {
			saved.Stop.Primary, _ = live.PrimaryDeployment()
		}
		if err := s.Memory.Rolling.Save(ctx, saved); err != nil {
			return nil, err
		}
	}
	if !sluice.IsServiceDeploymentRollingBack(rec.Status) {
		stopped, err := s.Client.StopDeployment(ctx, s.MakeWrite, label, arn)
		if err == nil && !stopped && live.ForVerdict().IsNative() {
			return awaitCleanUp(ctx, s, after, arn)
		}
		if err != nil {
			return nil, err
		}
	}
	return awaitRollbackStart(ctx, s, live, *saved.Stop, after)
}

// awaitCleanUp waits for the end of a deployment with ECS's own strategy that ECS does not stop any more: it has moved
// the requests, and removes the former tasks. A deployment that begins before may send requests to the group of these
// tasks at once. It returns the service after that, or when waiting longer helps nobody.
func awaitCleanUp(ctx context.Context, s *step.Step, after step.WriteProof, arn string) (*ecs.ServiceState, error) {
	limit := newCleanUpLimit(s.Clock.Now(), s.Plan.ProgressDeadline)
	for {
		rec, err := s.Client.RecordState(ctx, arn)
		if err != nil {
			return nil, err
		}
		live, err := s.ReadAfter(ctx, after)
		if err != nil || !sluice.IsServiceDeploymentRunning(rec.Status) || limit.isReached(live.ForVerdict(), s.Clock.Now()) {
			return live, err
		}
		if s.IsFirstTime("a deployment that ECS does not stop") {
			s.Host.Emit(sluice.Waiting{For: "ECS to end the deployment that it does not stop", Detail: rec.Stage})
		}
		if err := s.PauseFor(ctx, step.ReadBackDelay); err != nil {
			return nil, err
		}
	}
}

// cleanUpLimit is how long a rollback waits while ECS removes the former tasks: until they are gone although tasks of
// the deployment are missing, until ECS has not ended it for the progress deadline after they are gone, and at most for
// longestDrain and that deadline.
type cleanUpLimit struct {
	former time.Time // until when former tasks may run
	end    time.Time // until when ECS may take to end the deployment, as of the last read
	after  time.Duration
}

// longestDrain is how long a target may drain (deregistration_delay.timeout_seconds is at most 3600).
const longestDrain = time.Hour

func newCleanUpLimit(now time.Time, progressDeadline time.Duration) cleanUpLimit {
	return cleanUpLimit{former: now.Add(longestDrain), end: now.Add(progressDeadline), after: progressDeadline}
}

// isReached reports whether a new deployment is the only way out of the state that was read at now.
func (l *cleanUpLimit) isReached(live *verdict.Service, now time.Time) bool {
	var hasFormer, lacksTasks bool
	for _, d := range live.Deployments {
		primary := d.Status == "PRIMARY"
		hasFormer = hasFormer || !primary && d.Running > 0
		lacksTasks = lacksTasks || primary && d.Running < d.Desired
	}
	if hasFormer && now.Before(l.former) {
		l.end = now.Add(l.after)
	}
	return !hasFormer && lacksTasks || !now.Before(l.end)
}

// awaitRollbackStart reads until another deployment is PRIMARY, for as long as a rollback may take
// to begin. live is the last read: ECS begins no rollback at the moment at which it is requested.
func awaitRollbackStart(ctx context.Context, s *step.Step, live *ecs.ServiceState, was memory.StopRequest,
	after step.WriteProof) (*ecs.ServiceState, error) {
	for n := 1; ; n++ {
		now, _ := live.PrimaryDeployment()
		if now != was.Primary || n == maxRollbackPolls {
			return live, nil
		}
		err := s.PauseFor(ctx, rollbackPollDelay)
		if err == nil {
			live, err = s.ReadAfter(ctx, after)
		}
		if err != nil {
			return nil, err
		}
	}
}

// The service is read maxRollbackPolls times, once before the request, until the former revision is deployed instead.
// ECS takes up to ten seconds to begin it, and then longer to end it.
const (
	maxRollbackPolls  = 6
	rollbackPollDelay = 5 * time.Second
)

// deployFormer deploys the former revision with its attributes, unless ECS already does, and
// follows that deployment. live must be newer than the write in after.
func deployFormer(ctx context.Context, s *step.Step, live *ecs.ServiceState, former string,
	after step.WriteProof) error {
	restored, err := step.AttributesToRestore(ctx, s, live)
	if err != nil {
		return err
	}
	back := leaveOutPauses(s, live, restored).MissingIn(live)
	_, now := live.PrimaryDeployment()
	failed := live.DeploymentFailed() // ECS's rollback failed: a new deployment is needed
	if now == former && !failed && len(back.Members) > 0 && live.ForVerdict().IsNative() {
		if live, err = awaitOwnRollback(ctx, s, live, after); err != nil {
			return err
		}
	}
	switch {
	case now != former || failed || back.NeedsNewDeployment():
		back = keepStrategy(s, live, back)
		notePauses(s, live, back)
		before, _ := live.PrimaryDeployment()
		brought, err := requestFormer(ctx, s, live, ecs.Revision{ARN: former, Name: former}, back, failed)
		if err != nil {
			return err
		}
		if brought.PrimaryCreated().After(live.PrimaryCreated()) {
			after = updateRequest{Before: before, Current: live.CurrentDeployment(),
				At: s.Clock.Now()}.withOurDeployment(brought).proofAt(s.Clock.Now())
		}
		live, after = brought, after.WithReplaced(before)
	case len(back.Members) > 0:
		if err := s.Client.Update(ctx, s.MakeWrite, "restore service", back); err != nil {
			return err
		}
		after = after.WithLater(step.WriteProof{WriteName: "the restored attributes", SentAt: s.Clock.Now(),
			Shows: func(live *ecs.ServiceState) bool { return len(back.MissingIn(live).Members) == 0 }})
	}
	id, now := live.PrimaryDeployment()
	if now != former {
		return errReplaced(s, id, now, former)
	}
	return followDeployment(ctx, s, former, id, after)
}

// leaveOutPauses leaves lifecycle hooks out of what a rollback restores, at which ECS would wait for a person and which
// the service does not have now: callers would keep the version that is rolled back.
func leaveOutPauses(s *step.Step, live *ecs.ServiceState, back ecs.Update) ecs.Update {
	back, left := back.WithoutNewPauses(live)
	if len(left) > 0 {
		s.EmitNote("the rollback leaves out the hook at which ECS waited for a person before (%s): the service does not have it "+
			"now, and callers would keep the version that is rolled back", strings.Join(left, ", "))
	}
	return back
}

// notePauses says before the deployment of the former version that ECS waits at hooks of the service for a person.
func notePauses(s *step.Step, live *ecs.ServiceState, back ecs.Update) {
	if stages := back.Pauses(live); len(stages) > 0 {
		s.EmitWarning("ECS pauses this rollback at a hook of the service (%s), until it is answered by sluice continue",
			strings.Join(stages, ", "))
	}
}

// keepStrategy leaves a strategy by which ECS shifts traffic as it is, if the service rolled before. After a
// success the rules send the requests to the other target group, and a rolling update would start the
// former revision where no request arrives. ECS's own strategy moves the requests with the revision.
func keepStrategy(s *step.Step, live *ecs.ServiceState, back ecs.Update) ecs.Update {
	to := back.Values.DeploymentConfiguration
	if to == nil || !live.ForVerdict().IsNative() || to.Strategy != "" && to.Strategy != "ROLLING" {
		return back
	}
	s.EmitNote("the deployment strategy stays %s, so that the requests follow the previous revision; to roll the service "+
		"again, deploy the files of that time", live.ForVerdict().Strategy)
	return back.Without("deploymentConfiguration").Without("loadBalancers")
}

// awaitOwnRollback waits until ECS has ended the rollback to the former revision: until then it refuses
// another deployment strategy (Developer Guide, "Update the deployment strategy from Amazon ECS
// blue/green to rolling update"). It returns the service after that.
func awaitOwnRollback(ctx context.Context, s *step.Step, live *ecs.ServiceState,
	after step.WriteProof) (*ecs.ServiceState, error) {
	id, former := live.PrimaryDeployment()
	if err := followDeployment(ctx, s, former, id, after); err != nil {
		return nil, err
	}
	return s.ReadAfter(ctx, after)
}

// requestFormer requests the former revision and returns AWS's response, which contains the new
// deployment. If the response is lost, it returns a read that shows the deployment.
func requestFormer(ctx context.Context, s *step.Step, live *ecs.ServiceState, former ecs.Revision, back ecs.Update,
	force bool) (*ecs.ServiceState, error) {
	before, _ := live.PrimaryDeployment()
	shown := func(live *ecs.ServiceState) bool {
		id, revision := live.PrimaryDeployment()
		return revision == former.Name && id != before
	}
	return sendUntilShown(ctx, s, func() (*ecs.ServiceState, error) {
		return s.Client.UpdateRolling(ctx, s.MakeWrite, "restore "+former.Name, former, back, force)
	}, func(sent time.Time) step.WriteProof {
		return step.WriteProof{WriteName: "the deployment of " + former.Name, SentAt: sent, Shows: shown}
	})
}
