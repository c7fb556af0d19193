package plan

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// GatesOf returns the gates that judge the canary in a stage: its own, and those of the whole pipeline
// if the canary gets requests during the whole stage.
func (p *Plan) GatesOf(index int) (own, whole []appfile.Gate) {
	if index >= len(p.Stages) {
		return nil, nil
	}
	if p.JudgesCanary(index) {
		whole = p.Gates
	}
	return p.Stages[index].Gates, whole
}

// ReadsPipelineGates reports whether the gates of the whole pipeline are read in a stage: one that waits while the
// canary gets requests.
func (p *Plan) ReadsPipelineGates(index int) bool {
	return p.Stages[index].IsWait() && p.JudgesCanary(index)
}

// EndsGates reports whether the gates of the whole pipeline need a value by the end of a stage: of each approval, and
// of the last stage that reads them.
func (p *Plan) EndsGates(index int) bool {
	if len(p.Gates) == 0 || !p.ReadsPipelineGates(index) {
		return false
	}
	return p.Stages[index].NeedsApproval() || !slices.ContainsFunc(p.Stages[index+1:], func(s Stage) bool {
		return p.ReadsPipelineGates(s.Index)
	})
}

// PipelineGatesTime returns how long the gates of the whole pipeline judge: from the begin of the first stage that reads
// them to the end of the last one. It is at least that if isLeast, because other stages or an approval are between.
func (p *Plan) PipelineGatesTime() (d time.Duration, isLeast bool) {
	var between bool // a stage that reads none came after one that does
	for i, s := range p.Stages {
		switch {
		case !p.ReadsPipelineGates(i):
			between = d > 0
		case s.NeedsApproval():
			isLeast = true
		default:
			d, isLeast = d+s.Duration, isLeast || between
		}
	}
	return d, isLeast
}

// MayAsk reports whether the stage asks a person if its gates have no verdict at its end.
func (p *Plan) MayAsk(index int) bool { return len(p.Stages[index].Gates) > 0 || p.EndsGates(index) }

// HasGates reports whether gates judge the canary in the stage: its own, or those of the whole pipeline.
func (p *Plan) HasGates(index int) bool {
	own, whole := p.GatesOf(index)
	return len(own)+len(whole) > 0
}

// HasEarlierGates reports whether a gate compares with an earlier deployment.
func (p *Plan) HasEarlierGates() bool { return slices.ContainsFunc(p.Stages, Stage.HasEarlierGates) }

// HasEarlierGates reports whether a gate of the stage compares with an earlier deployment.
func (s Stage) HasEarlierGates() bool {
	return slices.ContainsFunc(s.Gates, appfile.Gate.ComparesWithEarlier)
}

// CompareWithEarlier gives each gate that compares with an earlier deployment the time when its stage began
// in that one. It reports whether every such gate has a time now. began returns zero for a stage that did
// not begin, or did not have the gate.
func (p *Plan) CompareWithEarlier(began func(stage, gate string) time.Time) (complete bool) {
	complete = true
	for i := range p.Stages {
		s := &p.Stages[i]
		s.Gates = slices.Clone(s.Gates) // the application keeps its own
		for k := range s.Gates {
			g := &s.Gates[k]
			if !g.ComparesWithEarlier() || !g.Earlier.IsZero() {
				continue
			}
			g.Earlier = began(s.Name, g.Name)
			complete = complete && !g.Earlier.IsZero()
		}
	}
	return complete
}

// StageOfGate returns the index of the last stage of that name with that gate; -1 if there is none.
func (p *Plan) StageOfGate(stage, gate string) int {
	for i, s := range slices.Backward(p.Stages) {
		if s.Name == stage && slices.ContainsFunc(s.Gates, func(g appfile.Gate) bool { return g.Name == gate }) {
			return i
		}
	}
	return -1
}

// JudgesCanary reports whether the canary gets requests next to the previous version during the whole
// stage, so that gates can compare them.
func (p *Plan) JudgesCanary(index int) bool {
	before, after := p.StateBefore(index), p.StateAfter(index)
	return before.CanaryShare() > 0 && after.CanaryShare() > 0 && !before.NewPrimary && !after.NewPrimary
}
