package bluegreen

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// RollBack restores the former version of a service that CodeDeploy deploys. CodeDeploy
// stops a running deployment and rolls it back. Otherwise the former revision is deployed once
// more. Then the attributes are restored.
func RollBack(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	if !s.Snapshot.Service {
		s.EmitWarning("the service did not exist before this deployment; sluice keeps it unchanged")
		return nil
	}
	if listsClaimWrite(s) {
		if err := begin.ClaimAndSuspend(ctx, s, live); err != nil {
			return err
		}
	}
	if s.Plan.CodeDeploy.Deploys {
		if err := undoCodeDeploy(ctx, s); err != nil {
			return err
		}
	}
	return restoreAfterCodeDeploy(ctx, s)
}

// undoCodeDeploy makes the former version serve alone again. Once the former revision was
// requested, only that deployment decides: its own task set then exists next to the other.
func undoCodeDeploy(ctx context.Context, s *step.Step) error {
	saved, err := s.Memory.CodeDeploy.Load(ctx)
	switch {
	case err != nil:
		return err
	case saved.Return != nil:
		return redeployFormer(ctx, s)
	}
	id, err := ourCodeDeployID(ctx, s)
	if err != nil || id == "" {
		return err // no deployment was created
	}
	began := s.Clock.Now()
	end, err := stopAndFollow(ctx, s, plan.OwnShift, id)
	if err != nil {
		return err
	}
	if end.status != "Succeeded" { // after Succeeded the new version serves, even if a stale read shows otherwise
		if alone, err := servesAlone(ctx, s, s.Snapshot.Revision, id, began, end); alone || err != nil {
			return err
		}
	}
	return redeployFormer(ctx, s)
}

// endedShift is how a CodeDeploy deployment ended that is rolled back.
type endedShift struct {
	status       string // CodeDeploy's; empty: AWS no longer returns the deployment
	isRolledBack bool   // its rollback has succeeded: its task set is deleted
	keepsTaskSet bool   // it has no rollback, and had created its task set: CodeDeploy does not delete it
}

// servesAlone reports whether a revision serves and no task set of an ended deployment exists next
// to it. Unless its rollback has succeeded, a read that shows this may be older than that task set, which was
// created before we saw the deployment ended, or stopped it. A read that shows otherwise may be older than the end.
func servesAlone(ctx context.Context, s *step.Step, revision, deployment string, began time.Time,
	end endedShift) (bool, error) {
	if end.keepsTaskSet {
		return false, nil
	}
	ended := s.Clock.Now()
	if s.WroteAt.After(began) {
		began = s.WroteAt
	}
	for {
		sent := s.Clock.Now()
		if held := s.Reads.FindService(sent); held.State != nil {
			sent = held.SentAt
		}
		live, err := step.ObserveShared(ctx, s)
		if err != nil {
			return false, err
		}
		alone := live.Serving() == revision && !hasTaskSetOf(live, deployment)
		if alone && (end.isRolledBack || sent.Sub(began) >= step.UnseenLimit) ||
			!alone && sent.Sub(ended) >= step.UnseenLimit {
			return alone, nil
		}
		if err := s.PauseFor(ctx, step.ReadBackDelay); err != nil {
			return false, err
		}
	}
}

// ourCodeDeployID is the ID of the requested deployment; empty if none was created.
func ourCodeDeployID(ctx context.Context, s *step.Step) (string, error) {
	saved, err := s.Memory.CodeDeploy.Load(ctx)
	if err != nil || saved.Forward == nil {
		return "", err
	}
	if id := saved.Forward.Deployment; id != "" {
		return id, nil
	}
	id, err := findCodeDeployID(ctx, s, codeDeployID(s))
	if err != nil || id == "" {
		return "", err
	}
	saved.Forward.Deployment = id
	return id, s.Memory.CodeDeploy.Save(ctx, saved)
}

// findCodeDeployID is the ID of the deployment that a killed process may have requested. It is
// empty if AWS does not return one although it must by now.
func findCodeDeployID(ctx context.Context, s *step.Step, by sluice.ActionID) (id string, err error) {
	err = s.ReadUntil(ctx, s.WroteAt, func(ctx context.Context) (bool, error) {
		id, err = codeDeployClient(s).FindOwn(ctx, deploymentGroup(s), by)
		return id != "", err
	})
	if err != nil {
		return id, adviseCreation(s, err)
	}
	return id, nil
}

// stopOtherCodeDeploy stops another actor's deployment with its rollback. done is true if that
// leads to what the plan wants.
func stopOtherCodeDeploy(ctx context.Context, s *step.Step) (done bool, err error) {
	if saved, err := s.Memory.CodeDeploy.Load(ctx); saved.Forward != nil || err != nil {
		return false, err // the other deployment was stopped before, and that was not enough
	}
	began := s.Clock.Now()
	end, err := stopAndFollow(ctx, s, s.Stage.Stop, s.Stage.Stop)
	if err != nil {
		return false, err
	}
	return servesAlone(ctx, s, s.Plan.To, s.Stage.Stop, began, end)
}

// stopAndFollow stops a running deployment with its rollback and follows the rollback to its end.
// It returns how the deployment ended. label is its name in the plan.
func stopAndFollow(ctx context.Context, s *step.Step, label, id string) (endedShift, error) {
	if err := s.CheckInterrupt(ctx); err != nil {
		return endedShift{}, err
	}
	d, err := codeDeployClient(s).GetDeployment(ctx, id)
	if err != nil || d == nil || d.Ended() && d.RollbackID == "" {
		return endWithoutRollback(ctx, s, d, err)
	}
	if !d.Ended() {
		if _, err := codeDeployClient(s).Stop(ctx, s.MakeWrite, label, id, true); err != nil {
			return endedShift{}, err
		}
	}
	last, err := followStopped(ctx, s, id, !d.Ended())
	if err != nil {
		return endedShift{}, err
	}
	switch v := last.Verdict; v.Outcome {
	case sluice.RolledBack:
		return endedShift{status: "Stopped", isRolledBack: true}, nil
	case sluice.Succeeded, sluice.Stopped, sluice.Failed, sluice.Gone:
		d, err := codeDeployClient(s).GetDeployment(ctx, id)
		return endWithoutRollback(ctx, s, d, err)
	default:
		return endedShift{}, rolling.EndError(s, s.Snapshot.Revision, v)
	}
}

// endWithoutRollback returns the end of a deployment without a rollback that succeeded. d is nil if AWS no longer
// returns the deployment; err is that of its read.
func endWithoutRollback(ctx context.Context, s *step.Step, d *verdict.CodeDeployment, err error) (endedShift, error) {
	if err != nil || d == nil || d.Status == "Succeeded" {
		return endedShift{status: statusOf(d)}, err
	}
	target, err := codeDeployClient(s).ReadTarget(ctx, d.ID, s.Plan.Cluster, s.Plan.Service)
	return endedShift{status: d.Status, keepsTaskSet: target != nil && target.Green != nil && d.RollbackID == ""}, err
}

// hasTaskSetOf reports whether a task set of a deployment is ACTIVE next to the one that serves.
func hasTaskSetOf(live *ecs.ServiceState, deployment string) bool {
	for _, ts := range live.TaskSets {
		if ts.ExternalID == deployment && ts.Status == "ACTIVE" {
			return true
		}
	}
	return false
}

// redeployFormer deploys the former revision once more. It uses AllAtOnce, since all tasks are
// healthy before traffic moves. It runs no hooks, which judge new versions. It ignores alarms,
// which the replaced version may have raised.
func redeployFormer(ctx context.Context, s *step.Step) error {
	f := s.Snapshot
	if f.Spec == nil {
		return &sluice.Error{Op: "restore the previous version", Resource: s.Client.Resource(), Kind: sluice.NotFound,
			Err: errors.New("no version served before this deployment"), Next: "deploy a version that works"}
	}
	// CodeDeploy accepts an INACTIVE revision, and fails a minute later.
	if gone, err := ecs.IsDeregistered(ctx, s.Account.ECS(), f.Revision); err != nil || gone {
		return cmp.Or(err, ecs.ErrDeregistered(f.Revision))
	}
	spec, err := appspec.New(f.Spec.Input, *f.Spec.Input.TaskDefinition, nil)
	if err != nil {
		return err
	}
	turn, err := returnTurn(ctx, s)
	if err != nil {
		return err
	}
	if _, err := s.ObserveService(ctx); err != nil {
		return err
	}
	if s.Claim.OtherValue != "" {
		return step.ErrClaimTaken(s) // the deployment that claimed it since decides what serves
	}
	start := codedeploy.StartRequest{Config: allAtOnce, AppSpec: spec, By: returnID(s, turn), Rollback: []string{},
		NoAlarms: true}
	d, err := ensureCodeDeploy(ctx, s, returnRequest, start)
	if err != nil {
		return err
	}
	if !d.JustCreated { // it is of an earlier attempt, which did not see its end
		switch next, err := returnTurn(ctx, s); {
		case err != nil:
			return err
		case next != turn:
			return redeployFormer(ctx, s)
		}
	}
	return followReturn(ctx, s, f.Revision, d)
}

// returnTurn is the number of the rollback deployment, from 0. If one failed, because it was not
// continued in time or another actor stopped it, another one follows.
func returnTurn(ctx context.Context, s *step.Step) (int, error) {
	saved, err := s.Memory.CodeDeploy.Load(ctx)
	if err != nil || saved.Return == nil {
		return 0, err
	}
	was := *saved.Return
	if was.Deployment == "" {
		return was.Turn, nil
	}
	d, err := codeDeployClient(s).GetDeployment(ctx, was.Deployment)
	if err != nil || d == nil || !d.Ended() || d.Status == "Succeeded" {
		return was.Turn, err
	}
	if d.RollbackID != "" {
		if _, err := followStopped(ctx, s, d.ID, false); err != nil {
			return 0, err
		}
	}
	saved.Return = &memory.CodeDeployRequest{Turn: was.Turn + 1}
	return saved.Return.Turn, s.Memory.CodeDeploy.Save(ctx, saved)
}

func statusOf(d *verdict.CodeDeployment) string {
	if d == nil {
		return ""
	}
	return d.Status
}

const allAtOnce = "CodeDeployDefault.ECSAllAtOnce"

// restoreAfterCodeDeploy restores the attributes that the deployment changed.
func restoreAfterCodeDeploy(ctx context.Context, s *step.Step) error {
	if len(s.Snapshot.Attributes.Members) == 0 ||
		!s.Stage.MayWrite(sluice.Write{Operation: "ecs:UpdateService", Resource: s.Client.Resource()}) {
		return nil
	}
	live, err := step.ObserveShared(ctx, s)
	if err != nil {
		return err
	}
	u, err := step.AttributesToRestore(ctx, s, live)
	if err != nil || len(u.Members) == 0 {
		return err
	}
	if err := s.Client.Update(ctx, s.MakeWrite, "restore service", u); err != nil || u.Values.DesiredCount == nil {
		return err // tasks of the deleted task set still drain
	}
	return rolling.AwaitCount(ctx, s)
}
