package sluice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// EventSchema is the name of the format of [Envelope] and of the events in it. The first line of
// `--output json` contains it.
const EventSchema = "sluice.events/1"

// Envelope is one event as it is journaled, printed and read back. Data is the event's own JSON, so
// an event of a kind unknown to this version survives reading and printing.
type Envelope struct {
	Schema     string    `json:"schema"`
	Seq        int64     `json:"seq"` // per deployment, from 1, without gaps
	At         time.Time `json:"at"`
	Deployment string    `json:"deployment"`
	// name of the application; the journal does not store it
	Application string `json:"application,omitempty"`
	// family:revision that the deployment deploys, once it is known; the journal does not store it
	Revision string          `json:"revision,omitempty"`
	Stage    string          `json:"stage,omitempty"` // "2 ECS_TRAFFIC_ROUTING"; empty outside stages
	Kind     string          `json:"kind"`
	Data     json.RawMessage `json:"data"`
}

// Event is a typed event of a deployment. It is emitted when something changed, not at each poll.
// The set of types is sealed.
type Event interface{ eventKind() string }

// Seal puts e into an envelope. The journal sets Seq and At.
func Seal(deployment, stage string, e Event) Envelope {
	data, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("event %s cannot be written as JSON: %v", e.eventKind(), err))
	}
	return Envelope{Schema: EventSchema, Deployment: deployment, Stage: stage, Kind: e.eventKind(), Data: data}
}

// Open decodes the event in the envelope. For a kind or a format unknown to this version it returns
// [Unknown], never an error.
func (e Envelope) Open() Event {
	if decode, ok := eventKinds[e.Kind]; ok {
		if ev, err := decode(e.Data); err == nil {
			return ev
		}
	}
	return Unknown{Name: e.Kind, Data: e.Data}
}

// Unknown is an event of a kind that this version does not know.
type Unknown struct {
	Name string
	Data json.RawMessage
}

func (u Unknown) eventKind() string { return u.Name }

// MarshalJSON writes the original data.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Data, nil }

var eventKinds = map[string]func([]byte) (Event, error){
	DeploymentStarted{}.eventKind(): decodeAs[DeploymentStarted],
	DeploymentEnded{}.eventKind():   decodeAs[DeploymentEnded],
	DeploymentPaused{}.eventKind():  decodeAs[DeploymentPaused],
	DeploymentResumed{}.eventKind(): decodeAs[DeploymentResumed],
	StageStarted{}.eventKind():      decodeAs[StageStarted],
	StageEnded{}.eventKind():        decodeAs[StageEnded],
	RollbackStarted{}.eventKind():   decodeAs[RollbackStarted],
	ApprovalAwaited{}.eventKind():   decodeAs[ApprovalAwaited],
	Approved{}.eventKind():          decodeAs[Approved],
	Waiting{}.eventKind():           decodeAs[Waiting],
	Writing{}.eventKind():           decodeAs[Writing],
	Wrote{}.eventKind():             decodeAs[Wrote],
	Adopted{}.eventKind():           decodeAs[Adopted],
	CapacityChanged{}.eventKind():   decodeAs[CapacityChanged],
	TrafficShifted{}.eventKind():    decodeAs[TrafficShifted],
	RequestsCounted{}.eventKind():   decodeAs[RequestsCounted],
	GateRead{}.eventKind():          decodeAs[GateRead],
	LifecycleChanged{}.eventKind():  decodeAs[LifecycleChanged],
	FailureSeen{}.eventKind():       decodeAs[FailureSeen],
	TaskChanged{}.eventKind():       decodeAs[TaskChanged],
	TaskEnded{}.eventKind():         decodeAs[TaskEnded],
	Printed{}.eventKind():           decodeAs[Printed],
	Warned{}.eventKind():            decodeAs[Warned],
	Noted{}.eventKind():             decodeAs[Noted],
	Unanswered{}.eventKind():        decodeAs[Unanswered],
}

// Events returns an event of each kind without values, sorted by kind. [Unknown] is not one of them.
func Events() []Event {
	var all []Event
	for _, kind := range slices.Sorted(maps.Keys(eventKinds)) {
		all = append(all, Envelope{Kind: kind, Data: json.RawMessage("{}")}.Open())
	}
	return all
}

func decodeAs[E Event](data []byte) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e)
	return e, err
}

// DeploymentStarted is emitted when the plan is saved and the deployment is about to run.
type DeploymentStarted struct {
	Application string `json:"application"`
	Cluster     string `json:"cluster"`
	Service     string `json:"service"`
	Region      string `json:"region"`
	Trigger     string `json:"trigger"`
	From        string `json:"from,omitempty"` // task definition that is PRIMARY, family:revision
	// requested task definition: family:revision, or the family if not registered yet
	To     string   `json:"to"`
	Stages []string `json:"stages"`
}

// DeploymentEnded is emitted when the deployment has ended; sluice makes no further changes for it.
type DeploymentEnded struct {
	Outcome Outcome `json:"outcome"`
	Cause   string  `json:"cause,omitempty"`
	Next    string  `json:"next,omitempty"`
}

// DeploymentPaused is emitted when the process stopped running the deployment; it can be resumed.
type DeploymentPaused struct {
	Why string `json:"why"`
}

// DeploymentResumed is emitted when a process resumes the deployment.
type DeploymentResumed struct {
	By string `json:"by"`
}

// StageStarted is emitted when a stage begins, or begins again after an interruption.
type StageStarted struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Desc    string `json:"desc,omitempty"`
	Attempt int    `json:"attempt"`
}

// StageEnded is emitted when a stage is done, failed or skipped.
type StageEnded struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Cause  string `json:"cause,omitempty"`
	Next   string `json:"next,omitempty"`
	// Outcome is superseded if the stage failed because another deployment replaced this one.
	Outcome Outcome `json:"outcome,omitempty"`
}

// Result returns in one word how the stage ended: its outcome, otherwise its status.
func (e StageEnded) Result() string { return cmp.Or(string(e.Outcome), e.Status) }

// RollbackStarted is emitted when the rollback to the previous state begins.
type RollbackStarted struct {
	Cause string `json:"cause"`
}

// ApprovalAwaited is emitted when the deployment waits for a person's approval.
type ApprovalAwaited struct {
	Index     int      `json:"index"`
	Approvers []string `json:"approvers,omitempty"`
	Missing   int      `json:"missing"`
	// gates without a verdict at the end of the time of a stage; empty for a stage that needs approvals
	Undecided string `json:"undecided,omitempty"`
}

// Approved is emitted when a person has approved.
type Approved struct {
	Index int    `json:"index"`
	By    string `json:"by"`
}

// Waiting is emitted when the deployment waits for something, and again only when Detail changes.
type Waiting struct {
	For    string    `json:"for"`
	Detail string    `json:"detail,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Writing is emitted when sluice is about to request a change from AWS.
type Writing struct {
	Action ActionID `json:"action"`
	Write
}

// Wrote is emitted when AWS has responded to a change.
type Wrote struct {
	Action ActionID `json:"action"`
	Write
	Result string `json:"result,omitempty"` // what the change created or changed: an ID, a state
	Cause  string `json:"cause,omitempty"`  // why the change failed
}

// Adopted is emitted when sluice finds and uses a resource that an earlier attempt created.
type Adopted struct {
	Action   ActionID `json:"action"`
	Resource string   `json:"resource"`
}

// CapacityChanged is emitted when tasks or targets of a variant changed.
type CapacityChanged struct {
	Variant  Variant `json:"variant"` // primary, canary, or leaving: a task set or deployment that is being removed
	TaskSet  string  `json:"taskSet,omitempty"`
	Revision string  `json:"revision,omitempty"`
	Desired  int     `json:"desired"`
	Pending  int     `json:"pending"`
	Running  int     `json:"running"`
	Healthy  int     `json:"healthy"`
	Draining int     `json:"draining,omitempty"`
	Targets  int     `json:"targets"`
}

// TrafficShifted is emitted when the weights were changed and read back. Both from values are 0 if
// the earlier weights were no whole percentages. Rules is empty if CodeDeploy shifts the traffic.
type TrafficShifted struct {
	FromPrimary int      `json:"fromPrimary"`
	FromCanary  int      `json:"fromCanary"`
	ToPrimary   int      `json:"toPrimary"`
	ToCanary    int      `json:"toCanary"`
	Rules       []string `json:"rules,omitempty"`
}

// Was describes the previous weights, for users.
func (e TrafficShifted) Was() string {
	if e.FromPrimary+e.FromCanary == 0 {
		return "other weights"
	}
	return fmt.Sprintf("%d / %d", e.FromPrimary, e.FromCanary)
}

// LifecycleChanged is emitted when a lifecycle event of a CodeDeploy deployment began or ended.
type LifecycleChanged struct {
	Deployment string `json:"codeDeployment"` // "d-XXXXXXXXX"
	Name       string `json:"name"`           // BeforeInstall … AfterAllowTraffic
	Status     string `json:"status"`         // InProgress, Succeeded, Failed, Skipped
	Message    string `json:"message,omitempty"`
}

// FailureSeen is emitted when tasks or targets failed with one cause, and again when the count
// grows.
type FailureSeen struct {
	Variant Variant `json:"variant"`
	Cause   string  `json:"cause"`
	Count   int     `json:"count"`
	Task    string  `json:"task,omitempty"`
}

// Warned is emitted for a warning: a person should know it, and the deployment continues.
type Warned struct {
	Message string `json:"message"`
}

// Noted is emitted for a line of the log.
type Noted struct {
	Message string `json:"message"`
	Log     string `json:"log,omitempty"` // the container whose last lines the message is one of, after a failure
}

// Way returns how the traffic is shifted: "rule", "default action" of a listener without rules, or
// "name" for Cloud Map.
func (e TrafficShifted) Way() string {
	if len(e.Rules) > 0 && strings.Contains(e.Rules[0], ":servicediscovery:") {
		return "name"
	}
	if len(e.Rules) > 0 && strings.Contains(e.Rules[0], ":listener/") {
		return "default action"
	}
	return "rule"
}

func (DeploymentStarted) eventKind() string { return "deploymentStarted" }
func (DeploymentEnded) eventKind() string   { return "deploymentEnded" }
func (DeploymentPaused) eventKind() string  { return "deploymentPaused" }
func (DeploymentResumed) eventKind() string { return "deploymentResumed" }
func (StageStarted) eventKind() string      { return "stageStarted" }
func (StageEnded) eventKind() string        { return "stageEnded" }
func (RollbackStarted) eventKind() string   { return "rollbackStarted" }
func (ApprovalAwaited) eventKind() string   { return "approvalAwaited" }
func (Approved) eventKind() string          { return "approved" }
func (Waiting) eventKind() string           { return "waiting" }
func (Writing) eventKind() string           { return "writing" }
func (Wrote) eventKind() string             { return "wrote" }
func (Adopted) eventKind() string           { return "adopted" }
func (CapacityChanged) eventKind() string   { return "capacityChanged" }
func (TrafficShifted) eventKind() string    { return "trafficShifted" }
func (RequestsCounted) eventKind() string   { return "requestsCounted" }
func (GateRead) eventKind() string          { return "gateRead" }
func (LifecycleChanged) eventKind() string  { return "lifecycleChanged" }
func (FailureSeen) eventKind() string       { return "failureSeen" }
func (Warned) eventKind() string            { return "warned" }
func (Noted) eventKind() string             { return "noted" }
func (Unanswered) eventKind() string        { return "unanswered" }
