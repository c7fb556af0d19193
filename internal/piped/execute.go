package piped

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// ExecuteStage runs a stage to its end, on each deploy target of the deployment in order. piped may
// repeat a stage that was running when piped was killed: the stage finds what it created and
// creates nothing twice.
//
// A failure of the stage is returned as its status and its log, not as an error of the call.
func (p *plugin) ExecuteStage(ctx context.Context, r *contract.ExecuteStageRequest) (*contract.ExecuteStageResponse,
	error) {
	in := r.GetInput()
	log := openLog(p.piped, in.GetDeployment().GetId(), in.GetStage())
	defer log.close()
	skipped, err := p.executeStage(ctx, in, log)
	switch {
	case err == nil && skipped:
		return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_SKIPPED}, nil
	case err == nil:
		log.writeLines(contract.LogSeverity_SUCCESS, "done")
		return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_SUCCESS}, nil
	case ctx.Err() != nil:
		log.writeLines(contract.LogSeverity_ERROR,
			"stopped: "+stopReason(ctx)+"; the next attempt continues from here"+p.undoText(in))
		return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_CANCELLED, Message: err.Error()}, nil
	}
	log.writeLines(contract.LogSeverity_ERROR, "failed: "+err.Error())
	if next := sluice.NextStep(err); next != "" {
		log.writeLines(contract.LogSeverity_ERROR, "next: "+pipedAdvice(next))
	}
	return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_FAILURE, Message: err.Error()}, nil
}

// undoText says what a rollback does after a stopped stage. It stops no task that runs without a service.
func (p *plugin) undoText(in *contract.ExecutePluginInput) string {
	app, err := p.entry.loadApplication(in.GetTargetDeploymentSource())
	if err == nil && app.app.Service == nil {
		return "; a task that was started runs on, and the rollback does not stop it"
	}
	return ", or the rollback undoes it"
}

// stopReason returns why a stage ended: the plugin's own reason, or piped's. piped ends its call
// for a person, at a stage's timeout and when piped itself is stopped.
func stopReason(ctx context.Context) string {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause.Error()
	}
	return "piped ended the stage: it was cancelled, its timeout passed, or piped is being stopped"
}

func (p *plugin) executeStage(ctx context.Context, in *contract.ExecutePluginInput, log *stageLog) (skipped bool,
	err error) {
	if !p.entry.runs(in.GetStage().GetName()) {
		return false, &sluice.Error{Op: "run stage " + in.GetStage().GetName(),
			Err: errors.New("this plugin has no such stage")}
	}
	targets, err := p.targetsOf(in.GetDeployment())
	if err != nil {
		return false, err
	}
	target, err := p.entry.loadApplication(in.GetTargetDeploymentSource())
	if err != nil && !stageOf(in).RollsBack() {
		return false, err
	}
	var running *loadedApp
	if in.GetRunningDeploymentSource() != nil {
		// it is used only for the tags of the earlier files
		running, _ = p.entry.loadApplication(in.GetRunningDeploymentSource())
	}
	var all []*targetRun
	for _, name := range targets {
		t := &targetRun{plugin: p, name: name, in: in, log: log, target: target, running: running, filesErr: err}
		t.host = &host{piped: p.piped, plugin: p.entry.Name, deployment: in.GetDeployment().GetId(),
			report: log.logEvent}
		if len(targets) > 1 {
			t.host.prefix = name + "/"
		}
		all = append(all, t)
	}
	if stageOf(in).RollsBack() {
		return false, rollBackTargets(ctx, all)
	}
	err = runTargets(ctx, all)
	return slices.ContainsFunc(all, func(t *targetRun) bool { return t.isSkipped }), err
}

func withTarget(name string, of int, err error) error {
	if of == 1 || err == nil {
		return err
	}
	return fmt.Errorf("deploy target %s: %w", name, err)
}

// withLongRetry makes calls retry when AWS does not respond. piped cannot pause a deployment, so a
// stage retries until piped ends it.
func (t *targetRun) withLongRetry(ctx context.Context) context.Context {
	return account.WithLongRetry(ctx,
		&account.LongRetry{Budget: clock.Forever, Check: func() error { return context.Cause(ctx) },
			Report: func(e sluice.Unanswered) { t.log.logEvent(e) }})
}

func (t *targetRun) isRollback() bool { return stageOf(t.in).RollsBack() }

// stageOf returns the stage that piped runs, to ask for its properties.
func stageOf(in *contract.ExecutePluginInput) plan.Stage {
	return plan.Stage{Name: in.GetStage().GetName()}
}

// officialKeys are metadata keys that PipeCD's ECS plugin writes during a deployment. This plugin
// writes some of them too, but never before its own keys.
var officialKeys = []string{"canary-task-set", "current-listeners", "canary-target-group-arn"}

// refuseOfficial refuses a deployment that the official plugin began, because piped was switched to
// this plugin in the middle of it. Without the refusal, a rollback that restores nothing would be
// reported as a success.
func (t *targetRun) refuseOfficial(ctx context.Context) error {
	if t.hasBaseline {
		return nil
	}
	for _, key := range officialKeys {
		if _, there, err := t.host.ofAllTargets().Load(ctx, key); err != nil || !there {
			if err != nil {
				return err
			}
			continue
		}
		return &sluice.Error{Op: "run stage " + t.in.GetStage().GetName(), Kind: sluice.Conflict,
			Err: fmt.Errorf("another plugin began this deployment: it has metadata %s, and this plugin has none", key),
			Next: "use the previous plugin until this deployment has ended; or deploy again: ECS_SYNC sends all " +
				"traffic to the primary and removes leftovers"}
	}
	return nil
}

// commitHash returns the commit that serves when the stage is done.
func (t *targetRun) commitHash() string {
	if !t.isRollback() {
		if hash := t.in.GetDeployment().GetTrigger().GetCommit().GetHash(); hash != "" {
			return hash
		}
		return t.target.commit
	}
	if hash := t.in.GetRunningDeploymentSource().GetCommitHash(); hash != "" {
		return hash
	}
	return t.in.GetDeployment().GetRunningCommitHash()
}

// isQuickSync reports whether the deployment is a quick sync: its stage is not in the file's
// pipeline.
func (t *targetRun) isQuickSync() bool {
	at := int(t.in.GetStage().GetIndex())
	return at >= len(t.target.pipeline) || t.target.pipeline[at] != t.in.GetStage().GetName()
}

// planIndex returns the index of the stage in the plan, or -1 if the plan does not contain it.
func (t *targetRun) planIndex() int {
	if t.isRollback() {
		return len(t.plan.Stages)
	}
	known := t.knownStages()
	if !t.plan.Mode().HasService() && stageOf(t.in).ReplacesAll() {
		return known[0].Index // its stage has sluice's name: RUN_TASK or REGISTER
	}
	i := 0
	if !t.baseline.Quick {
		i = t.plugin.entry.ownIndex(t.target.pipeline, int(t.in.GetStage().GetIndex()))
	}
	if i >= len(known) || known[i].Name != t.in.GetStage().GetName() {
		return -1
	}
	return known[i].Index
}

func (t *targetRun) newTagWriter() tagWriter {
	return tagWriter{service: t.serviceClient(), deployment: t.deploymentID(), report: t.log.logEvent}
}

func (t *targetRun) serviceClient() ecs.Service {
	return ecs.Service{API: t.opened.account.ECS(), Cluster: t.plan.Cluster, Name: t.plan.Service}
}

// logNotes logs the notes and warnings of the plan, once.
func (t *targetRun) logNotes() {
	for _, note := range t.target.app.Notes {
		t.log.writeLines(contract.LogSeverity_INFO, withoutCommands(note))
	}
	for _, warning := range t.plan.Warnings {
		t.log.writeLines(contract.LogSeverity_INFO, "warning: "+withoutCommands(warning))
	}
}

// openStage opens a stage of the plan. It removes task sets that the official plugin left as if
// this deployment had created them. ask is [stage.Config.Ask].
func (t *targetRun) openStage(index int, ask func(string) bool) (*stage.Run, error) {
	left := t.baseline.Live.Left
	return stage.Open(stage.Config{Account: t.opened.account, Clock: t.plugin.clock, Plan: t.plan, Index: index,
		Deployment: t.deploymentID(), Host: t.host, RetryFor: clock.Forever, Ask: ask,
		MayRemove:  func(id string) bool { return slices.Contains(left, id) },
		OutsideAWS: outsideAWS(t.opened.account)})
}

// updateTags updates the service's tags once the stage's own work is done.
func (t *targetRun) updateTags(ctx context.Context) error {
	if !t.plan.Mode().HasService() {
		return nil
	}
	w := t.newTagWriter()
	switch s := stageOf(t.in); {
	case s.ReplacesPrimary():
		if t.running != nil {
			return w.removeDropped(ctx, t.running.app, t.target.app)
		}
	case s.RollsBack():
		return w.restoreTags(ctx, ownTags(t.in.GetDeployment(), t.commitHash()))
	}
	return nil
}

// isLast reports whether no stage of this plugin follows this one. Then the claim on the service is
// released.
func (t *targetRun) isLast(err error) bool {
	if t.isRollback() {
		return true
	}
	all := t.in.GetDeployment().GetStages()
	if err != nil {
		planned := slices.ContainsFunc(all, (*contract.PipelineStage).GetRollback)
		return !planned && (len(all) > 0 || !t.target.app.AutoRollback)
	}
	if len(all) == 0 {
		known := t.knownStages()
		return t.index >= known[len(known)-1].Index
	}
	return !slices.ContainsFunc(all, func(s *contract.PipelineStage) bool {
		return !s.GetRollback() && s.GetIndex() > t.in.GetStage().GetIndex() && t.plugin.entry.runs(s.GetName())
	})
}

// finishDeployment ends the deployment on this deploy target, as the engine does. It reports what
// is not finished, and that does not fail the deployment: the claim expires by itself. It returns an error if callers do
// not get the version that the deployment or its rollback ended with.
func (t *targetRun) finishDeployment(ctx context.Context, ended error) error {
	retryFor, checkRetry := clock.Forever, func() error { return context.Cause(ctx) }
	if ctx.Err() != nil {
		retryFor, checkRetry = account.LongRetryBudget, nil // piped has ended the stage, and waits for nothing
	}
	w, err := stage.Open(stage.Config{Account: t.opened.account, Clock: t.plugin.clock, Plan: t.plan,
		Index: len(t.plan.Stages), Deployment: t.deploymentID(), Host: t.host,
		RetryFor: retryFor, CheckRetry: checkRetry, CannotResume: true, HasRolledBack: t.isRollback()})
	var end stage.Ending
	if err == nil {
		end, err = w.Finish(context.WithoutCancel(ctx), t.outcomeOf(ended))
	}
	if err != nil {
		t.log.logEvent(sluice.Warned{Message: "auto scaling is not restored: " + err.Error()})
	}
	if end.ClaimErr != nil {
		t.log.logEvent(sluice.Warned{Message: "the claim on the service is not released; it expires by itself: " +
			end.ClaimErr.Error()})
	}
	if end.NoFormer && ended == nil {
		return &sluice.Error{Op: "roll back", Resource: t.plan.Cluster + "/" + t.plan.Service, Kind: sluice.Unhealthy,
			Err: errors.New(end.Cause), Next: "deploy a version that works"}
	}
	if end.Outcome == sluice.Failed && ended == nil {
		return &sluice.Error{Op: "confirm that callers reach the service", Resource: t.plan.Cluster + "/" + t.plan.Service,
			Kind: sluice.OutsideChange, Err: errors.New(end.Cause), Next: end.Next}
	}
	if end.Cause != "" {
		t.log.logEvent(sluice.Warned{Message: end.Cause})
	}
	return nil
}

// outcomeOf returns the outcome of a deployment from the result of its last stage.
func (t *targetRun) outcomeOf(ended error) sluice.Outcome {
	switch kind := sluice.KindOf(ended); {
	case kind == sluice.LostClaim, kind == sluice.Overtaken:
		return sluice.Superseded
	case ended != nil:
		return sluice.Failed
	case t.isRollback():
		return sluice.RolledBack
	}
	return sluice.Succeeded
}
