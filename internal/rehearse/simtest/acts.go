package simtest

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// acts returns the function for each first word of an [rehearse.Intervention] that no scenario of
// the catalogue needs. A new act is added here, gets its word in the package rehearse, and its share
// in [interventionKinds].
func (f *simulation) acts() map[string]func(args []int) {
	return map[string]func([]int){
		rehearse.Abort: func(_ []int) { f.rehearsal.Processes.SendCommand(rehearse.Abort) },
		rehearse.Pause: func(_ []int) {
			f.rehearsal.Processes.SendCommand(rehearse.Pause)
			f.env.Clock.Go(func() {
				f.env.AfterDelay(time.Minute,
					func() { f.rehearsal.Processes.SendCommand("resume") })
			})
		},
		rehearse.UpdateService: func(_ []int) {
			f.env.CallECS("UpdateService", map[string]any{"cluster": f.env.Case.World.Cluster,
				"service":        f.env.Case.World.Service,
				"taskDefinition": "web:1", "forceNewDeployment": true})
		},
		rehearse.ResumeScaling: func(_ []int) { f.resumeScaling() },
		rehearse.TakeOver:      func(_ []int) { f.startTakeOver() },
		rehearse.ScaleCanary: func(args []int) {
			if f.env.Case.HasCanaryService() {
				f.changeCanaryService("UpdateService",
					map[string]any{"desiredCount": 1 + args[0]*f.env.Case.World.Tasks/100})
				return
			}
			f.changeCanarySet("UpdateTaskSet",
				map[string]any{"scale": map[string]any{"unit": "PERCENT", "value": args[0]}})
		},
		rehearse.DeleteCanary: func(_ []int) {
			if f.env.Case.HasCanaryService() {
				f.changeCanaryService("DeleteService", map[string]any{"force": true})
				return
			}
			f.changeCanarySet("DeleteTaskSet", map[string]any{"force": true})
		},
		rehearse.PromoteCanary:      func(_ []int) { f.changeCanarySet("UpdateServicePrimaryTaskSet", nil) },
		rehearse.ContinueCodeDeploy: func(_ []int) { f.rehearsal.Acts.ContinueShifts() },
		rehearse.StopCodeDeploy:     func(args []int) { f.stopCodeDeploy(args[0] > 0) },
		rehearse.RaiseAlarm:         func(_ []int) { f.raiseAlarm() },
		rehearse.DeregisterInstance: func(args []int) { f.deregisterInstance(args[0]) },
		rehearse.StopTask:           func(_ []int) { f.stopTask() },
		rehearse.RegisterRevision:   func(_ []int) { f.registerRevision() },
		rehearse.RegisterAddress:    func(_ []int) { f.registerAddress() },
		rehearse.RegisterTask:       func(_ []int) { f.registerTask() },
		rehearse.SetUnhealthy:       func(args []int) { f.setUnhealthy(args[0]) },
		rehearse.EditRuleElsewhere:  func(_ []int) { f.env.EditRoute(f.forwardElsewhere) },
		rehearse.EditRuleFixed:      func(_ []int) { f.env.EditRoute(answerFixed) },
		rehearse.EditRuleDelete:     func(_ []int) { f.env.EditRoute(deleteRule) },
		rehearse.EditRuleFront:      func(_ []int) { f.env.EditRoute(putInFront) },
		rehearse.EditRuleConditions: func(_ []int) { f.env.EditRoute(changePath) },
		rehearse.EditRulePort: func(_ []int) {
			f.env.EditRoute(func(tx *world.Tx, r *world.Rule) { rehearse.MoveListener(tx, r.Listener, 81) })
		},
		rehearse.EditRuleListener: func(_ []int) {
			f.env.EditRoute(func(tx *world.Tx, r *world.Rule) { tx.RemoveListener(r.Listener) })
		},
		rehearse.EditRuleGroup: func(_ []int) { f.env.EditRoute(f.deleteCanaryGroup) },
		rehearse.RemoveClaim:   func(_ []int) { f.removeClaim() },
	}
}

// changeCanarySet calls an operation on the canary task set, if there is one.
func (f *simulation) changeCanarySet(operation string, in map[string]any) {
	id := ""
	f.env.InWorld(func(tx *world.Tx) {
		if s := f.env.FindService(tx); s != nil {
			for _, ts := range s.TaskSets {
				if ts.Status == "ACTIVE" && ts.Scale > 0 {
					id = ts.ID
				}
			}
		}
	})
	if id == "" {
		return
	}
	all := map[string]any{"cluster": f.env.Case.World.Cluster, "service": f.env.Case.World.Service, "taskSet": id}
	if operation == "UpdateServicePrimaryTaskSet" {
		all = map[string]any{"cluster": f.env.Case.World.Cluster, "service": f.env.Case.World.Service,
			"primaryTaskSet": id}
	}
	for k, v := range in {
		all[k] = v
	}
	f.env.CallECS(operation, all)
}

// startTakeOver starts a sluice on another machine that takes the service over.
func (f *simulation) startTakeOver() {
	f.rehearsal.Seconds.Start(mode.Options{TakeOver: f.rehearsal.Deployment.ID, Adopt: true}, f.onEventOfTakeOver)
}

// onEventOfTakeOver records when the sluice that takes the service over has written its claim.
func (f *simulation) onEventOfTakeOver(e sluice.Envelope) {
	f.checkTakeOverWait(e)
	if w, wrote := e.Open().(sluice.Wrote); wrote && w.Operation == "ecs:TagResource" && w.Cause == "" {
		f.rehearsal.Writes.RecordClaimTaken(e.At)
	}
}

// checkTakeOverWait checks that a sluice that takes the service over does not write while the
// former owner of the claim may still write (P2).
func (f *simulation) checkTakeOverWait(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.Warned:
		if strings.Contains(ev.Message, "is taken over from") {
			f.takenOverAt = e.At
		}
	case sluice.Writing:
		if since := e.At.Sub(f.takenOverAt); !f.takenOverAt.IsZero() && since < rehearse.ClaimValidFor &&
			ev.Operation != "ecs:TagResource" && ev.Operation != "ecs:RegisterTaskDefinition" {
			f.report.AddViolation("P2", "the deployment that took over the service wrote %s after %s: the previous "+
				"owner may write for %s", ev.Operation, since, rehearse.ClaimValidFor)
		}
	}
}
