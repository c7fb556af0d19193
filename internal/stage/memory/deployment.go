package memory

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Progress is how far the deployment is.
type Progress struct {
	Done int `json:"done"` // how many stages of the plan are done
}

// Registration is the registration of a task definition.
type Registration struct {
	Begun    bool          `json:"begun,omitempty"`    // RegisterTaskDefinition is about to be called, or was
	Revision *ecs.Revision `json:"revision,omitempty"` // nil: its response is not known
}

// Claim is what the deployment knows of the claim on its service.
type Claim struct {
	Claimed   bool        `json:"claimed,omitempty"` // a read showed our claim
	TakenOver *TakenClaim `json:"takenOver,omitempty"`
	Previous  *plan.Claim `json:"previous,omitempty"` // the claim before ours
}

// TakenClaim is a claim that we took over, and when.
type TakenClaim struct {
	From string    `json:"from"` // value of the tag
	At   time.Time `json:"at"`
}

// External is what other actors changed and the deployment adopted: it is part of the expected
// state (onOutsideChange: adopt).
type External struct {
	Scales  map[string]float64 `json:"scales,omitempty"`  // by id of the task set
	Deleted []string           `json:"gone,omitempty"`    // labels of task sets
	Primary string             `json:"primary,omitempty"` // id
	Desired *int               `json:"desired,omitempty"`
}

// WithScale returns the changes with the scale of a task set.
func (e External) WithScale(id string, scale float64) External {
	scales := map[string]float64{id: scale}
	for other, s := range e.Scales {
		if other != id {
			scales[other] = s
		}
	}
	e.Scales = scales
	return e
}

// Rollback is what a rollback did.
type Rollback struct {
	Restarts    int               `json:"restarts,omitempty"` // how often the restored primary was deleted by others
	NotRestored []DeletedResource `json:"notRestored,omitempty"`
	Broken      bool              `json:"broken,omitempty"` // it failed because tasks of the restored version fail
}

// DeletedResource is a resource that another process or a person deleted during the deployment. A
// rollback cannot restore it.
type DeletedResource struct {
	Kind string `json:"what"` // "listener"
	ARN  string `json:"arn"`
}

func (a DeletedResource) String() string { return a.Kind + " " + a.ARN }

// Launch is what is known of the tasks that a stage starts. It is saved before each call of RunTask
// and after its response.
type Launch struct {
	Attempt     int                `json:"attempt"`         // number of the last RunTask call
	Begun       time.Time          `json:"begun"`           // when that call was first sent
	Requested   int                `json:"asked"`           // number of tasks in that call
	Unanswered  bool               `json:"open,omitempty"`  // its response is not known
	Tasks       []string           `json:"tasks,omitempty"` // ids
	ShortReason string             `json:"short,omitempty"` // why no more could be started
	Ended       []sluice.TaskEnded `json:"ended,omitempty"`
	// EndedFirst is the container of each task whose end was seen while the others ran
	EndedFirst map[string]string `json:"endedFirst,omitempty"`
}
