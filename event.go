package sluice

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// EventSchema names the shape of [Envelope] and of the events in it. The first
// line of `--output json` carries it.
const EventSchema = "sluice.events/1"

// Envelope is one event as it is journaled, printed and read back. Data is the
// event's own JSON, so that a kind that this version does not know survives
// reading and printing.
type Envelope struct {
	Schema     string          `json:"schema"`
	Seq        int64           `json:"seq"` // per deployment, from 1, without gaps
	At         time.Time       `json:"at"`
	Deployment string          `json:"deployment"`
	Stage      string          `json:"stage,omitempty"` // "2 ECS_TRAFFIC_ROUTING"; empty outside stages
	Kind       string          `json:"kind"`
	Data       json.RawMessage `json:"data"`
}

// Event is a typed fact about a deployment, emitted when something changed, not
// each time somebody looked. The set is sealed.
type Event interface{ kind() string }

// Seal puts e into an envelope. Seq and At are the journal's to fill in.
func Seal(deployment, stage string, e Event) Envelope {
	data, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("event %s cannot be written as JSON: %v", e.kind(), err))
	}
	return Envelope{Schema: EventSchema, Deployment: deployment, Stage: stage, Kind: e.kind(), Data: data}
}

// Open decodes the event in the envelope. A kind or a shape that this version
// does not know comes back as [Unknown], never as an error.
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

func (u Unknown) kind() string { return u.Name }

// MarshalJSON writes the data as it came.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Data, nil }

var eventKinds = map[string]func([]byte) (Event, error){
	DeploymentStarted{}.kind(): decodeAs[DeploymentStarted],
	DeploymentEnded{}.kind():   decodeAs[DeploymentEnded],
	DeploymentPaused{}.kind():  decodeAs[DeploymentPaused],
	DeploymentResumed{}.kind(): decodeAs[DeploymentResumed],
	StageStarted{}.kind():      decodeAs[StageStarted],
	StageEnded{}.kind():        decodeAs[StageEnded],
	RollbackStarted{}.kind():   decodeAs[RollbackStarted],
	ApprovalAwaited{}.kind():   decodeAs[ApprovalAwaited],
	Approved{}.kind():          decodeAs[Approved],
	Waiting{}.kind():           decodeAs[Waiting],
	Writing{}.kind():           decodeAs[Writing],
	Wrote{}.kind():             decodeAs[Wrote],
	Adopted{}.kind():           decodeAs[Adopted],
	CapacityChanged{}.kind():   decodeAs[CapacityChanged],
	TrafficShifted{}.kind():    decodeAs[TrafficShifted],
	LifecycleChanged{}.kind():  decodeAs[LifecycleChanged],
	FailureSeen{}.kind():       decodeAs[FailureSeen],
	TaskChanged{}.kind():       decodeAs[TaskChanged],
	TaskEnded{}.kind():         decodeAs[TaskEnded],
	Printed{}.kind():           decodeAs[Printed],
	Warned{}.kind():            decodeAs[Warned],
	Noted{}.kind():             decodeAs[Noted],
	Unanswered{}.kind():        decodeAs[Unanswered],
}

func decodeAs[E Event](data []byte) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e)
	return e, err
}

// DeploymentStarted: the plan is made, saved and about to run.
type DeploymentStarted struct {
	Application string   `json:"application"`
	Cluster     string   `json:"cluster"`
	Service     string   `json:"service"`
	Region      string   `json:"region"`
	Trigger     string   `json:"trigger"`
	From        string   `json:"from,omitempty"` // task definition that serves, family:revision
	To          string   `json:"to"`             // what is asked for: family:revision, or the family if not registered yet
	Stages      []string `json:"stages"`
}

// DeploymentEnded: nothing more will be done.
type DeploymentEnded struct {
	Outcome Outcome `json:"outcome"`
	Cause   string  `json:"cause,omitempty"`
	Next    string  `json:"next,omitempty"`
}

// DeploymentPaused: the engine left; the deployment can be resumed.
type DeploymentPaused struct {
	Why string `json:"why"`
}

// DeploymentResumed: an engine took the deployment up again.
type DeploymentResumed struct {
	By string `json:"by"`
}

// StageStarted: a stage begins, or begins again after an interruption.
type StageStarted struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Desc    string `json:"desc,omitempty"`
	Attempt int    `json:"attempt"`
}

// StageEnded: a stage is done, failed or skipped.
type StageEnded struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Cause  string `json:"cause,omitempty"`
	Next   string `json:"next,omitempty"`
}

// RollbackStarted: what was before is being put back.
type RollbackStarted struct {
	Cause string `json:"cause"`
}

// ApprovalAwaited: a person has to say yes.
type ApprovalAwaited struct {
	Index     int      `json:"index"`
	Approvers []string `json:"approvers,omitempty"`
	Missing   int      `json:"missing"`
}

// Approved: a person said yes.
type Approved struct {
	Index int    `json:"index"`
	By    string `json:"by"`
}

// Waiting: something is being waited for; told again only when Detail changes.
type Waiting struct {
	For    string    `json:"for"`
	Detail string    `json:"detail,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Writing: a change is about to be asked of AWS.
type Writing struct {
	Action ActionID `json:"action"`
	Write
}

// Wrote: AWS answered a change.
type Wrote struct {
	Action ActionID `json:"action"`
	Write
	Result string `json:"result,omitempty"` // what it made or left: an ID, a state
	Cause  string `json:"cause,omitempty"`  // why it was not made
}

// Adopted: something that an earlier attempt had made was found and is used.
type Adopted struct {
	Action   ActionID `json:"action"`
	Resource string   `json:"resource"`
}

// CapacityChanged: tasks or targets of a variant changed.
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

// TrafficShifted: the weights were changed and read back. Both of from are 0 where
// they had been no whole shares. Rules is empty where CodeDeploy moves the traffic.
type TrafficShifted struct {
	FromPrimary int      `json:"fromPrimary"`
	FromCanary  int      `json:"fromCanary"`
	ToPrimary   int      `json:"toPrimary"`
	ToCanary    int      `json:"toCanary"`
	Rules       []string `json:"rules,omitempty"`
}

// Was is what the weights had been, for people.
func (e TrafficShifted) Was() string {
	if e.FromPrimary+e.FromCanary == 0 {
		return "something else"
	}
	return fmt.Sprintf("%d / %d", e.FromPrimary, e.FromCanary)
}

// LifecycleChanged: a lifecycle event of a deployment of CodeDeploy began or ended.
type LifecycleChanged struct {
	Deployment string `json:"codeDeployment"` // "d-XXXXXXXXX"
	Name       string `json:"name"`           // BeforeInstall … AfterAllowTraffic
	Status     string `json:"status"`         // InProgress, Succeeded, Failed, Skipped
	Message    string `json:"message,omitempty"`
}

// FailureSeen: tasks or targets failed for one cause; told when the count grows.
type FailureSeen struct {
	Variant Variant `json:"variant"`
	Cause   string  `json:"cause"`
	Count   int     `json:"count"`
	Task    string  `json:"task,omitempty"`
}

// Warned: something that a person should know and that does not stop us.
type Warned struct {
	Message string `json:"message"`
}

// Noted: a line of the log.
type Noted struct {
	Message string `json:"message"`
}

// Way is what a share was moved on: "rule", or "name" of Cloud Map.
func (e TrafficShifted) Way() string {
	if len(e.Rules) > 0 && strings.Contains(e.Rules[0], ":servicediscovery:") {
		return "name"
	}
	return "rule"
}

func (DeploymentStarted) kind() string { return "deploymentStarted" }
func (DeploymentEnded) kind() string   { return "deploymentEnded" }
func (DeploymentPaused) kind() string  { return "deploymentPaused" }
func (DeploymentResumed) kind() string { return "deploymentResumed" }
func (StageStarted) kind() string      { return "stageStarted" }
func (StageEnded) kind() string        { return "stageEnded" }
func (RollbackStarted) kind() string   { return "rollbackStarted" }
func (ApprovalAwaited) kind() string   { return "approvalAwaited" }
func (Approved) kind() string          { return "approved" }
func (Waiting) kind() string           { return "waiting" }
func (Writing) kind() string           { return "writing" }
func (Wrote) kind() string             { return "wrote" }
func (Adopted) kind() string           { return "adopted" }
func (CapacityChanged) kind() string   { return "capacityChanged" }
func (TrafficShifted) kind() string    { return "trafficShifted" }
func (LifecycleChanged) kind() string  { return "lifecycleChanged" }
func (FailureSeen) kind() string       { return "failureSeen" }
func (Warned) kind() string            { return "warned" }
func (Noted) kind() string             { return "noted" }
func (Unanswered) kind() string        { return "unanswered" }
