package appfile

import (
	"time"

	"github.com/sluice-ecs/sluice"
)

// Names of stages in files. They are the names of PipeCD.
const (
	StageSync           = "ECS_SYNC"
	StageCanaryRollout  = "ECS_CANARY_ROLLOUT"
	StageTrafficRouting = "ECS_TRAFFIC_ROUTING"
	StagePrimaryRollout = "ECS_PRIMARY_ROLLOUT"
	StageCanaryClean    = "ECS_CANARY_CLEAN"
	StageRollback       = "ECS_ROLLBACK"
	StageAdopt          = "ECS_ADOPT"
	StageWait           = "WAIT"
	StageApproval       = "WAIT_APPROVAL"
	StageAnalysis       = "ANALYSIS"
	StageRunTask        = "RUN_TASK" // no file names it: before, after, and tasks without a service
	StageRegister       = "REGISTER" // no file names it: a task with runStandaloneTask false
)

// Stage is one entry of a pipeline.
type Stage struct {
	Name    string        // one of the Stage constants
	Desc    string        // description from the file; may be empty
	Timeout time.Duration // hard limit
	With    Options       // never nil
	Line    int           // of the entry in the application file
}

// Options are the options of a stage. Only the structs of this package implement it, one for each
// stage.
type Options interface{ options() }

// Sync deploys the new revision to the whole service without a pipeline (ECS_SYNC).
type Sync struct{}

// CanaryRollout starts the canary; the primary keeps running (ECS_CANARY_ROLLOUT).
type CanaryRollout struct {
	Scale int // percent of the desired count, 1–100
}

// TrafficRouting sets the weights (ECS_TRAFFIC_ROUTING).
type TrafficRouting struct {
	Weights sluice.Weights
	// Exact starts extra canary tasks if a share is made by counts and the existing tasks cannot
	// make it exactly.
	Exact bool
}

// PrimaryRollout makes the new revision the primary (ECS_PRIMARY_ROLLOUT).
type PrimaryRollout struct {
	KeepOld bool // the old primary stays until the canary is cleaned
}

// CanaryClean deletes the canary (ECS_CANARY_CLEAN).
type CanaryClean struct{}

// Rollback restores the state before the deployment (ECS_ROLLBACK). No file names it: the plan adds
// it.
type Rollback struct{}

// Adopt removes leftovers of a deployment whose journal is lost (ECS_ADOPT). No file names it: the
// plan puts it before the other stages if leftovers exist or a user asks for it.
type Adopt struct{}

// Wait lets time pass (WAIT).
type Wait struct {
	Duration time.Duration
	Gates    []Gate // that must not fail meanwhile
}

// Analysis waits while its gates judge the canary (ANALYSIS).
type Analysis struct {
	Duration time.Duration
	Gates    []Gate
}

// Approval waits for people (WAIT_APPROVAL).
type Approval struct {
	Approvers    []string // users that may approve; empty: any user
	MinApprovers int      // at least 1
}

func (Sync) options()           {}
func (CanaryRollout) options()  {}
func (TrafficRouting) options() {}
func (PrimaryRollout) options() {}
func (CanaryClean) options()    {}
func (Rollback) options()       {}
func (Adopt) options()          {}
func (Wait) options()           {}
func (Analysis) options()       {}
func (Approval) options()       {}
