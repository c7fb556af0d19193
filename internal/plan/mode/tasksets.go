package mode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// taskSetLimit is how many task sets a service can have, including DRAINING ones (observed; the
// quota page does not list it).
const taskSetLimit = 5

// taskSetRules are the rules of primary and canary as task sets of one service.
func taskSetRules() rules {
	return rules{
		mode: plan.ModeTaskSets, make: makeService,
		refuseEarly: refuseRollbackEvents, refuse: refuseTaskSets, refuseIdle: refuseNoTasks,
		prepare: prepareNothing, finish: finishNothing,
		hasLeftovers: hasLeftoverSets, listChanges: listServiceChanges,
		syncWrites: addTaskSetSync, canaryWrites: addTaskSetStart, primaryWrites: addTaskSetPromotion,
		cleanWrites: addTaskSetClean, adoptWrites: addTaskSetAdoption, rollbackWrites: addTaskSetRollback,
		growWrites: addTaskSetUpdate, guardWrites: guardTaskSets, replaceTime: (*forecast.Estimate).TaskSetTime,
		warnService: warnTaskSets, warn: warnSetVariants,
		words: words{
			stages: "Stages (quick sync)", sync: taskSetText, summary: noWords, canary: canaryText,
			primary: "the new revision becomes primary", rollback: "restore the previous state",
		},
	}
}

func taskSetText(_ *plan.Plan, s plan.Stage) string {
	if s.Recreate {
		return "stop the running tasks, then start the new revision"
	}
	return "the new revision takes over in one step"
}

func canaryText(_ *plan.Plan, s plan.Stage) string {
	return fmt.Sprintf("start the canary at %d%%", s.Scale)
}

func refuseTaskSets(app *appfile.Application, live plan.AWSState, o Options) error {
	if o.Force {
		return &sluice.Error{Op: "plan", Resource: app.File,
			Err:  errors.New("AWS cannot force a new deployment of a service with controller EXTERNAL"),
			Next: "remove --force-new-deployment; to run the stages again, use --force"}
	}
	return refuseAccess(app, live, o)
}

// refuseNoTasks rejects a pipeline of task sets whose desired count is 0: without a task no canary
// becomes healthy. Quick sync applies the count of the file. A canary is a part of the tasks that the service has now, so
// it has none if they were scaled to 0.
func refuseNoTasks(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	switch none := wantsNoTasks(app, live); {
	case p.QuickSync:
		return nil
	case !none && live.ServiceStatus() == "ACTIVE" && live.Service.DesiredCount == 0 &&
		slices.ContainsFunc(p.Stages, plan.Stage.StartsCanary):
		return &sluice.Error{Op: "plan", Resource: app.File,
			Err:  errors.New("the service has a desired count of 0 now, so its canary would have no task"),
			Next: fmt.Sprintf("run sluice scale --tasks %d first, then deploy", *app.Service.Input.DesiredCount)}
	case !none:
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: app.File,
		Err:  errors.New("the desired count is 0: without tasks, a task set of a pipeline cannot become healthy"),
		Next: "use --tasks 1 or more, or --quick-sync, which scales the service to 0"}
}

// hasLeftoverSets reports whether there are task sets to remove. Without a PRIMARY task set a
// leftover may be the only one that serves, so it stays.
func hasLeftoverSets(app *appfile.Application, live plan.AWSState) bool {
	theirs := app.OnOtherTargets == sluice.RemoveTargets && len(externalSets(live, app)) > 0
	return live.PrimarySet() != nil && (len(live.LeftoverSets()) > 0 || theirs || live.LeftRecords > 0)
}

func addTaskSetSync(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	s.Recreate = p.Recreate && !live.IsFirstDeployment()
	addUpdateWrites(p, s, live)
	if s.Recreate {
		s.AddWrite("ecs:UpdateTaskSet", plan.PreviousPrimarySet)
	}
	addNewPrimary(p, s)
	addRoutes(p, s, live, sluice.CanaryShare(0))
	addRetireWrites(s, plan.PreviousPrimarySet, plan.CanarySet, plan.OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		addRetireWrites(s, plan.ExternalSets)
	}
}

// addNewPrimary adds the writes that create the new task set of the primary and promote it.
func addNewPrimary(p *plan.Plan, s *plan.Stage) {
	s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	s.AddWrite("ecs:UpdateTaskSet", plan.NewPrimarySet)
	s.AddWrite("ecs:UpdateServicePrimaryTaskSet", plan.NewPrimarySet)
}

func addTaskSetStart(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addVariantWrites(p, s, live)
	s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	s.AddWrite("ecs:UpdateTaskSet", plan.CanarySet)
}

func addTaskSetPromotion(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addUpdateWrites(p, s, live)
	addNewPrimary(p, s)
	if !s.KeepOld && live.PrimarySet() != nil {
		addRetireWrites(s, plan.PreviousPrimarySet)
	}
}

func addTaskSetClean(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addRoutes(p, s, live, sluice.CanaryShare(0))
	addRetireWrites(s, plan.CanarySet)
	addClaimWrites(p, s)
}

// addTaskSetAdoption adds the writes that route all traffic to the primary and remove the other task
// sets of sluice.
func addTaskSetAdoption(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	s.AddWrite("ecs:UpdateTaskSet", plan.ServingSet)
	addRoutes(p, s, live, sluice.CanaryShare(0))
	addRetireWrites(s, plan.OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		addRetireWrites(s, plan.ExternalSets)
	}
}

func addTaskSetRollback(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addRestoreWrites(p, s, live)
	if live.PrimarySet() != nil {
		s.AddWrite("ecs:UpdateTaskSet", plan.PreviousPrimarySet)
		s.AddWrite("ecs:UpdateServicePrimaryTaskSet", plan.PreviousPrimarySet, plan.RestoredSet)
		s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
		s.AddWrite("ecs:UpdateTaskSet", plan.RestoredSet)
	}
	addRetireWrites(s, plan.NewPrimarySet, plan.CanarySet)
}

func addTaskSetUpdate(_ *plan.Plan, s *plan.Stage) {
	s.AddWrite("ecs:UpdateTaskSet", plan.CanarySet)
}

// guardTaskSets adds the writes that restore the state in which the stage begins.
func guardTaskSets(p *plan.Plan, s *plan.Stage, live plan.AWSState, begins plan.State) {
	if !guardService(p, s, live) {
		return
	}
	if begins.Canary.Exists() {
		s.AddWrite("ecs:UpdateTaskSet", plan.CanarySet)
		s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	}
	label := plan.PreviousPrimarySet
	if begins.NewPrimary {
		label = plan.NewPrimarySet
	}
	if begins.NewPrimary || live.PrimarySet() != nil {
		s.AddWrite("ecs:UpdateTaskSet", label)
		s.AddWrite("ecs:UpdateServicePrimaryTaskSet", label)
	}
}

func warnSetVariants(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	warnVariants(p, app, live, warnNothing)
	if live.IsFirstDeployment() {
		addWarning(p, "no version is running: nothing is deleted, and a rollback leaves the service without a "+
			"PRIMARY task set")
	}
	warnFirstPipeline(p, app, live)
}

// warnTaskSets warns about task sets that sluice removes, keeps or did not create.
func warnTaskSets(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	for _, ts := range live.TaskSets {
		switch {
		case ts.Status != "ACTIVE":
		case slices.ContainsFunc(live.LeftoverSets(), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			warnLeftover(p, ts)
		case !slices.ContainsFunc(externalSets(live, app), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			addWarning(p, "task set %s (%s) is ACTIVE, but sluice did not create it and does not change it", ts.ID,
				ts.Revision)
		case p.OnOtherTargets == sluice.RemoveTargets:
			addWarning(p, "task set %s (%s) was not created by sluice and gets requests: sluice drains and deletes it "+
				"(onOtherTargets: remove)", ts.ID, ts.Revision)
		default:
			addWarning(p, "task set %s (%s) was not created by sluice and gets a part of the requests "+
				"(onOtherTargets: allow)", ts.ID, ts.Revision)
		}
	}
	if need := len(live.TaskSets) + 2; need > taskSetLimit {
		addWarning(p, "the service has %d task sets and AWS allows about %d: a pipeline needs two more",
			len(live.TaskSets), taskSetLimit)
	}
}

// warnLeftover warns about a leftover task set and names the stage that removes it.
func warnLeftover(p *plan.Plan, ts sluice.TaskSet) {
	switch {
	case p.Adopts():
		addWarning(p, "task set %s (%s) was left by an earlier deployment: sluice removes it before the first stage",
			ts.ID, ts.Revision)
	case p.From != "" && p.From == p.To && !hasSync(p):
		addWarning(p, "task set %s (%s) was left by an earlier deployment and is kept, with its part of the requests: the "+
			"next deployment of a version removes it", ts.ID, ts.Revision)
	case hasSync(p):
		addWarning(p, "task set %s (%s) was left by an earlier deployment: ECS_SYNC removes it", ts.ID, ts.Revision)
	default:
		addWarning(p, "task set %s (%s) was left by an earlier deployment and is kept: no task set is PRIMARY, so it "+
			"may get the requests", ts.ID, ts.Revision)
	}
}
