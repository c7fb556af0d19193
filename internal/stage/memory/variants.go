package memory

import (
	"time"

	"github.com/sluice-ecs/sluice"
)

// Canary is what the deployment did to its canary.
type Canary struct {
	Generation int          `json:"generation,omitempty"` // how many canaries this deployment deleted
	Count      *CanaryCount `json:"count,omitempty"`      // of the canary service
}

// CanaryCount is how many tasks a stage gave the canary service.
type CanaryCount struct {
	Tasks int `json:"tasks"`
	Stage int `json:"stage"` // its index
}

// Primary is what the deployment did to the primary task sets.
type Primary struct {
	Progress PrimaryProgress `json:"progress,omitempty"` // of the new one
	Kept     string          `json:"kept,omitempty"`     // ID of the previous one, if it is kept
}

// PrimaryProgress is the progress of the new primary, saved before each write. It is empty before
// the first.
type PrimaryProgress string

// Progress of the new primary, in this order.
const (
	PrimaryBegun    PrimaryProgress = "begun"    // its task set may exist
	PrimaryEmptied  PrimaryProgress = "emptied"  // and the old primary may be scaled down (recreate)
	PrimaryPromoted PrimaryProgress = "promoted" // it may be PRIMARY, and the old primary scaled down
)

// Rolling is what was requested from ECS for a rolling service.
type Rolling struct {
	Update *UpdateRequest `json:"update,omitempty"`
	Stop   *StopRequest   `json:"stop,omitempty"`
}

// UpdateRequest records the PRIMARY and the current deployment before UpdateService. The call has
// no client token: a different PRIMARY or current deployment afterwards shows that it took effect,
// even if the response was lost.
type UpdateRequest struct {
	Before  string `json:"before"`            // id of the PRIMARY deployment
	Current string `json:"current,omitempty"` // ARN of the current service deployment

	Deployment string `json:"deployment,omitempty"` // ID of our deployment; empty: not read yet
	ARN        string `json:"arn,omitempty"`        // of our service deployment, if AWS returns it

	At      time.Time `json:"at,omitzero"`       // when the call was about to be sent
	Created time.Time `json:"created,omitzero"`  // of our deployment, by AWS's clock
	Desired *int      `json:"desired,omitempty"` // desired count in the response; nil: no response
}

// StopRequest is the service deployment that was stopped, and the PRIMARY deployment at that time.
// A different PRIMARY afterwards shows that ECS rolled back.
type StopRequest struct {
	ARN     string `json:"arn"`
	Primary string `json:"primary"` // id
}

// CodeDeploy is what was requested from CodeDeploy: one deployment forward, one back.
type CodeDeploy struct {
	Forward *CodeDeployRequest `json:"forward,omitempty"`
	Return  *CodeDeployRequest `json:"return,omitempty"`
}

// CodeDeployRequest is the deployment that was requested from CodeDeploy. Its identity is the
// action ID, in its description. The ID is known once AWS has returned it or the deployment was
// found.
type CodeDeployRequest struct {
	Deployment string `json:"deployment,omitempty"`
	Turn       int    `json:"turn,omitempty"` // number of the rollback deployment, from 0
}

// Scaling is what the deployment did to auto scaling.
type Scaling struct {
	Override *Override `json:"override,omitempty"`
	Rollback bool      `json:"rollback,omitempty"` // the deployment rolls back
}

// Override is a temporary change of auto scaling: the targets before it, and the targets as we set
// them. It is saved before its first write. A deployment that stops early restores auto scaling,
// and begins another override when it continues.
type Override struct {
	Phase    OverridePhase     `json:"phase"`
	Base     []sluice.Scalable `json:"base"`
	Wanted   []sluice.Scalable `json:"ours"`
	Repeated bool              `json:"again,omitempty"` // not the first override of the deployment
}

// OverridePhase is the progress of an override. It is empty if there is none.
type OverridePhase string

// Progress of an override, in this order.
const (
	OverrideSetting   OverridePhase = "setting"
	OverrideSet       OverridePhase = "set"
	OverrideReturning OverridePhase = "returning"
	OverrideReturned  OverridePhase = "returned"
)
