package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// State is what exists of a service between two stages of a plan, as far as the stages decide it.
// [Plan.StateBefore] and [Plan.StateAfter] compute it. Plan checks, warnings, expected drift and
// stages read it; nothing else walks over the stages to find it out.
type State struct {
	Primary         string // revision that is PRIMARY, family:revision; "" before a first deployment
	NewPrimary      bool   // Primary is the revision of this deployment
	PreviousPrimary bool   // the primary from before the deployment exists: it is PRIMARY or kept
	Canary          Canary // zero: there is no canary

	Weights sluice.Weights // of primary and canary, once Shifted
	Shifted bool           // a stage has written Weights; otherwise they are as before the deployment

	Claimed          bool // the service has the claim of this deployment
	ScalingSuspended bool // Application Auto Scaling is suspended for this deployment
}

// Canary is the canary of a [State].
type Canary struct {
	Revision string // family:revision
	Scale    int    // percent of the desired count; 0: there is no canary
	Extra    int    // tasks beyond Scale, for an exact share by counts
}

// Exists reports whether there is a canary.
func (c Canary) Exists() bool { return c.Scale > 0 }

// Tasks is the number of canary tasks of a service with that desired count.
func (c Canary) Tasks(desired int) int { return ScaledCount(desired, c.Scale) + c.Extra }

// CanaryShare is the canary's share in percent; 0 until a stage has written weights.
func (s State) CanaryShare() int {
	if !s.Shifted {
		return 0
	}
	return s.Weights.Canary()
}

// StateBefore is the state in which the stage with that index begins. The index of the rollback,
// len(Stages), gives the state after the last stage.
func (p *Plan) StateBefore(index int) State { return p.StateAfter(index - 1) }

// StateAfter is the state once the stages up to index have ended; -1 is before the first.
func (p *Plan) StateAfter(index int) State {
	s := State{Primary: p.From, PreviousPrimary: true}
	for _, st := range p.Stages[:min(index+1, len(p.Stages))] {
		s = s.after(st, p)
	}
	return s
}

// FinalState is the state once the last stage has ended.
func (p *Plan) FinalState() State { return p.StateAfter(len(p.Stages) - 1) }

// LastOfVariants returns the index of the last stage that changes primary or canary; -1: none does.
func (p *Plan) LastOfVariants() int {
	last := -1
	for _, s := range p.Stages {
		if s.ChangesVariants() {
			last = s.Index
		}
	}
	return last
}

// DeletesCanary reports whether the plan deletes the canary that exists before it, and leaves none.
func (p *Plan) DeletesCanary() bool {
	return p.HasChanges() && !p.FinalState().Canary.Exists() &&
		slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Adopts() || s.EndsCanary() })
}

// AwaitsFormer returns the index of the first stage that waits until the version that served before is healthy: it
// sends that version a part of the requests. It is -1 if no stage does.
func (p *Plan) AwaitsFormer() int {
	return slices.IndexFunc(p.Stages, func(s Stage) bool {
		return s.ShiftsTraffic() && s.Weights != nil && s.Weights.Primary() > 0 && !p.StateBefore(s.Index).NewPrimary
	})
}

// after is the state once a stage has ended that began in s.
func (s State) after(st Stage, p *Plan) State {
	switch {
	case st.ReplacesAll():
		s.Canary, s.PreviousPrimary = Canary{}, false
	case st.ReplacesPrimary():
		s.PreviousPrimary = st.KeepOld
	case st.EndsCanary():
		s.Canary, s.PreviousPrimary = Canary{}, s.PreviousPrimary && !s.NewPrimary
	case st.StartsCanary():
		s.Canary.Revision, s.Canary.Scale = p.To, st.Scale
	}
	if st.ReplacesPrimary() {
		s.Primary, s.NewPrimary = p.To, true
	}
	switch {
	case st.Weights != nil:
		s.Weights, s.Shifted = *st.Weights, true
	case st.SendsAllToPrimary():
		s.Weights, s.Shifted = sluice.CanaryShare(0), true
	}
	if st.Share != nil {
		s.Canary.Extra += st.Share.Extra
	}
	s.Claimed = s.Claimed || st.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: p.ServiceResource()})
	s.ScalingSuspended = p.Scaling != nil && p.Scaling.Suspend && s.Claimed
	return s
}

// PromotesNothing reports whether the pipeline starts a canary and leaves the former revision PRIMARY.
func (p *Plan) PromotesNothing() bool {
	end := p.FinalState()
	return p.From != "" && p.From != p.To && !end.NewPrimary && slices.ContainsFunc(p.Stages, Stage.StartsCanary)
}

// EndTasks counts the tasks of each version at the end of a deployment.
type EndTasks struct{ Former, New, Canary int }

// ExpectedTasks returns the tasks that serve at the end, by the counts of before.
func (p *Plan) ExpectedTasks() (t EndTasks) {
	end, desired := p.FinalState(), 1
	if p.Serving != nil {
		desired = max(p.Serving.Desired, 1)
	}
	if t.Canary = end.Canary.Tasks(desired); end.NewPrimary {
		t.New = desired
	}
	if end.PreviousPrimary {
		t.Former = desired
	}
	return t
}

// KeepsFormer reports whether the tasks of the former revision run at the end beside those of the new one that is PRIMARY.
func (p *Plan) KeepsFormer() bool {
	end := p.FinalState()
	return p.From != "" && p.From != p.To && end.NewPrimary && end.PreviousPrimary
}

// SuccessCause says that a deployment succeeded and the former revision still serves; empty: it does not. revision is the
// new one, and t are the tasks that run.
func (p *Plan) SuccessCause(revision string, t EndTasks) string {
	switch {
	case p.PromotesNothing():
		return fmt.Sprintf("nothing was promoted: the pipeline has no %s, so %s", appfile.StagePrimaryRollout,
			p.ServingAtEnd(revision, "as before", t))
	case p.KeepsFormer():
		return fmt.Sprintf("the tasks of %s are kept: the pipeline has no %s after keepOld, so %s", p.From,
			appfile.StageCanaryClean, p.ServingAtEnd(revision, "", t))
	}
	return ""
}

// ServingAtEnd says which revision gets the requests after a pipeline that leaves tasks of the former one. revision is the
// new one, and t are the tasks that run; alone is added if the former one gets all requests.
func (p *Plan) ServingAtEnd(revision, alone string, t EndTasks) string {
	share, of := p.newShare(t), "requests"
	if p.Access == sluice.NoAccess {
		of = "tasks"
	}
	text := fmt.Sprintf("%s gets %d %% of the %s", revision, share, of)
	if p.PromotesNothing() {
		text += ", as the canary"
	}
	switch share {
	case 0:
		return strings.TrimSpace(fmt.Sprintf("%s serves %s", p.From, alone))
	case 100:
		return text
	default:
		return text + fmt.Sprintf(", and %s the others", p.From)
	}
}

// newShare returns the part of the requests, in percent, that the new revision gets at the end: those of the canary, and
// of the primary by its tasks. Without weights that a stage has written, tasks that are resolved by a name, or that take
// work by themselves, have equal parts.
func (p *Plan) newShare(t EndTasks) int {
	end := p.FinalState()
	if !end.Shifted && !HasTargetGroups(p.Access) {
		return percentOf(t.New+t.Canary, t.Former+t.New+t.Canary)
	}
	canary := end.CanaryShare()
	return canary + (100-canary)*percentOf(t.New, t.Former+t.New)/100
}

func percentOf(part, all int) int {
	if all == 0 {
		return 0
	}
	return (100*part + all/2) / all
}
