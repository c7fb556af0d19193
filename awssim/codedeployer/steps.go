package codedeployer

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// eventTimeout is the longest duration of a lifecycle event (User Guide, "AppSpec 'hooks' section":
// 3600 seconds).
const eventTimeout = time.Hour

// lifecycleStep is one step of a deployment: a lifecycle event, or a wait without an event.
type lifecycleStep struct {
	event string
	run   func(*Controller, *world.Tx, *Deployment)
}

// lifecycleSteps returns the order of a deployment (User Guide, "AppSpec 'hooks' section for an
// Amazon ECS deployment"). It includes the test traffic events if there is a test listener. With
// only a hook for test traffic, the events are included and skipped.
func lifecycleSteps(d *Deployment) []lifecycleStep {
	all := []lifecycleStep{{"BeforeInstall", (*Controller).runHook}, {"Install", (*Controller).installReplacement},
		{"AfterInstall", (*Controller).runHook}}
	switch {
	case d.Settings.Test != "":
		all = append(all, lifecycleStep{"AllowTestTraffic", (*Controller).allowTestTraffic},
			lifecycleStep{"AfterAllowTestTraffic", (*Controller).runHook})
	case d.Spec.hookFunction("AfterAllowTestTraffic") != "":
		all = append(all, lifecycleStep{"AllowTestTraffic", (*Controller).skipStep},
			lifecycleStep{"AfterAllowTestTraffic", (*Controller).skipStep})
	}
	if d.Settings.Ready != nil {
		all = append(all, lifecycleStep{"", (*Controller).awaitReady})
	}
	return append(all, lifecycleStep{"BeforeAllowTraffic", (*Controller).runHook},
		lifecycleStep{"AllowTraffic", (*Controller).allowTraffic},
		lifecycleStep{"AfterAllowTraffic", (*Controller).runHook}, lifecycleStep{"", (*Controller).awaitTermination})
}

// stepDelay returns CodeDeploy's delay between two steps.
func (s *Controller) stepDelay(tx *world.Tx, d *Deployment) time.Duration {
	k := tx.Settings().DeployStep
	d.polls++
	return tx.RandomBetween(k.Min, k.Max, "deploy step", d.ID, d.polls)
}

// runNext runs f after one step delay.
func (s *Controller) runNext(tx *world.Tx, d *Deployment, f func(*world.Tx, *Deployment)) {
	s.runAfter(tx, d, s.stepDelay(tx, d), f)
}

// runAfter runs f after the wait. It fails the deployment instead if a resource that it needs is
// missing.
func (s *Controller) runAfter(tx *world.Tx, d *Deployment, wait time.Duration, f func(*world.Tx, *Deployment)) {
	tx.Cancel(d.next)
	d.next = tx.After(wait, func(tx *world.Tx) {
		if why := missingReason(tx, d); why != nil {
			s.failDeployment(tx, d, *why)
			return
		}
		f(tx, d)
	})
}

// missingReason returns why a deployment cannot continue: a resource that it needs was deleted.
func missingReason(tx *world.Tx, d *Deployment) *Failure {
	switch svc := d.Service; {
	case d.Group.Application.Deleted:
		return &Failure{"APPLICATION_MISSING", "The application " + d.Group.Application.Name +
			" was deleted while the deployment was in progress."}
	case d.Group.Deleted:
		return &Failure{"DEPLOYMENT_GROUP_MISSING", "The deployment group " + d.Group.Name +
			" was deleted while the deployment was in progress."}
	case svc == nil || svc.Status != "ACTIVE":
		return &Failure{"INVALID_ECS_SERVICE", "The Amazon ECS service " + d.Settings.Service + " in cluster " +
			d.Settings.Cluster + " does not exist or is not ACTIVE."}
	case svc.Controller != "CODE_DEPLOY":
		return &Failure{"INVALID_ECS_SERVICE",
			"Deployment group's ECSService must be configured for a CODE_DEPLOY deployment controller."}
	}
	return nil
}

// startSteps starts the first step of a deployment.
func (s *Controller) startSteps(tx *world.Tx, d *Deployment) {
	s.setStatus(tx, d, InProgress)
	d.Started = tx.Now()
	if d.isAlarmedAtStart(tx) {
		s.stopOnAlarm(tx, d)
		return
	}
	s.runNextStep(tx, d)
}

func (s *Controller) setStatus(tx *world.Tx, d *Deployment, status string) {
	tx.Log("deployment", d.ID, "%s -> %s", d.Status, status)
	d.Status, d.Updated = status, tx.Now()
}

// runNextStep begins the next step.
func (s *Controller) runNextStep(tx *world.Tx, d *Deployment) {
	if d.at++; d.at == len(d.steps) {
		s.succeedDeployment(tx, d)
		return
	}
	if e := d.currentEvent(); e != nil {
		e.Status, e.Start, d.Updated = InProgress, tx.Now(), tx.Now()
		tx.Log("deployment", d.ID, "%s", e.Name)
	}
	d.steps[d.at].run(s, tx, d)
}

// currentEvent returns the lifecycle event of the step, or nil.
func (d *Deployment) currentEvent() *Event {
	if d.at < 0 || d.at >= len(d.steps) {
		return nil
	}
	return d.Event(d.steps[d.at].event)
}

// completeStep ends the step and continues with the next.
func (s *Controller) completeStep(tx *world.Tx, d *Deployment) {
	s.closeEvent(tx, d, Succeeded)
	s.runNext(tx, d, s.runNextStep)
}

// closeEvent ends the step's lifecycle event and its timeout.
func (s *Controller) closeEvent(tx *world.Tx, d *Deployment, status string) {
	tx.Cancel(d.limit)
	if e := d.currentEvent(); e != nil && e.Status == InProgress {
		e.Status, e.End, d.Updated = status, tx.Now(), tx.Now()
	}
}

func (s *Controller) skipStep(tx *world.Tx, d *Deployment) {
	s.closeEvent(tx, d, Skipped)
	s.runNextStep(tx, d)
}

// limitStep runs late if the step takes longer than the limit.
func (s *Controller) limitStep(tx *world.Tx, d *Deployment, limit time.Duration, late func(*world.Tx)) {
	d.limit = tx.After(limit, late)
}

// runHook calls the function of a lifecycle event and waits for its report.
func (s *Controller) runHook(tx *world.Tx, d *Deployment) {
	e := d.currentEvent()
	e.Function = d.Spec.hookFunction(e.Name)
	if e.Function == "" {
		s.closeEvent(tx, d, Succeeded)
		s.runNextStep(tx, d)
		return
	}
	f, ok := tx.Functions.Get(lastPart(e.Function))
	if !ok {
		s.hookFailed(tx, d, "ScriptMissing", "The Lambda function "+e.Function+" was not found.")
		return
	}
	e.Execution = tx.NewUUID("hook execution")
	id := e.Execution
	tx.Invoke(f, world.Invocation{Deployment: d.ID, Event: e.Name, Execution: id})
	s.limitStep(tx, d, eventTimeout, func(tx *world.Tx) {
		s.hookFailed(tx, d, "ScriptTimedOut",
			"The Lambda function "+e.Function+" did not report a status within 3600 seconds.")
	})
	if f.Result != world.FunctionHangs {
		ok := f.Result != world.FunctionFails
		tx.After(f.After, func(tx *world.Tx) { s.ReportHook(tx, d, id, ok) })
	}
}

// ReportHook handles the status that a hook's function reports. A late or repeated report is
// ignored.
func (s *Controller) ReportHook(tx *world.Tx, d *Deployment, execution string, ok bool) {
	e := d.EventOfHook(execution)
	switch {
	case e == nil || e.Status != InProgress || d.stopping || d.HasEnded():
	case ok:
		s.completeStep(tx, d)
	default:
		s.hookFailed(tx, d, "ScriptFailed", "The Lambda function "+e.Function+" reported Failed.")
	}
}

func (s *Controller) hookFailed(tx *world.Tx, d *Deployment, code, message string) {
	if e := d.currentEvent(); e != nil {
		e.Error, e.Message = code, message
	}
	s.failDeployment(tx, d, Failure{"HOOK_EXECUTION_FAILURE",
		"The deployment failed because one or more of the lifecycle event validation functions failed. " + message})
}

// lastPart returns the name in a function's ARN, without a version.
func lastPart(function string) string {
	if _, name, ok := strings.Cut(function, ":function:"); ok {
		function = name
	}
	name, _, _ := strings.Cut(function, ":")
	return name
}

// awaitReady waits for ContinueDeployment.
func (s *Controller) awaitReady(tx *world.Tx, d *Deployment) {
	s.setStatus(tx, d, Ready)
	s.limitStep(tx, d, *d.Settings.Ready, func(tx *world.Tx) {
		s.endDeployment(tx, d, Stopped,
			Failure{"TIMEOUT", "The deployment was stopped: it was not continued within the wait time of its " +
				"deployment group."})
	})
}

// ContinueDeployment ends the wait before production traffic is shifted. It reports whether the
// deployment was waiting.
func (s *Controller) ContinueDeployment(tx *world.Tx, d *Deployment) bool {
	if d.Status != Ready || d.stopping {
		return false
	}
	s.setStatus(tx, d, InProgress)
	s.completeStep(tx, d)
	return true
}
