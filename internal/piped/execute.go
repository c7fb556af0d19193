package piped

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
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
func (p *plugin) ExecuteStage(ctx context.Context, r *contract.ExecuteStageRequest) (*contract.ExecuteStageResponse, error) {
	in := r.GetInput()
	log := openLog(p.piped, in.GetDeployment().GetId(), in.GetStage())
	defer log.close()
	err := p.execute(ctx, in, log)
	switch {
	case err == nil:
		log.write(contract.LogSeverity_SUCCESS, "done")
		return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_SUCCESS}, nil
	case ctx.Err() != nil:
		log.write(contract.LogSeverity_ERROR, "stopped: "+whyStopped(ctx)+"; what was made is found by the next attempt, or undone by the rollback")
		return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_CANCELLED, Message: err.Error()}, nil
	}
	log.write(contract.LogSeverity_ERROR, "failed: "+err.Error())
	if next := sluice.NextStep(err); next != "" {
		log.write(contract.LogSeverity_ERROR, "next: "+next)
	}
	return &contract.ExecuteStageResponse{Status: contract.StageStatus_STAGE_FAILURE, Message: err.Error()}, nil
}

// stopReason returns why a stage ended: the plugin's own reason, or piped's. piped ends its call
// for a person, at a stage's timeout and when piped itself is stopped.
func whyStopped(ctx context.Context) string {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause.Error()
	}
	return "piped ended the stage: it was cancelled, its timeout passed, or piped is being stopped"
}

func (p *plugin) execute(ctx context.Context, in *contract.ExecutePluginInput, log *stageLog) error {
	if !slices.Contains(ourStages, in.GetStage().GetName()) {
		return &sluice.Error{Op: "run stage " + in.GetStage().GetName(), Err: errors.New("this plugin has no such stage")}
	}
	targets, err := p.targetsOf(in.GetDeployment())
	if err != nil {
		return err
	}
	target, err := p.entry.load(in.GetTargetDeploymentSource())
	if err != nil && in.GetStage().GetName() != appfile.StageRollback {
		return err
	}
	var running *loaded
	if in.GetRunningDeploymentSource() != nil {
		running, _ = p.entry.load(in.GetRunningDeploymentSource()) // it is used only for the tags of the earlier files
	}
	var failed []error
	for _, name := range targets {
		t := &turn{plugin: p, in: in, log: log, target: target, running: running, failed: err}
		t.host = &host{piped: p.piped, plugin: p.entry.Name, deployment: in.GetDeployment().GetId(), tell: log.event}
		if len(targets) > 1 {
			t.host.prefix = name + "/"
			log.write(contract.LogSeverity_INFO, "deploy target "+name)
		}
		if err := t.run(ctx, name); err != nil {
			failed = append(failed, inTarget(name, len(targets), err))
		}
		if len(failed) > 0 && !t.rollsBack() { // a rollback continues with the other targets
			break
		}
	}
	return errors.Join(failed...)
}

func inTarget(name string, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("deploy target %s: %w", name, err)
}

// targetRun runs a stage on one deploy target.
type turn struct {
	plugin          *plugin
	in              *contract.ExecutePluginInput
	log             *stageLog
	host            *host
	target, running *loaded
	failed          error // why the files of the target commit cannot be read; the rollback may not need them

	place  *place
	ground ground
	begun  bool // the baseline had been saved
	app    *appfile.Application
	plan   *plan.Plan
	index  int // of the stage in the plan
}

func (t *turn) run(ctx context.Context, target string) (err error) {
	ctx = t.patient(ctx, clock.Forever)
	if t.place, err = t.plugin.places.get(ctx, target); err != nil {
		return err
	}
	if t.ground, t.begun, err = loadGround(ctx, t.host); err != nil {
		return err
	}
	if err := t.officials(ctx); err != nil {
		return err
	}
	if t.rollsBack() && !t.begun {
		t.log.write(contract.LogSeverity_INFO, "nothing was changed, so that nothing is to be put back")
		return nil
	}
	if t.failed != nil {
		return t.failed
	}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	w, err := t.open(t.index)
	if err != nil {
		return err
	}
	if err = t.clear(ctx); err == nil {
		err = w.Execute(ctx)
	}
	if err == nil {
		err = t.after(ctx)
	}
	if t.over(err) {
		t.release(ctx, err)
	}
	return err
}

// withLongRetry makes calls retry when AWS does not respond. piped cannot pause a deployment, so a
// stage retries until piped ends it.
func (t *turn) patient(ctx context.Context, budget time.Duration) context.Context {
	return account.WithPatience(ctx, &account.Patient{Budget: budget, Ask: func() error { return context.Cause(ctx) },
		Tell: func(e sluice.Unanswered) { t.log.event(e) }})
}

func (t *turn) rollsBack() bool { return t.in.GetStage().GetName() == appfile.StageRollback }

// officialKeys are metadata keys that PipeCD's ECS plugin writes during a deployment. This plugin
// writes some of them too, but never before its own keys.
var officialKeys = []string{"canary-task-set", "current-listeners", "canary-target-group-arn"}

// refuseOfficial refuses a deployment that the official plugin began, because piped was switched to
// this plugin in the middle of it. Without the refusal, a rollback that restores nothing would be
// reported as a success.
func (t *turn) officials(ctx context.Context) error {
	if t.begun {
		return nil
	}
	h := *t.host
	h.prefix = ""
	for _, key := range officialKeys {
		if _, there, err := h.Load(ctx, key); err != nil || !there {
			if err != nil {
				return err
			}
			continue
		}
		return &sluice.Error{Op: "run stage " + t.in.GetStage().GetName(), Kind: sluice.Conflict,
			Err:  fmt.Errorf("another plugin began this deployment: it has metadata %s and none of ours", key),
			Next: "give piped the former plugin back until it has ended; or deploy again: ECS_SYNC puts all traffic on the primary and removes what is left"}
	}
	return nil
}

// preparePlan makes the plan from the saved baseline. In the first stage of the deployment it makes
// the plan from the current state in AWS, and saves that.
func (t *turn) prepare(ctx context.Context) (err error) {
	t.app = tagged(t.target.app, ownTags(t.in.GetDeployment(), t.commit()))
	if t.begun {
		t.plan, err = t.ground.plan(t.app)
	} else {
		t.ground, t.plan, err = take(ctx, t.place, t.plugin, t.app, t.in.GetDeployment().GetApplicationId(), t.id(), t.quick())
	}
	if err != nil {
		return err
	}
	if err := t.own(ctx); err != nil {
		return err
	}
	if !t.begun {
		if err := saveGround(ctx, t.host, t.ground); err != nil {
			return err
		}
		t.explain()
	}
	t.index = t.find()
	if t.index < 0 {
		return &sluice.Error{Op: "run stage " + t.in.GetStage().GetName(), Err: fmt.Errorf("the pipeline of the application has no such stage at place %d", t.in.GetStage().GetIndex()+1)}
	}
	t.host.start, err = began(ctx, t.host, t.in.GetStage().GetId(), t.plugin.clock.Now())
	return err
}

// commitHash returns the commit that serves when the stage is done.
func (t *turn) commit() string {
	if !t.rollsBack() {
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
func (t *turn) quick() bool {
	at := int(t.in.GetStage().GetIndex())
	return at >= len(t.target.pipeline) || t.target.pipeline[at] != t.in.GetStage().GetName()
}

// planIndex returns the index of the stage in the plan, or -1 if the plan does not contain it.
func (t *turn) find() int {
	if t.rollsBack() {
		return len(t.plan.Stages)
	}
	if t.plan.Standalone && t.in.GetStage().GetName() == appfile.StageSync {
		return 0 // its stage has sluice's name: RUN_TASK or REGISTER
	}
	i := 0
	if t.plan.Adopts() {
		i++ // a stage that piped does not know, see removeLeftovers
	}
	if !t.ground.Quick {
		i += indexOf(t.target.pipeline, int(t.in.GetStage().GetIndex()))
	}
	if i >= len(t.plan.Stages) || t.plan.Stages[i].Name != t.in.GetStage().GetName() {
		return -1
	}
	return i
}

// ensureOwned refuses another application's service. It removes a claim that an earlier deployment
// of this application left: piped runs one deployment at a time, and does not report when one has
// ended.
func (t *turn) own(ctx context.Context) error {
	if t.plan.Standalone {
		return nil
	}
	live, err := t.hand().Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" {
		return err
	}
	if err := owned(live, t.in.GetDeployment(), t.hand().Resource()); err != nil {
		return err
	}
	over := overClaim(live.Tags[plan.ClaimTag], t.in.GetDeployment().GetApplicationId(), t.id())
	if over == "" {
		return nil
	}
	t.log.write(contract.LogSeverity_INFO, "deployment "+over+" of this application is over and left its claim on the service: the claim is removed")
	return t.tags().hand.Untag(ctx, t.tags().act, "remove a claim that was left", live.ARN, plan.ClaimTag)
}

// leftoverClaim returns the earlier deployment of the application that left the claim. It is empty
// if the claim is this deployment's or another application's. piped runs one deployment of an
// application at a time, so the earlier one has ended.
func overClaim(claim, application, deployment string) string {
	k, err := plan.ParseClaim(claim)
	if err != nil || k.Deployment == deployment || !strings.HasPrefix(k.Deployment, idOf(application, "")) {
		return ""
	}
	return k.Deployment
}

// deploymentID names the deployment in claims and in the resources that it creates.
func (t *turn) id() string {
	return idOf(t.in.GetDeployment().GetApplicationId(), t.in.GetDeployment().GetId())
}

// deploymentIDOf returns an id that has the same prefix for all deployments of an application.
func idOf(application, deployment string) string {
	sum := sha256.Sum256([]byte(application))
	return plan.IDPrefix + hex.EncodeToString(sum[:4]) + "-" + deployment
}

func (t *turn) tags() tagWriter {
	return tagWriter{hand: t.hand(), deployment: t.id(), tell: t.log.event}
}

func (t *turn) hand() ecs.Service {
	return ecs.Service{API: t.place.account.ECS(), Cluster: t.plan.Cluster, Name: t.plan.Service}
}

// logNotes logs the notes and warnings of the plan, once.
func (t *turn) explain() {
	for _, note := range t.target.app.Notes {
		t.log.write(contract.LogSeverity_INFO, note)
	}
	for _, warning := range t.plan.Warnings {
		t.log.write(contract.LogSeverity_INFO, "warning: "+warning)
	}
}

// openStage opens a stage of the plan. It removes task sets that the official plugin left as if
// this deployment had created them.
func (t *turn) open(index int) (*stage.Run, error) {
	left := t.ground.Live.Left
	return stage.Open(stage.Config{Account: t.place.account, Clock: t.plugin.clock, Plan: t.plan, Index: index,
		Deployment: t.id(), Host: t.host, TryFor: clock.Forever, Ours: func(id string) bool { return slices.Contains(left, id) }})
}

// removeLeftovers removes what earlier deployments left, before the first stage of this plugin
// runs. piped has no stage for that. A rollback removes leftovers itself if it must.
func (t *turn) clear(ctx context.Context) error {
	if !t.plan.Adopts() || t.rollsBack() {
		return nil
	}
	w, err := t.open(0)
	if err != nil {
		return err
	}
	if done, err := w.IsDone(ctx); err != nil || done {
		return err
	}
	return w.Execute(ctx)
}

// updateTags updates the service's tags once the stage's own work is done.
func (t *turn) after(ctx context.Context) error {
	if t.plan.Standalone {
		return nil
	}
	w := t.tags()
	switch t.in.GetStage().GetName() {
	case appfile.StageSync, appfile.StagePrimaryRollout:
		if t.running != nil {
			return w.tidy(ctx, t.running.app, t.target.app)
		}
	case appfile.StageRollback:
		return w.restore(ctx, ownTags(t.in.GetDeployment(), t.commit()))
	}
	return nil
}

// isLast reports whether no stage of this plugin follows this one. Then the claim on the service is
// released.
func (t *turn) over(err error) bool {
	if t.rollsBack() {
		return true
	}
	all := t.in.GetDeployment().GetStages()
	if err != nil {
		planned := slices.ContainsFunc(all, (*contract.PipelineStage).GetRollback)
		return !planned && (len(all) > 0 || !t.target.app.AutoRollback)
	}
	if len(all) == 0 {
		return t.index >= len(t.plan.Stages)-1
	}
	return !slices.ContainsFunc(all, func(s *contract.PipelineStage) bool {
		return !s.GetRollback() && s.GetIndex() > t.in.GetStage().GetIndex() && slices.Contains(ourStages, s.GetName())
	})
}

// releaseService restores auto scaling, then releases the claim. If the claim cannot be released,
// the deployment does not fail: the claim expires by itself.
func (t *turn) release(ctx context.Context, ended error) {
	ctx = context.WithoutCancel(ctx)
	w, err := stage.Open(stage.Config{Account: t.place.account, Clock: t.plugin.clock, Plan: t.plan, Index: len(t.plan.Stages),
		Deployment: t.id(), Host: t.host, TryFor: account.Patience})
	if err == nil && ended == nil && !t.rollsBack() {
		if err := w.Tidy(ctx); err != nil {
			t.log.event(sluice.Warned{Message: "old task definitions stay: " + err.Error()})
		}
	}
	if err == nil {
		if err := w.GiveBack(ctx); err != nil {
			t.log.event(sluice.Warned{Message: "auto scaling is not given back: " + err.Error()})
			return // the claim stays too, so the next deployment finds both
		}
		kind := sluice.KindOf(ended)
		err = w.Release(ctx, kind == sluice.LostClaim || kind == sluice.Overtaken)
	}
	if err != nil {
		t.log.event(sluice.Warned{Message: "the claim on the service is not given back, it runs out by itself: " + err.Error()})
	}
}
