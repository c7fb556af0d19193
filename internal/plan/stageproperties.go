package plan

import (
	"slices"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// StageScaling applies the requested auto scaling settings and nothing else. Files cannot name it:
// a plan has this stage if nothing else changes.
const StageScaling = "AUTO_SCALING"

// stageProperties is what a stage does to a service, for every way of deploying. Code outside this
// file asks for a property and does not compare names of stages.
type stageProperties struct {
	name            string
	inPipelines     bool // a file may list it
	startsCanary    bool // creates the canary or changes its scale
	endsCanary      bool // no canary exists afterwards
	replacesPrimary bool // the new revision is PRIMARY afterwards
	endsPrevious    bool // no task set or canary of earlier revisions exists afterwards
	shiftsTraffic   bool // writes the weights that the file gives
	allToPrimary    bool // the primary has all traffic afterwards
	waits           bool // lets time pass or waits for approvals; sluice writes only the claim
	needsApproval   bool // waits for people
	judgesGates     bool // a wait that ends earlier if every gate is good
	runsTask        bool // runs a task to its end
	registers       bool // registers the task definition and runs no task
	setsScaling     bool // applies auto scaling settings and nothing else
	rollsBack       bool
	adopts          bool // cleans up after a deployment whose journal is lost
}

// stageTable has a row for each stage that a plan may contain. A stage without a row fails
// TestEveryStageHasProperties.
var stageTable = []stageProperties{
	{name: appfile.StageSync, inPipelines: true, endsCanary: true, replacesPrimary: true, endsPrevious: true,
		allToPrimary: true},
	{name: appfile.StageCanaryRollout, inPipelines: true, startsCanary: true},
	{name: appfile.StagePrimaryRollout, inPipelines: true, replacesPrimary: true},
	{name: appfile.StageTrafficRouting, inPipelines: true, shiftsTraffic: true},
	{name: appfile.StageCanaryClean, inPipelines: true, endsCanary: true, allToPrimary: true},
	{name: appfile.StageWait, inPipelines: true, waits: true},
	{name: appfile.StageAnalysis, inPipelines: true, waits: true, judgesGates: true},
	{name: appfile.StageApproval, inPipelines: true, waits: true, needsApproval: true},
	{name: appfile.StageRollback, allToPrimary: true, rollsBack: true},
	{name: appfile.StageAdopt, adopts: true},
	{name: appfile.StageRunTask, runsTask: true},
	{name: appfile.StageRegister, registers: true},
	{name: StageScaling, setsScaling: true},
}

// propertiesOf returns the row of a stage; a stage without a row has no property.
func propertiesOf(name string) stageProperties {
	if i := slices.IndexFunc(stageTable, func(p stageProperties) bool { return p.name == name }); i >= 0 {
		return stageTable[i]
	}
	return stageProperties{name: name}
}

// PipelineStages are the names of the stages that run on ECS and that a pipeline may contain, in
// the order of the table.
func PipelineStages() (names []string) {
	for _, p := range stageTable {
		if p.inPipelines && !p.waits {
			names = append(names, p.name)
		}
	}
	return names
}

// StartsCanary reports whether the stage creates the canary or changes its scale.
func (s Stage) StartsCanary() bool { return propertiesOf(s.Name).startsCanary }

// EndsCanary reports whether no canary exists after the stage.
func (s Stage) EndsCanary() bool { return propertiesOf(s.Name).endsCanary }

// ReplacesPrimary reports whether the new revision is PRIMARY after the stage.
func (s Stage) ReplacesPrimary() bool { return propertiesOf(s.Name).replacesPrimary }

// ChangesVariants reports whether the stage changes the tasks or the traffic of primary and canary.
func (s Stage) ChangesVariants() bool {
	p := propertiesOf(s.Name)
	return p.startsCanary || p.endsCanary || p.replacesPrimary || p.shiftsTraffic
}

// ReplacesAll reports whether the stage brings the complete service to the new revision: no canary
// and no previous primary exist afterwards.
func (s Stage) ReplacesAll() bool { return propertiesOf(s.Name).endsPrevious }

// ShiftsTraffic reports whether the stage writes the weights that the file gives.
func (s Stage) ShiftsTraffic() bool { return propertiesOf(s.Name).shiftsTraffic }

// SendsAllToPrimary reports whether the primary has all traffic after the stage, whatever the file
// says.
func (s Stage) SendsAllToPrimary() bool { return propertiesOf(s.Name).allToPrimary }

// IsWait reports whether the stage waits for time to pass or for approvals.
func (s Stage) IsWait() bool { return propertiesOf(s.Name).waits }

// NeedsApproval reports whether the stage waits for people.
func (s Stage) NeedsApproval() bool { return propertiesOf(s.Name).needsApproval }

// JudgesGates reports whether the stage waits for the verdict of its gates.
func (s Stage) JudgesGates() bool { return propertiesOf(s.Name).judgesGates }

// RunsTask reports whether the stage runs a task to its end.
func (s Stage) RunsTask() bool { return propertiesOf(s.Name).runsTask }

// Registers reports whether the stage registers the task definition and runs no task.
func (s Stage) Registers() bool { return propertiesOf(s.Name).registers }

// SetsScaling reports whether the stage applies auto scaling settings and nothing else.
func (s Stage) SetsScaling() bool { return propertiesOf(s.Name).setsScaling }

// RollsBack reports whether the stage is the rollback.
func (s Stage) RollsBack() bool { return propertiesOf(s.Name).rollsBack }

// Adopts reports whether the stage cleans up after a deployment whose journal is lost.
func (s Stage) Adopts() bool { return propertiesOf(s.Name).adopts }
