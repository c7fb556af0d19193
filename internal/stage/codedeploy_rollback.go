package stage

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// rollBackCodeDeploy restores the former version of a service that CodeDeploy deploys. CodeDeploy
// stops a running deployment and rolls it back. Otherwise the former revision is deployed once
// more. Then the attributes are restored.
func (r *Run) rollBackCodeDeploy(ctx context.Context, live *ecs.ServiceState) error {
	if !r.snapshot.Service {
		r.emitWarning("the service did not exist before this deployment; sluice keeps it unchanged")
		return nil
	}
	if r.listsClaimWrite() {
		if err := r.claimAndSuspend(ctx, live); err != nil {
			return err
		}
	}
	if r.Plan.CodeDeploy.Deploys {
		if err := r.undoCodeDeploy(ctx); err != nil {
			return err
		}
	}
	return r.restoreAfterCodeDeploy(ctx)
}

// undoCodeDeploy makes the former version serve alone again. Once the former revision was
// requested, only that deployment decides: its own task set then exists next to the other.
func (r *Run) undoCodeDeploy(ctx context.Context) error {
	saved, err := r.memory.CodeDeploy.Load(ctx)
	switch {
	case err != nil:
		return err
	case saved.Return != nil:
		return r.redeployFormer(ctx)
	}
	id, err := r.ourCodeDeployID(ctx)
	if err != nil || id == "" {
		return err // no deployment was created
	}
	began := r.Clock.Now()
	status, err := r.stopAndFollow(ctx, plan.OwnShift, id)
	if err != nil {
		return err
	}
	if status != "Succeeded" { // after Succeeded the new version serves, even if a stale read shows otherwise
		if alone, err := r.servesAlone(ctx, r.snapshot.Revision, id, began); alone || err != nil {
			return err
		}
	}
	return r.redeployFormer(ctx)
}

// servesAlone reports whether a revision serves and no task set of an ended deployment exists next
// to it. A read that shows this may be older than that task set, which was created before we saw
// the deployment ended, or stopped it. A read that shows otherwise may be older than the end.
func (r *Run) servesAlone(ctx context.Context, revision, deployment string, began time.Time) (bool, error) {
	ended := r.Clock.Now()
	if r.wroteAt.After(began) {
		began = r.wroteAt
	}
	for {
		sent := r.Clock.Now()
		live, err := r.observeService(ctx)
		if err != nil {
			return false, err
		}
		alone := live.Serving() == revision && !hasTaskSetOf(live, deployment)
		if alone && sent.Sub(began) >= unseenLimit || !alone && sent.Sub(ended) >= unseenLimit {
			return alone, nil
		}
		if err := r.pauseFor(ctx, readBackDelay); err != nil {
			return false, err
		}
	}
}

// ourCodeDeployID is the ID of the requested deployment; empty if none was created.
func (r *Run) ourCodeDeployID(ctx context.Context) (string, error) {
	saved, err := r.memory.CodeDeploy.Load(ctx)
	if err != nil || saved.Forward == nil {
		return "", err
	}
	if id := saved.Forward.Deployment; id != "" {
		return id, nil
	}
	id, err := r.findCodeDeployID(ctx, r.codeDeployID())
	if err != nil || id == "" {
		return "", err
	}
	saved.Forward.Deployment = id
	return id, r.memory.CodeDeploy.Save(ctx, saved)
}

// findCodeDeployID is the ID of the deployment that a killed process may have requested. It is
// empty if AWS does not return one although it must by now.
func (r *Run) findCodeDeployID(ctx context.Context, by sluice.ActionID) (id string, err error) {
	err = r.readUntil(ctx, r.wroteAt, func(ctx context.Context) (bool, error) {
		id, err = r.codeDeployClient().FindOwn(ctx, r.deploymentGroup(), by)
		return id != "", err
	})
	return id, err
}

// stopOtherCodeDeploy stops another actor's deployment with its rollback. done is true if that
// leads to what the plan wants.
func (r *Run) stopOtherCodeDeploy(ctx context.Context) (done bool, err error) {
	if saved, err := r.memory.CodeDeploy.Load(ctx); saved.Forward != nil || err != nil {
		return false, err // the other deployment was stopped before, and that was not enough
	}
	began := r.Clock.Now()
	if _, err := r.stopAndFollow(ctx, r.Stage.Stop, r.Stage.Stop); err != nil {
		return false, err
	}
	return r.servesAlone(ctx, r.Plan.To, r.Stage.Stop, began)
}

// stopAndFollow stops a running deployment with its rollback and follows the rollback to its end.
// It returns how the deployment ended; empty if AWS no longer returns it. label is its name in the
// plan.
func (r *Run) stopAndFollow(ctx context.Context, label, id string) (status string, err error) {
	if err := r.checkInterrupt(ctx); err != nil {
		return "", err
	}
	d, err := r.codeDeployClient().GetDeployment(ctx, id)
	if err != nil || d == nil || d.Ended() && d.RollbackID == "" {
		return statusOf(d), err
	}
	if !d.Ended() {
		if _, err := r.codeDeployClient().Stop(ctx, r.makeWrite, label, id, true); err != nil {
			return "", err
		}
	}
	last, err := r.followStopped(ctx, id)
	if err != nil {
		return "", err
	}
	switch v := last.Verdict; v.Outcome {
	case sluice.RolledBack:
		return "Stopped", nil
	case sluice.Succeeded, sluice.Stopped, sluice.Failed, sluice.Gone:
		d, err := r.codeDeployClient().GetDeployment(ctx, id)
		return statusOf(d), err
	default:
		return "", r.endError(r.snapshot.Revision, v)
	}
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
func (r *Run) redeployFormer(ctx context.Context) error {
	f := r.snapshot
	if f.Spec == nil {
		return &sluice.Error{Op: "restore the previous version", Resource: r.client.Resource(), Kind: sluice.NotFound,
			Err: errors.New("no version served before this deployment"), Next: "deploy a version that works"}
	}
	spec, err := definition.NewAppSpec(f.Spec.Input, *f.Spec.Input.TaskDefinition, nil)
	if err != nil {
		return err
	}
	turn, err := r.returnTurn(ctx)
	if err != nil {
		return err
	}
	if _, err := r.observeService(ctx); err != nil {
		return err
	}
	if r.claim.otherValue != "" {
		return r.errClaimTaken() // the deployment that claimed it since decides what serves
	}
	start := codedeploy.StartRequest{Config: allAtOnce, AppSpec: spec, By: r.returnID(turn), Rollback: []string{},
		NoAlarms: true}
	d, err := r.ensureCodeDeploy(ctx, returnRequest, start)
	if err != nil {
		return err
	}
	if !d.JustCreated { // it is of an earlier attempt, which did not see its end
		switch next, err := r.returnTurn(ctx); {
		case err != nil:
			return err
		case next != turn:
			return r.redeployFormer(ctx)
		}
	}
	return r.followReturn(ctx, f.Revision, d)
}

// returnTurn is the number of the rollback deployment, from 0. If one failed, because it was not
// continued in time or another actor stopped it, another one follows.
func (r *Run) returnTurn(ctx context.Context) (int, error) {
	saved, err := r.memory.CodeDeploy.Load(ctx)
	if err != nil || saved.Return == nil {
		return 0, err
	}
	was := *saved.Return
	if was.Deployment == "" {
		return was.Turn, nil
	}
	d, err := r.codeDeployClient().GetDeployment(ctx, was.Deployment)
	if err != nil || d == nil || !d.Ended() || d.Status == "Succeeded" {
		return was.Turn, err
	}
	if d.RollbackID != "" {
		if _, err := r.followStopped(ctx, d.ID); err != nil {
			return 0, err
		}
	}
	saved.Return = &memory.CodeDeployRequest{Turn: was.Turn + 1}
	return saved.Return.Turn, r.memory.CodeDeploy.Save(ctx, saved)
}

func statusOf(d *verdict.CodeDeployment) string {
	if d == nil {
		return ""
	}
	return d.Status
}

const allAtOnce = "CodeDeployDefault.ECSAllAtOnce"

// restoreAfterCodeDeploy restores the attributes that the deployment changed.
func (r *Run) restoreAfterCodeDeploy(ctx context.Context) error {
	if len(r.snapshot.Attributes.Members) == 0 ||
		!r.Stage.MayWrite(sluice.Write{Operation: "ecs:UpdateService", Resource: r.client.Resource()}) {
		return nil
	}
	if err := r.client.Update(ctx, r.makeWrite, "restore service", r.snapshot.Attributes); err != nil {
		return err
	}
	return r.awaitCount(ctx)
}
