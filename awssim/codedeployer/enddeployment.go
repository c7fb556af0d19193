package codedeployer

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func (s *Controller) succeedDeployment(tx *world.Tx, d *Deployment) {
	s.finishDeployment(tx, d, Succeeded)
	if d.Creator == ByRollback {
		if from, ok := StateOf(tx).Deployments.Get(d.Triggered); ok {
			from.RollbackMessage = "The deployment was rolled back by " + d.ID + "."
		}
	} else {
		d.Group.Successful = d
	}
	s.setDeployedBy(tx, d, "")
}

// failDeployment ends a deployment that cannot continue.
func (s *Controller) failDeployment(tx *world.Tx, d *Deployment, why Failure) {
	s.closeEvent(tx, d, Failed)
	s.endDeployment(tx, d, Failed, why)
}

// StopDeployment ends a deployment at a user's request, after a delay. With rollback nil, the
// group's settings decide about the rollback.
func (s *Controller) StopDeployment(tx *world.Tx, d *Deployment, rollback *bool) {
	if d.stopping {
		return
	}
	d.stopping = true
	tx.Cancel(d.limit)
	tx.Cancel(d.next)
	d.next = tx.After(s.stepDelay(tx, d), func(tx *world.Tx) {
		back := d.rollsBack(OnRequest)
		if rollback != nil {
			back = *rollback
		}
		s.concludeDeployment(tx, d, Stopped,
			Failure{"MANUAL_STOP", "The deployment was stopped at the request of a user."}, back)
	})
}

// isAlarmedAtStart reports whether an alarm is raised or missing when the deployment starts.
func (d *Deployment) isAlarmedAtStart(tx *world.Tx) bool {
	for _, name := range d.Settings.Alarms.Names {
		a, ok := tx.Alarms.Get(name)
		if ok && a.State == world.AlarmRaised || !ok && !d.Settings.Alarms.IgnoreUnknown {
			return true
		}
	}
	return false
}

// stopOnAlarm stops a deployment whose alarm is raised, after a delay.
func (s *Controller) stopOnAlarm(tx *world.Tx, d *Deployment) {
	if d.stopping || d.HasEnded() {
		return
	}
	d.stopping = true
	var active []string
	for _, name := range d.Settings.Alarms.Names {
		if a, ok := tx.Alarms.Get(name); !ok || a.State == world.AlarmRaised {
			active = append(active, name)
		}
	}
	tx.Cancel(d.limit)
	tx.Cancel(d.next)
	d.next = tx.After(s.stepDelay(tx, d), func(tx *world.Tx) {
		s.endDeployment(tx, d, Stopped, Failure{"ALARM_ACTIVE",
			"One or more alarms have been activated according to the Amazon CloudWatch metrics you selected, and " +
				"the affected deployments have been stopped. Activated alarms: " + strings.Join(active, ", ")})
	})
}

// endDeployment ends a deployment and rolls it back if its settings require it.
func (s *Controller) endDeployment(tx *world.Tx, d *Deployment, status string, why Failure) {
	s.concludeDeployment(tx, d, status, why,
		d.rollsBack(map[string]string{"ALARM_ACTIVE": OnAlarm, "TIMEOUT": OnFailure}[why.Code], status))
}

// rollsBack reports whether the settings name one of the events; a status means its event.
func (d *Deployment) rollsBack(events ...string) bool {
	for _, e := range events {
		if e == Failed {
			e = OnFailure
		}
		if slices.Contains(d.Settings.RollbackOn, e) {
			return true
		}
	}
	return false
}

func (s *Controller) concludeDeployment(tx *world.Tx, d *Deployment, status string, why Failure, back bool) {
	d.Failure = &why
	tx.Log("deployment", d.ID, "%s: %s", why.Code, why.Message)
	s.finishDeployment(tx, d, status)
	switch {
	case !back:
	case d.Creator == ByRollback:
		d.RollbackMessage = "A rollback is not rolled back."
	case missingReason(tx, d) != nil:
		d.RollbackMessage = "The deployment cannot be rolled back: what it was for was deleted."
	case d.Green == nil:
		d.RollbackMessage = "The deployment cannot be rolled back: no replacement task set had been created."
	default:
		s.rollBack(tx, d)
		return
	}
	s.setDeployedBy(tx, d, "")
}

// finishDeployment ends all open events and sets the deployment's last status.
func (s *Controller) finishDeployment(tx *world.Tx, d *Deployment, status string) {
	tx.Cancel(d.next)
	tx.Cancel(d.limit)
	for _, e := range d.Events {
		switch e.Status {
		case InProgress:
			e.Status, e.End = Skipped, tx.Now()
		case Pending:
			e.Status = Skipped
		}
	}
	s.setStatus(tx, d, status)
	d.Completed, d.stopping = tx.Now(), false
	StateOf(tx).active.Delete(d.ID)
}

// rollBack routes all traffic back to the original task set, with a new deployment (API Reference,
// RollbackInfo).
func (s *Controller) rollBack(tx *world.Tx, from *Deployment) {
	d := &Deployment{
		ID: newID(tx), Group: from.Group, Settings: from.Settings, Spec: from.Spec, Revision: from.Previous,
		Creator:   ByRollback,
		Triggered: from.ID, Service: from.Service, Blue: from.Blue, Green: from.Green, BlueGroup: from.BlueGroup,
		GreenGroup: from.GreenGroup,
		Weight:     from.Weight, Doc: from.Doc,
	}
	d.RollbackMessage = "Deployment " + from.ID + " is rolled back."
	from.RollbackID, from.RollbackMessage = d.ID, "The deployment is being rolled back by "+d.ID+"."
	for _, e := range from.Events {
		run := (*Controller).skipStep
		if e.Name == "AllowTraffic" {
			run = (*Controller).restoreOriginal
		}
		d.steps = append(d.steps, lifecycleStep{e.Name, run})
	}
	s.addDeployment(tx, d)
	s.runNext(tx, d, s.startRollback)
}

// startRollback begins a rollback; alarms do not stop it.
func (s *Controller) startRollback(tx *world.Tx, d *Deployment) {
	s.setStatus(tx, d, InProgress)
	d.Started = tx.Now()
	s.runNextStep(tx, d)
}

// restoreOriginal routes all traffic to the original task set and deletes the replacement.
func (s *Controller) restoreOriginal(tx *world.Tx, d *Deployment) {
	s.shiftProduction(tx, d, 0)
	if d.Settings.Test != "" {
		s.writeWeights(tx, d, d.Settings.Test, 0)
	}
	if d.Service.Primary() != d.Blue {
		s.ecs.Promote(tx, d.Blue)
	}
	s.runAfter(tx, d, s.propagationDelay(tx, d), func(tx *world.Tx, d *Deployment) {
		s.ecs.Retire(tx, d.Green)
		s.completeStep(tx, d)
	})
}
