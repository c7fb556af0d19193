package piped

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// runTargets runs a stage on each deploy target in order, and ends at the first failure. It prepares all of them
// before the first one writes.
func runTargets(ctx context.Context, all []*targetRun) error {
	var failed []error
	for _, t := range all {
		failed = append(failed, withTarget(t.name, len(all), t.prepare(ctx)))
	}
	if err := errors.Join(append(failed, refuseSameRegion(all))...); err != nil {
		return err
	}
	for i, t := range all {
		var err error
		if i > 0 && !t.hasBaseline { // time has passed since the first read
			err = t.prepare(ctx)
		}
		if err == nil {
			err = t.runStage(ctx, len(all))
		}
		if err != nil {
			return withTarget(t.name, len(all), err)
		}
	}
	return nil
}

// rollBackTargets rolls each deploy target back. It continues with the others after a failure.
func rollBackTargets(ctx context.Context, all []*targetRun) error {
	var failed []error
	for _, t := range all {
		err := t.prepare(ctx)
		if err == nil {
			err = t.runStage(ctx, len(all))
		}
		failed = append(failed, withTarget(t.name, len(all), err))
	}
	return errors.Join(failed...)
}

// refuseSameRegion refuses two deploy targets with the same account and Region: both would deploy the same service.
func refuseSameRegion(all []*targetRun) error {
	seen := map[string]string{}
	for _, t := range all {
		if t.plan == nil || t.baseline.Live.Account == "" {
			continue
		}
		at := "account " + t.baseline.Live.Account + " in " + t.baseline.Live.Region
		if other, twice := seen[at]; twice {
			return &sluice.Error{Op: "read the deploy targets", Resource: t.in.GetDeployment().GetApplicationName(),
				Err:  fmt.Errorf("deploy targets %s and %s are both %s", other, t.name, at),
				Next: "choose one of them in PipeCD's settings of the application"}
		}
		seen[at] = t.name
	}
	return nil
}

// targetRun runs a stage on one deploy target.
type targetRun struct {
	plugin          *plugin
	name            string
	in              *contract.ExecutePluginInput
	log             *stageLog
	host            *host
	target, running *loadedApp
	filesErr        error // why the files of the target commit cannot be read; the rollback may not need them

	opened      *activeTarget
	baseline    baseline
	hasBaseline bool // the baseline had been saved
	app         *appfile.Application
	plan        *plan.Plan
	index       int    // of the stage in the plan
	kept        string // why the rollback keeps what serves; empty: it restores the previous state
	leftClaim   string // the earlier deployment of the application that left its claim
	isOver      bool   // nothing is to do
	isSkipped   bool   // a person skipped the stage
}

// prepare makes the plan of the deployment on this deploy target. It writes nothing.
func (t *targetRun) prepare(ctx context.Context) (err error) {
	ctx = t.withLongRetry(ctx)
	if t.baseline, t.hasBaseline, err = loadBaseline(ctx, t.host); err != nil {
		return err
	}
	if err := t.refuseOfficial(ctx); err != nil {
		return err
	}
	if t.isOver = t.isRollback() && !t.hasBaseline; t.isOver {
		return nil
	}
	if t.opened, err = t.plugin.targets.openTarget(ctx, t.name); err != nil {
		return err
	}
	if t.filesErr != nil {
		return t.filesErr
	}
	if err := t.preparePlan(ctx); err != nil {
		return err
	}
	if t.isOver, err = t.isUnwritten(ctx); err != nil || t.isOver {
		return err
	}
	if t.isRollback() {
		if t.kept, err = t.loadKept(ctx); err != nil {
			return err
		}
	}
	return t.checkOwned(ctx)
}

// isUnwritten reports whether this is the rollback of a deployment that wrote nothing, because it never had the claim.
func (t *targetRun) isUnwritten(ctx context.Context) (bool, error) {
	if !t.isRollback() {
		return false, nil
	}
	w, err := t.openStage(t.index, nil)
	if err != nil {
		return false, err
	}
	written, err := w.HasWritten(ctx)
	return !written, err
}

// runStage runs the prepared stage. of is the number of deploy targets.
func (t *targetRun) runStage(ctx context.Context, of int) error {
	ctx = t.withLongRetry(ctx)
	if of > 1 {
		t.log.writeLines(contract.LogSeverity_INFO, "deploy target "+t.name)
	}
	if t.isOver {
		t.log.writeLines(contract.LogSeverity_INFO, "this deployment changed nothing, so no rollback is needed")
		return nil
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if t.isRollback() && !t.plan.Mode().HasService() {
		t.log.writeLines(contract.LogSeverity_INFO, "there is no service to restore: a task that was started runs to its end")
	}
	if t.baseline.Unchanged != "" {
		return t.keepUnchanged(ctx)
	}
	if t.kept != "" {
		return t.endKept(ctx)
	}
	if err := t.findEarlier(ctx); err != nil {
		return err
	}
	c := &commands{targetRun: t, seen: map[string]bool{}}
	w, err := t.openStage(t.index, c.ask())
	if err != nil {
		return err
	}
	for _, do := range []func(context.Context) error{t.runBefore, t.noteBegin,
		func(ctx context.Context) error { return c.executeStage(ctx, w) }, t.saveAnalysed, t.updateTags, t.runAfter} {
		if err = do(ctx); err != nil {
			break
		}
	}
	if t.isLast(err) {
		if unconfirmed := t.finishDeployment(ctx, err); err == nil {
			err = unconfirmed
		}
	}
	return err
}

// preparePlan makes the plan from the saved baseline. In the first stage of the deployment it makes
// the plan from the current state in AWS.
func (t *targetRun) preparePlan(ctx context.Context) (err error) {
	t.app = withDeploymentTags(t.target.app, ownTags(t.in.GetDeployment(), t.commitHash()))
	if t.hasBaseline {
		t.plan, err = t.baseline.makePlan(t.app)
	} else {
		t.baseline, t.plan, err = surveyAndPlan(ctx, t.opened, t.plugin, t.app, t.in.GetDeployment().GetApplicationId(),
			t.deploymentID(), t.isQuickSync())
	}
	if err != nil {
		return err
	}
	t.index = t.planIndex()
	if t.index < 0 {
		return &sluice.Error{Op: "run stage " + t.in.GetStage().GetName(),
			Err: fmt.Errorf("the pipeline of the application has no such stage at position %d",
				t.in.GetStage().GetIndex()+1)}
	}
	return nil
}

// keepUnchanged ends a quick sync that has nothing to change, for every controller: the tags name the new commit.
func (t *targetRun) keepUnchanged(ctx context.Context) error {
	t.log.writeLines(contract.LogSeverity_INFO, "no changes: "+t.baseline.Unchanged+
		" serves as the files describe, so nothing is deployed")
	return t.newTagWriter().restoreTags(ctx, ownTags(t.in.GetDeployment(), t.commitHash()))
}

// begin removes a leftover claim, and saves the baseline.
func (t *targetRun) begin(ctx context.Context) error {
	if err := t.removeLeftClaim(ctx); err != nil {
		return err
	}
	if !t.hasBaseline {
		if err := saveBaseline(ctx, t.host, t.baseline); err != nil {
			return err
		}
		t.logNotes()
	}
	return nil
}

// noteBegin saves when the stage of piped began, without the plan's own stages before it.
func (t *targetRun) noteBegin(ctx context.Context) (err error) {
	t.host.start, err = loadBegin(ctx, t.host, t.in.GetStage().GetId(), t.plugin.clock.Now())
	return err
}

// checkOwned refuses another application's service. It finds a claim that an earlier deployment of this application
// left: piped runs one deployment at a time, and does not report when one has ended.
func (t *targetRun) checkOwned(ctx context.Context) error {
	if !t.plan.Mode().HasService() {
		return nil
	}
	live, err := t.serviceClient().Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" {
		return err
	}
	t.leftClaim = leftoverClaim(live.ClaimValue(), t.in.GetDeployment().GetApplicationId(), t.deploymentID())
	return checkOwner(live, t.in.GetDeployment(), t.serviceClient().Resource())
}

// removeLeftClaim removes the claim that an earlier deployment of the application left.
func (t *targetRun) removeLeftClaim(ctx context.Context) error {
	if t.leftClaim == "" {
		return nil
	}
	live, err := t.serviceClient().Observe(ctx)
	if err != nil || live == nil || leftoverClaim(live.ClaimValue(), t.in.GetDeployment().GetApplicationId(),
		t.deploymentID()) != t.leftClaim {
		return err
	}
	t.log.writeLines(contract.LogSeverity_INFO, "deployment "+t.leftClaim+
		" of this application has ended and left its claim on the service: removing the claim")
	return t.newTagWriter().service.Untag(ctx, t.newTagWriter().writeTags, "remove a leftover claim", live.ARN,
		plan.ClaimTag)
}

// leftoverClaim returns the earlier deployment of the application that left the claim. It is empty
// if the claim is this deployment's or another application's. piped runs one deployment of an
// application at a time, so the earlier one has ended.
func leftoverClaim(claim, application, deployment string) string {
	k, err := plan.ParseClaim(claim)
	if err != nil || k.Deployment == deployment || !strings.HasPrefix(k.Deployment, deploymentIDOf(application, "")) {
		return ""
	}
	return k.Deployment
}

// deploymentID names the deployment in claims and in the resources that it creates.
func (t *targetRun) deploymentID() string {
	return deploymentIDOf(t.in.GetDeployment().GetApplicationId(), t.in.GetDeployment().GetId())
}

// deploymentIDOf returns an id that has the same prefix for all deployments of an application.
func deploymentIDOf(application, deployment string) string {
	sum := sha256.Sum256([]byte(application))
	return plan.IDPrefix + hex.EncodeToString(sum[:4]) + "-" + deployment
}
