package sluice

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"strings"
)

// Variant says which side of a deployment something belongs to.
type Variant string

const (
	// Primary serves production.
	Primary Variant = "primary"
	// Canary is the proposed change, beside the primary.
	Canary Variant = "canary"
	// Leaving is in events of capacity only: a task set, or a deployment of ECS's, that is
	// being removed.
	Leaving Variant = "leaving"
)

// Access is how callers reach a service.
type Access string

const (
	// ELB: through an Application Load Balancer and two target groups.
	ELB Access = "ELB"
	// ServiceDiscovery: through AWS Cloud Map.
	ServiceDiscovery Access = "SERVICE_DISCOVERY"
	// NoAccess: nobody calls it (queue workers, standalone tasks).
	NoAccess Access = "NONE"
)

// OnOutside is what follows if somebody else changes what a deployment steers
// while it runs.
type OnOutside string

const (
	// StopOnChange ends the deployment and takes traffic to the safe side.
	StopOnChange OnOutside = "stop"
	// ReassertChange writes ours again and goes on.
	ReassertChange OnOutside = "reassert"
	// AdoptChange takes theirs for ours and goes on.
	AdoptChange OnOutside = "adopt"
)

// OnTargets is what a deployment does about task sets and targets of others that get
// requests from the target groups of the application.
type OnTargets string

const (
	// StopOnTargets refuses the deployment before anything is written.
	StopOnTargets OnTargets = "stop"
	// AllowTargets deploys beside them; they keep their part of the requests.
	AllowTargets OnTargets = "allow"
	// RemoveTargets drains and deletes such task sets first. It does not deregister
	// targets that are no task of the service.
	RemoveTargets OnTargets = "remove"
)

// Weights are the shares of traffic of the two variants, in percent. They
// always sum to 100. The zero value is not valid; use [NewWeights].
type Weights struct {
	primary, canary int
}

// NewWeights refuses shares outside 0–100 and shares that do not sum to 100.
func NewWeights(primary, canary int) (Weights, error) {
	if primary < 0 || primary > 100 || canary < 0 || canary > 100 {
		return Weights{}, fmt.Errorf("weights primary %d, canary %d: each must be between 0 and 100", primary, canary)
	}
	if primary+canary != 100 {
		return Weights{}, fmt.Errorf("weights primary %d, canary %d sum to %d, not to 100", primary, canary, primary+canary)
	}
	return Weights{primary, canary}, nil
}

// CanaryShare gives the canary that many percent and the primary the rest.
// It panics outside 0–100: callers pass constants or checked values.
func CanaryShare(percent int) Weights {
	w, err := NewWeights(100-percent, percent)
	if err != nil {
		panic(err)
	}
	return w
}

// Primary is the primary's share in percent.
func (w Weights) Primary() int { return w.primary }

// Canary is the canary's share in percent.
func (w Weights) Canary() int { return w.canary }

// Of is the share of v in percent.
func (w Weights) Of(v Variant) int {
	if v == Canary {
		return w.canary
	}
	return w.primary
}

// Valid reports whether w came from [NewWeights].
func (w Weights) Valid() bool { return w.primary+w.canary == 100 }

func (w Weights) String() string {
	return fmt.Sprintf("primary %d / canary %d", w.primary, w.canary)
}

type weightsJSON struct {
	Primary int `json:"primary"`
	Canary  int `json:"canary"`
}

// MarshalJSON writes {"primary":90,"canary":10}.
func (w Weights) MarshalJSON() ([]byte, error) { return json.Marshal(weightsJSON{w.primary, w.canary}) }

// UnmarshalJSON refuses what [NewWeights] refuses.
func (w *Weights) UnmarshalJSON(data []byte) error {
	var j weightsJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	var err error
	*w, err = NewWeights(j.Primary, j.Canary)
	return err
}

// ActionID is the stable name of one change to AWS,
// "<deployment>/<stage>/<action>". The same action of the same deployment has
// the same ID in every attempt, so that what it made can be found again.
type ActionID string

// NewActionID joins the three parts. The stage part carries the stage's index
// so that two stages of one name differ.
func NewActionID(deployment, stage, action string) ActionID {
	return ActionID(deployment + "/" + stage + "/" + action)
}

// Deployment is the first part of the ID, or "" if the ID has no three parts.
func (a ActionID) Deployment() string {
	d, _, ok := strings.Cut(string(a), "/")
	if !ok {
		return ""
	}
	return d
}

// tokenSpace is the UUID namespace of [ActionID.Token], fixed for ever: another
// value would turn a retried create into a second one.
var tokenSpace = [16]byte{0x6b, 0x3c, 0x1d, 0x8e, 0x52, 0x0f, 0x4c, 0x7a, 0x9d, 0x41, 0x73, 0x6c, 0x75, 0x69, 0x63, 0x65}

// Token is the UUIDv5 of the ID, 36 ASCII characters: the longest client token
// that ECS takes (ECS API Reference, "Ensuring idempotency").
func (a ActionID) Token() string {
	h := sha1.New()
	h.Write(tokenSpace[:])
	h.Write([]byte(a))
	u := h.Sum(nil)[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// Write is one change that a plan lists and the gate permits: an operation and
// the resource that it changes. Operation is "<service>:<Operation>" with the
// service's IAM prefix ("ecs:CreateTaskSet", "elasticloadbalancing:ModifyRule").
// Resource is a name or ARN; in a plan it may be symbolic for what is not yet
// made ("task set of canary").
type Write struct {
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
}

func (w Write) String() string { return w.Operation + " " + w.Resource }
