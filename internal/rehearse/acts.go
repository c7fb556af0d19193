package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// Acts performs the interventions of a case: acts of people and other tools.
type Acts struct {
	env       *Environment
	report    *Report
	processes *Processes
	seconds   *SecondSluices
	writes    *WriteChecks
	extension *Extension

	acted            map[int]bool // interventions that were performed
	scheduled        map[int]bool // interventions that are scheduled
	writesAnswered   int          // results of sluice's writes, in all processes
	primaryChangedAt time.Time    // when another actor last changed what is PRIMARY
	onAct            func()       // is called before each act
	outsideAt        time.Time    // of the last act that is no command to sluice
}

// actsByWord returns the function for each first word of an [Intervention]. An act that no scenario of
// the catalogue needs is an act of an [Extension].
func (a *Acts) actsByWord() map[string]func(args []int) {
	w := a.env.Case.World
	return map[string]func([]int){
		Rollback: func(_ []int) { a.processes.SendCommand(Rollback) },
		EditRule: func(args []int) {
			a.setWeights(int32(args[0]), int32(args[1]))
		},
		SetDesiredCount: func(args []int) {
			a.env.CallECS("UpdateService", map[string]any{"cluster": w.Cluster, "service": w.Service,
				"desiredCount": args[0]})
		},
		DeleteService: func(_ []int) {
			a.env.CallECS("DeleteService", map[string]any{"cluster": w.Cluster, "service": w.Service, "force": true})
		},
		TakeClaim:    func(_ []int) { a.takeClaim() },
		SecondSluice: func(_ []int) { a.seconds.Start(mode.Options{}, nil) },
	}
}

// Perform performs an intervention now.
func (a *Acts) Perform(h Intervention) {
	a.report.LogLine("intervention: %s", h.Does)
	if h.Does != Rollback && h.Does != Abort && h.Does != Pause {
		a.onAct()
		a.outsideAt = a.env.Clock.Now()
	}
	words := strings.Fields(h.Does)
	args := make([]int, len(words)-1)
	for i, w := range words[1:] {
		if _, err := fmt.Sscan(w, &args[i]); err != nil {
			a.report.Fail("%s: %v", h.Does, err)
			return
		}
	}
	switch words[0] {
	case UpdateService, PromoteCanary, DeleteCanary, StopCodeDeploy, RaiseAlarm, TakeOver, SecondSluice:
		a.primaryChangedAt = a.env.Clock.Now()
	}
	if act, ok := a.actsByWord()[words[0]]; ok {
		act(args)
	} else if act, ok := a.extension.Acts[words[0]]; ok {
		act(args)
	} else {
		a.report.Fail("the case has an unknown intervention: %s", h.Does)
	}
}

// takeClaim writes another deployment's claim. The claim counts as taken if the service has it then:
// during an outage, a call can be answered and not done.
func (a *Acts) takeClaim() {
	other := plan.Claim{Deployment: plan.IDPrefix + "other", Until: a.env.Clock.Now().Add(24 * time.Hour)}
	a.env.CallECS("TagResource", map[string]any{"resourceArn": a.env.serviceARN(),
		"tags": []any{map[string]any{"key": plan.ClaimTag, "value": other.String()}}})
	if a.env.serviceTags()[plan.ClaimTag] == other.String() {
		a.writes.claimTakenAt = a.env.Clock.Now()
	}
}

// setWeights sets the weights of the first rule, as another actor's Terraform would.
func (a *Acts) setWeights(primary, canary int32) {
	a.env.EditRoute(func(tx *world.Tx, r *world.Rule) {
		fw := world.Forward{}
		if was := r.ForwardAction(); was != nil {
			fw = *was
		}
		fw.Groups = []world.Share{{Group: a.env.Case.World.Primary.ARN, Weight: primary},
			{Group: a.env.Case.World.Canary.ARN, Weight: canary}}
		tx.SetActions(r, []world.Action{{Type: "forward", Forward: &fw}})
	})
}

// scheduleAll schedules the interventions that start by time or by a lifecycle event.
func (a *Acts) scheduleAll() {
	if !a.env.Case.Generated && a.env.Case.World.Ready > 0 {
		a.ContinueShifts() // people continue a user's deployment, as they approve it
	}
	a.answerPauses(func() bool { return a.env.IsOver })
	for i, h := range a.env.Case.Interventions {
		switch {
		case h.When != "": // see performAll
		case h.Write > 0: // see writeAnswered
		case h.Event != "":
			a.env.Clock.Go(func() { a.onEventBegan(h.Event, func() { a.interveneOnce(i) }) })
		case h.Stage == 0:
			a.env.Clock.Go(func() { a.env.AfterDelay(h.At, func() { a.interveneOnce(i) }) })
		}
	}
}

func (a *Acts) interveneOnce(i int) {
	if !a.acted[i] {
		a.acted[i] = true
		a.Perform(a.env.Case.Interventions[i])
	}
}

// performAll performs the acts before the deployment, or schedules those after its end.
func (a *Acts) performAll(when When) {
	for i, h := range a.env.Case.Interventions {
		switch {
		case h.When != when || a.acted[i]:
		case h.At == 0:
			a.interveneOnce(i)
		default:
			a.env.Clock.Go(func() {
				a.env.Sleep(h.At)
				a.interveneOnce(i)
			})
		}
	}
}

// interveneLater schedules an intervention some time after the end of a stage or a write.
func (a *Acts) interveneLater(i int) {
	if !a.scheduled[i] {
		a.scheduled[i] = true
		a.env.Clock.Go(func() { a.env.AfterDelay(a.env.Case.Interventions[i].At, func() { a.interveneOnce(i) }) })
	}
}

// onWriteAnswered performs the interventions that wait for the result of a write.
func (a *Acts) onWriteAnswered() {
	a.writesAnswered++
	for i, h := range a.env.Case.Interventions {
		if h.Write == a.writesAnswered {
			a.interveneLater(i)
		}
	}
}

func (a *Acts) onStageEnded(n int) {
	for i, h := range a.env.Case.Interventions {
		switch {
		case h.When != "", h.Write > 0:
		case h.Stage == n && h.At > 0:
			a.interveneLater(i)
		case h.Stage == n:
			a.interveneOnce(i)
		}
	}
}

// wasEndedEarly reports whether an intervention may have ended the deployment before AWS created
// anything for it. A second deployment does not end it: it finds the claim.
func (a *Acts) wasEndedEarly() bool {
	for i := range a.acted {
		if h := a.env.Case.Interventions[i]; h.Does != SecondSluice && h.When == "" {
			return true
		}
	}
	return false
}
