package mode

import (
	"slices"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// rules are everything that the making of a plan asks a mode. Each mode has a file with its rules.
// TestEveryModeHasRules fails for a field that a mode leaves empty.
type rules struct {
	mode             plan.Mode
	ecsReplacesTasks bool // by a rolling update of the service
	make             func(*appfile.Application, plan.AWSState, Options) (*plan.Plan, error)

	// What the mode refuses: first before all other checks, then after those of every service, and
	// last a service without tasks.
	refuseEarly func(*appfile.Application, Options) error
	refuse      func(*appfile.Application, plan.AWSState, Options) error
	refuseIdle  func(*plan.Plan, *appfile.Application, plan.AWSState) error

	// prepare completes the plan before its stages, finish after them.
	prepare func(*plan.Plan, *appfile.Application, plan.AWSState, Options) error
	finish  func(*plan.Plan)

	// hasLeftovers reports whether earlier deployments left something that a pipeline removes before
	// its first stage.
	hasLeftovers func(*appfile.Application, plan.AWSState) bool
	// listChanges lists the changes of an existing service.
	listChanges func(*appfile.Application, plan.AWSState) []plan.Change

	// The writes of each kind of stage.
	syncWrites     stageWrites
	canaryWrites   stageWrites
	primaryWrites  stageWrites
	cleanWrites    stageWrites
	adoptWrites    stageWrites
	rollbackWrites stageWrites
	growWrites     func(*plan.Plan, *plan.Stage) // a share by counts needs more canary tasks
	guardWrites    func(*plan.Plan, *plan.Stage, plan.AWSState, plan.State)

	replaceTime forecast.ReplaceTime // until the new revision is primary

	warnService func(*plan.Plan, *appfile.Application, plan.AWSState)
	warn        func(*plan.Plan, *appfile.Application, plan.AWSState)
	words       words
}

// stageWrites adds the writes that a stage may make.
type stageWrites func(*plan.Plan, *plan.Stage, plan.AWSState)

// words are the words of a mode for screens.
type words struct {
	stages   string // head of the list of stages
	sync     func(*plan.Plan, plan.Stage) string
	summary  func(*plan.Plan, plan.Stage) string // of the sync in one line; empty: its name is enough
	canary   func(*plan.Plan, plan.Stage) string
	primary  string
	rollback string
}

// allRules returns the rules of all modes.
func allRules() []rules {
	return []rules{taskSetRules(), canaryServiceRules(), rollingRules(), codeDeployRules(), taskRules()}
}

func rulesOf(m plan.Mode) rules {
	all := allRules()
	return all[max(0, slices.IndexFunc(all, func(r rules) bool { return r.mode == m }))]
}

// Of returns the way in which sluice deploys an application.
func Of(app *appfile.Application) plan.Mode {
	if app.Service == nil {
		return plan.ModeTask
	}
	hosting := appfile.Hosting("")
	switch controllerOf(app) {
	case plan.ControllerExternal:
		hosting = appfile.TaskSets
	case plan.ControllerECS:
		if app.Hosting == appfile.Services || slices.ContainsFunc(app.Pipeline, isVariantStage) {
			hosting = appfile.Services
		}
	}
	return plan.ModeOf(controllerOf(app), hosting)
}

// isVariantStage reports whether a stage works on primary and canary instead of on the whole
// service.
func isVariantStage(s appfile.Stage) bool {
	switch s.With.(type) {
	case appfile.CanaryRollout, appfile.TrafficRouting, appfile.PrimaryRollout, appfile.CanaryClean:
		return true
	}
	return false
}

// controllerOf returns the deployment controller that the file asks for. The default of AWS is ECS.
func controllerOf(app *appfile.Application) string {
	if c := app.Service.Input.DeploymentController; c != nil && c.Type != "" {
		return string(c.Type)
	}
	return plan.ControllerECS
}

// The next functions are rules of modes that have nothing to refuse, to write or to warn about.

func refuseNothing(*appfile.Application, plan.AWSState, Options) error { return nil }

func allowIdle(*plan.Plan, *appfile.Application, plan.AWSState) error { return nil }

func prepareNothing(*plan.Plan, *appfile.Application, plan.AWSState, Options) error { return nil }

func finishNothing(*plan.Plan) {}

func hasNoLeftovers(*appfile.Application, plan.AWSState) bool { return false }

func writeNothing(*plan.Plan, *plan.Stage, plan.AWSState) {}

func growNothing(*plan.Plan, *plan.Stage) {}

func guardNothing(*plan.Plan, *plan.Stage, plan.AWSState, plan.State) {}

func warnNothing(*plan.Plan, *appfile.Application, plan.AWSState) {}

func noWords(*plan.Plan, plan.Stage) string { return "" }

// NewForecast returns how long the plan takes with the given timings.
func NewForecast(p *plan.Plan, t forecast.Timings) forecast.Forecast {
	return forecast.New(p, t, rulesOf(p.Mode()).replaceTime)
}
