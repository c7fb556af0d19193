package sluice

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"strings"
)

// Variant distinguishes the primary and the canary of a deployment.
type Variant string

const (
	// Primary serves production.
	Primary Variant = "primary"
	// Canary is the proposed change, next to the primary.
	Canary Variant = "canary"
	// Leaving occurs only in capacity events: a task set, or a deployment of ECS, that is being
	// removed.
	Leaving Variant = "leaving"
)

// Access is how callers reach a service.
type Access string

const (
	// ELB means a load balancer with two target groups.
	ELB Access = "ELB"
	// ServiceDiscovery means AWS Cloud Map.
	ServiceDiscovery Access = "SERVICE_DISCOVERY"
	// NoAccess means that the service has no callers (queue workers, standalone tasks).
	NoAccess Access = "NONE"
)

// OnOutside determines how a deployment reacts if another process or person changes what it
// controls while it runs.
type OnOutside string

const (
	// StopOnChange ends the deployment and rolls its own changes back.
	StopOnChange OnOutside = "stop"
	// ReassertChange writes the deployment's own value again and continues.
	ReassertChange OnOutside = "reassert"
	// AdoptChange accepts the external change and continues.
	AdoptChange OnOutside = "adopt"
)

// OnTargets determines what a deployment does about other task sets and targets that get requests
// from the target groups of the application.
type OnTargets string

const (
	// StopOnTargets refuses the deployment before any write.
	StopOnTargets OnTargets = "stop"
	// AllowTargets deploys next to them; they keep their share of the requests.
	AllowTargets OnTargets = "allow"
	// RemoveTargets first drains and deletes such task sets. It does not deregister targets that
	// are not tasks of the service.
	RemoveTargets OnTargets = "remove"
)

// OnRoute determines what a deployment does if a production rule sends requests to a target group without healthy
// targets, or to none, although another group of the service can serve.
type OnRoute string

const (
	// StopOnRoute refuses the deployment before any write.
	StopOnRoute OnRoute = "stop"
	// AllowRoute deploys. Callers get errors until the rule is restored.
	AllowRoute OnRoute = "allow"
)

// Weights are the traffic shares of the two variants, in percent. They always sum to 100. The zero
// value is not valid; use [NewWeights].
type Weights struct {
	primary, canary int
}

// NewWeights refuses shares outside 0–100 and shares that do not sum to 100.
func NewWeights(primary, canary int) (Weights, error) {
	if primary < 0 || primary > 100 || canary < 0 || canary > 100 {
		return Weights{}, fmt.Errorf("weights primary %d, canary %d: each must be between 0 and 100", primary, canary)
	}
	if primary+canary != 100 {
		return Weights{}, fmt.Errorf("weights primary %d, canary %d sum to %d, not to 100", primary, canary,
			primary+canary)
	}
	return Weights{primary, canary}, nil
}

// CanaryShare gives the canary that many percent and the primary the rest. It panics outside 0–100:
// callers pass constants or checked values.
func CanaryShare(percent int) Weights {
	w, err := NewWeights(100-percent, percent)
	if err != nil {
		panic(err)
	}
	return w
}

// Primary returns the primary's share in percent.
func (w Weights) Primary() int { return w.primary }

// Canary returns the canary's share in percent.
func (w Weights) Canary() int { return w.canary }

// Of returns the share of v in percent.
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

// UnmarshalJSON refuses the shares that [NewWeights] refuses.
func (w *Weights) UnmarshalJSON(data []byte) error {
	var j weightsJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	var err error
	*w, err = NewWeights(j.Primary, j.Canary)
	return err
}

// ActionID is the stable name of one change to AWS, "<deployment>/<stage>/<action>". The same
// action of the same deployment has the same ID in every attempt, so a later attempt finds what it
// created.
type ActionID string

// NewActionID joins the three parts. The stage part contains the stage's index, so two stages with
// one name differ.
func NewActionID(deployment, stage, action string) ActionID {
	return ActionID(deployment + "/" + stage + "/" + action)
}

// Deployment returns the first part of the ID, or "" if the ID has no slash.
func (a ActionID) Deployment() string {
	d, _, ok := strings.Cut(string(a), "/")
	if !ok {
		return ""
	}
	return d
}

// tokenNamespace is the UUID namespace of [ActionID.Token]. It never changes: with another value, a
// retried create would create a second resource.
var tokenNamespace = [16]byte{0x6b, 0x3c, 0x1d, 0x8e, 0x52, 0x0f, 0x4c, 0x7a, 0x9d, 0x41, 0x73, 0x6c, 0x75, 0x69, 0x63,
	0x65}

// Token returns the UUIDv5 of the ID, 36 ASCII characters. That is the longest client token that
// ECS accepts (ECS API Reference, "Ensuring idempotency").
func (a ActionID) Token() string {
	h := sha1.New()
	h.Write(tokenNamespace[:])
	h.Write([]byte(a))
	u := h.Sum(nil)[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// Write is one change that a plan lists and the gate permits: an operation and the resource that it
// changes. Operation is "<service>:<Operation>" with the service's IAM prefix ("ecs:CreateTaskSet",
// "elasticloadbalancing:ModifyRule"). Resource is a name or ARN. In a plan it may be symbolic for a
// resource that does not exist yet ("task set of canary").
type Write struct {
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
}

func (w Write) String() string { return w.Operation + " " + w.Resource }
