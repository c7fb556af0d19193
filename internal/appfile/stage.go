package appfile

import (
	"time"

	"github.com/sluice-ecs/sluice"
)

// Names of stages in files. PipeCD made them; they are kept.
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
	StageRunTask        = "RUN_TASK" // no file names it: before, after, and tasks without a service
	StageRegister       = "REGISTER" // likewise: runStandaloneTask false
)

// Stage is one entry of a pipeline.
type Stage struct {
	Name    string        // one of the Stage constants
	Desc    string        // the file's own words; may be empty
	Timeout time.Duration // hard limit
	With    Options       // never nil
	Line    int           // of the entry in the application file
}

// Options are what a stage is asked to do: one struct for each stage of this
// package, and no others.
type Options interface{ options() }

// Sync brings the whole service to the new revision at once (ECS_SYNC).
type Sync struct{}

// CanaryRollout starts the canary beside the primary (ECS_CANARY_ROLLOUT).
type CanaryRollout struct {
	Scale int // percent of the desired count, 1–100
}

// TrafficRouting moves the weights (ECS_TRAFFIC_ROUTING).
type TrafficRouting struct {
	Weights sluice.Weights
	// Exact starts extra canary tasks where a share is made by counts and those
	// that there are cannot make it.
	Exact bool
}

// PrimaryRollout makes the new revision the primary (ECS_PRIMARY_ROLLOUT).
type PrimaryRollout struct {
	KeepOld bool // the old primary stays until the canary is cleaned
}

// CanaryClean takes the canary away (ECS_CANARY_CLEAN).
type CanaryClean struct{}

// Rollback returns to what was (ECS_ROLLBACK). No file names it: it is added by
// itself where a rollback is wanted.
type Rollback struct{}

// Adopt clears away what a deployment left whose journal is lost (ECS_ADOPT). No
// file names it: it comes before the others where a person asks for it.
type Adopt struct{}

// Wait lets time pass (WAIT).
type Wait struct {
	Duration time.Duration
}

// Approval waits for people (WAIT_APPROVAL).
type Approval struct {
	Approvers    []string // who may approve; empty: anybody
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
func (Approval) options()       {}
