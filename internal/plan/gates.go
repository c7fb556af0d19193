package plan

import "github.com/sluice-ecs/sluice/internal/appfile"

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

// JudgesCanary reports whether the canary gets requests next to the previous version during the whole
// stage, so that gates can compare them.
func (p *Plan) JudgesCanary(index int) bool {
	before, after := p.StateBefore(index), p.StateAfter(index)
	return before.CanaryShare() > 0 && after.CanaryShare() > 0 && !before.NewPrimary && !after.NewPrimary
}
