package piped

import (
	"encoding/json"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// The buttons of PipeCD's page. PipeCD accepts SKIP for stages named ANALYSIS only, and APPROVE for all. A stage with
// APPROVE is announced as waiting for approval when it begins, so no other stage has it.

// operationOf returns the button of a stage: APPROVE if a gate of it may ask, or if ECS may pause in it.
func (p *plugin) operationOf(name string, config []byte) contract.ManualOperation {
	var with any
	switch s := (plan.Stage{Name: name}); {
	case s.IsWait() && json.Unmarshal(config, &with) == nil && mayAsk(with),
		s.ReplacesAll() && p.plansPauses():
		return contract.ManualOperation_MANUAL_OPERATION_APPROVE
	case s.JudgesGates():
		return contract.ManualOperation_MANUAL_OPERATION_SKIP
	}
	return contract.ManualOperation_MANUAL_OPERATION_NONE
}

// mayAsk reports whether the options of a stage have a gate that asks a person.
func mayAsk(with any) bool {
	switch v := with.(type) {
	case map[string]any:
		for key, value := range v {
			if (key == "onUndecided" || key == "onError") && value == string(appfile.Hold) || mayAsk(value) {
				return true
			}
		}
	case []any:
		for _, value := range v {
			if mayAsk(value) {
				return true
			}
		}
	}
	return false
}

// pausesLast is how long after [plugin.DetermineVersions] piped asks for the stages of a deployment at most.
const pausesLast = time.Minute

// notePauses notes that piped plans an application whose deployments ECS pauses. piped sends no files when it asks for
// the stages, a moment later.
func (p *plugin) notePauses(app *appfile.Application) {
	if app.Service != nil && app.Service.HasPauses() {
		p.pausesPlanned.Store(time.Now().UnixNano())
	}
}

// plansPauses reports whether the deployment that piped plans may have pauses.
func (p *plugin) plansPauses() bool {
	return time.Since(time.Unix(0, p.pausesPlanned.Load())) < pausesLast
}
