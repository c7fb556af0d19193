package scheduler

import (
	"slices"
	"time"
)

// Strategy is a deployment strategy of ECS other than rolling: a new revision starts beside the
// running one, in the other target group of each pair, and ECS shifts the traffic. A change takes
// effect with the next deployment.
type Strategy struct {
	Kind     string        // BLUE_GREEN, LINEAR, CANARY; "": rolling
	Step     Share         // first shift of CANARY, each shift of LINEAR
	StepBake time.Duration // after each shift but the last
	Hooks    []Hook
}

// Share is a share of the requests, in tenths of a percent: the unit of AWS's steps.
type Share int

const wholeTraffic Share = 1000

// Percent returns the share in percent.
func (s Share) Percent() float64 { return float64(s) / 10 }

// nextShare returns the share of the new revision after the next shift.
func (s Strategy) nextShare(now Share) Share {
	switch {
	case s.Kind == "LINEAR":
		return min(now+s.Step, wholeTraffic)
	case s.Kind == "CANARY" && now < s.Step:
		return s.Step
	}
	return wholeTraffic
}

// Lifecycle stages of a deployment that is not rolling, as the API writes them (Developer Guide,
// "Amazon ECS blue/green deployments"). The enumeration of the API lacks StagePreProduction; its
// guide has it.
const (
	StageReconcile      = "RECONCILE_SERVICE"
	StagePreScaleUp     = "PRE_SCALE_UP"
	StageScaleUp        = "SCALE_UP"
	StagePostScaleUp    = "POST_SCALE_UP"
	StageTest           = "TEST_TRAFFIC_SHIFT"
	StagePostTest       = "POST_TEST_TRAFFIC_SHIFT"
	StagePreProduction  = "PRE_PRODUCTION_TRAFFIC_SHIFT"
	StageProduction     = "PRODUCTION_TRAFFIC_SHIFT"
	StagePostProduction = "POST_PRODUCTION_TRAFFIC_SHIFT"
	StageBake           = "BAKE_TIME"
	StageCleanUp        = "CLEAN_UP"
)

// stageOrder are the stages in their order, without the repetition of shifts.
var stageOrder = []string{StageReconcile, StagePreScaleUp, StageScaleUp, StagePostScaleUp, StageTest, StagePostTest,
	StagePreProduction, StageProduction, StagePostProduction, StageBake, StageCleanUp}

// stageAfter returns the stage that follows one that is not the last.
func stageAfter(stage string) string { return stageOrder[slices.Index(stageOrder, stage)+1] }

const (
	// stageLimit is how long the work of a stage may take, without its hooks.
	stageLimit = 24 * time.Hour
	// lifecycleLimit is how long a deployment may take.
	lifecycleLimit = 30 * 24 * time.Hour
)
