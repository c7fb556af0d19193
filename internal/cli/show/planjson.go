package show

import (
	"encoding/json"
	"io"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// planWithoutDefinitions is a plan without the definitions in JSON. The environments of definitions
// can contain secrets, which must not appear in a log.
type planWithoutDefinitions struct {
	*plan.Plan
	Task       json.RawMessage    `json:"taskDefinition,omitempty"`
	Definition json.RawMessage    `json:"serviceDefinition,omitempty"`
	Forecast   *forecast.Forecast `json:"forecast,omitempty"`
}

// PlanJSON writes a plan and, if f is not nil, its forecast as JSON. It also leaves out the
// environment values of the tasks that the plan runs.
func PlanJSON(w io.Writer, pl *plan.Plan, f *forecast.Forecast) error {
	kept := pl.ForJournal()
	for i := range kept.Stages {
		if t := kept.Stages[i].Task; t != nil {
			t.Definition = nil
		}
	}
	return WriteJSON(w, planWithoutDefinitions{Plan: kept, Forecast: f})
}
