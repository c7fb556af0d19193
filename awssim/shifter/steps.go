package shifter

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// patience is how long a lifecycle event may take (User Guide, "AppSpec 'hooks'
// section": 3600 seconds).
const patience = time.Hour

// step is one step of a deployment: a lifecycle event, or a wait without one.
type step struct {
	event string
	run   func(*Shifter, *world.Tx, *Deployment)
}

// lifecycle is the order of a deployment (User Guide, "AppSpec 'hooks' section
// for an Amazon ECS deployment"). Test traffic has its events where there is a
// test listener, or a hook that waits for it in vain.
func lifecycle(d *Deployment) []step {
	all := []step{{"BeforeInstall", (*Shifter).hook}, {"Install", (*Shifter).install}, {"AfterInstall", (*Shifter).hook}}
	switch {
	case d.Settings.Test != "":
		all = append(all, step{"AllowTestTraffic", (*Shifter).allowTest}, step{"AfterAllowTestTraffic", (*Shifter).hook})
	case d.Spec.hook("AfterAllowTestTraffic") != "":
		all = append(all, step{"AllowTestTraffic", (*Shifter).skip}, step{"AfterAllowTestTraffic", (*Shifter).skip})
	}
	if d.Settings.Ready != nil {
		all = append(all, step{"", (*Shifter).awaitReady})
	}
	return append(all, step{"BeforeAllowTraffic", (*Shifter).hook}, step{"AllowTraffic", (*Shifter).allow},
		step{"AfterAllowTraffic", (*Shifter).hook}, step{"", (*Shifter).terminate})
}

// delay is how long CodeDeploy takes from one step to the next.
func (s *Shifter) delay(tx *world.Tx, d *Deployment) time.Duration {
	k := tx.Knobs().DeployStep
	d.polls++
	return tx.Between(k.Min, k.Max, "deploy step", d.ID, d.polls)
}

// then goes on with f one delay from now.
func (s *Shifter) then(tx *world.Tx, d *Deployment, f func(*world.Tx, *Deployment)) {
	s.in(tx, d, s.delay(tx, d), f)
}

// in goes on with f so much later, unless the deployment lost its ground.
func (s *Shifter) in(tx *world.Tx, d *Deployment, wait time.Duration, f func(*world.Tx, *Deployment)) {
	tx.Cancel(d.next)
	d.next = tx.After(wait, func(tx *world.Tx) {
		if why := lost(tx, d); why != nil {
			s.fail(tx, d, *why)
			return
		}
		f(tx, d)
	})
}

// lost is why a deployment cannot go on: what it stands on was deleted.
func lost(tx *world.Tx, d *Deployment) *Failure {
	switch svc := d.Service; {
	case d.Group.Application.Gone:
		return &Failure{"APPLICATION_MISSING", "The application " + d.Group.Application.Name + " was deleted while the deployment was in progress."}
	case d.Group.Gone:
		return &Failure{"DEPLOYMENT_GROUP_MISSING", "The deployment group " + d.Group.Name + " was deleted while the deployment was in progress."}
	case svc == nil || svc.Status != "ACTIVE":
		return &Failure{"INVALID_ECS_SERVICE", "The Amazon ECS service " + d.Settings.Service + " in cluster " + d.Settings.Cluster + " does not exist or is not ACTIVE."}
	case svc.Controller != "CODE_DEPLOY":
		return &Failure{"INVALID_ECS_SERVICE", "Deployment group's ECSService must be configured for a CODE_DEPLOY deployment controller."}
	}
	return nil
}

// start is the first thing a deployment does.
func (s *Shifter) start(tx *world.Tx, d *Deployment) {
	s.set(tx, d, InProgress)
	d.Started = tx.Now()
	if d.alarmedBefore(tx) {
		s.alarmed(tx, d)
		return
	}
	s.step(tx, d)
}

func (s *Shifter) set(tx *world.Tx, d *Deployment, status string) {
	tx.Log("deployment", d.ID, "%s -> %s", d.Status, status)
	d.Status, d.Updated = status, tx.Now()
}

// step begins the next step.
func (s *Shifter) step(tx *world.Tx, d *Deployment) {
	if d.at++; d.at == len(d.steps) {
		s.succeed(tx, d)
		return
	}
	if e := d.current(); e != nil {
		e.Status, e.Start, d.Updated = InProgress, tx.Now(), tx.Now()
		tx.Log("deployment", d.ID, "%s", e.Name)
	}
	d.steps[d.at].run(s, tx, d)
}

// current is the lifecycle event of the step, or nil.
func (d *Deployment) current() *Event {
	if d.at < 0 || d.at >= len(d.steps) {
		return nil
	}
	return d.Event(d.steps[d.at].event)
}

// done ends the step and goes on to the next.
func (s *Shifter) done(tx *world.Tx, d *Deployment) {
	s.close(tx, d, Succeeded)
	s.then(tx, d, s.step)
}

// close ends the step's lifecycle event and its patience.
func (s *Shifter) close(tx *world.Tx, d *Deployment, status string) {
	tx.Cancel(d.limit)
	if e := d.current(); e != nil && e.Status == InProgress {
		e.Status, e.End, d.Updated = status, tx.Now(), tx.Now()
	}
}

func (s *Shifter) skip(tx *world.Tx, d *Deployment) {
	s.close(tx, d, Skipped)
	s.step(tx, d)
}

// within fails the deployment if the step is not done in time.
func (s *Shifter) within(tx *world.Tx, d *Deployment, limit time.Duration, late func(*world.Tx)) {
	d.limit = tx.After(limit, late)
}

// hook calls the function of a lifecycle event and waits for what it says.
func (s *Shifter) hook(tx *world.Tx, d *Deployment) {
	e := d.current()
	e.Function = d.Spec.hook(e.Name)
	if e.Function == "" {
		s.close(tx, d, Succeeded)
		s.step(tx, d)
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
	s.within(tx, d, patience, func(tx *world.Tx) {
		s.hookFailed(tx, d, "ScriptTimedOut", "The Lambda function "+e.Function+" did not report a status within 3600 seconds.")
	})
	if f.Result != world.FunctionHangs {
		ok := f.Result != world.FunctionFails
		tx.After(f.After, func(tx *world.Tx) { s.Report(tx, d, id, ok) })
	}
}

// Report is what a hook's function says of itself. One that says it too late, or
// twice, is not heard.
func (s *Shifter) Report(tx *world.Tx, d *Deployment, execution string, ok bool) {
	e := d.Hooked(execution)
	switch {
	case e == nil || e.Status != InProgress || d.stopping || d.Ended():
	case ok:
		s.done(tx, d)
	default:
		s.hookFailed(tx, d, "ScriptFailed", "The Lambda function "+e.Function+" reported Failed.")
	}
}

func (s *Shifter) hookFailed(tx *world.Tx, d *Deployment, code, message string) {
	if e := d.current(); e != nil {
		e.Error, e.Message = code, message
	}
	s.fail(tx, d, Failure{"HOOK_EXECUTION_FAILURE", "The deployment failed because one or more of the lifecycle event validation functions failed. " + message})
}

// lastPart is the name in a function's ARN, without a version.
func lastPart(function string) string {
	if _, name, ok := strings.Cut(function, ":function:"); ok {
		function = name
	}
	name, _, _ := strings.Cut(function, ":")
	return name
}

// awaitReady waits for ContinueDeployment.
func (s *Shifter) awaitReady(tx *world.Tx, d *Deployment) {
	s.set(tx, d, Ready)
	s.within(tx, d, *d.Settings.Ready, func(tx *world.Tx) {
		s.end(tx, d, Stopped, Failure{"TIMEOUT", "The deployment was stopped: it was not continued within the wait time of its deployment group."})
	})
}

// Continue ends the wait before production traffic is shifted. It reports
// whether the deployment was waiting.
func (s *Shifter) Continue(tx *world.Tx, d *Deployment) bool {
	if d.Status != Ready || d.stopping {
		return false
	}
	s.set(tx, d, InProgress)
	s.done(tx, d)
	return true
}
