package sluice

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// TaskSet is what AWS shows of a task set at one look.
type TaskSet struct {
	ID          string // "ecs-svc/<digits>"
	ARN         string
	Status      string // PRIMARY, ACTIVE, DRAINING
	Revision    string // family:revision
	ExternalID  string // the [ActionID] of who made it, if sluice did
	Scale       float64
	Desired     int // computedDesiredCount
	Pending     int
	Running     int
	Steady      bool   // stabilityStatus STEADY_STATE
	TargetGroup string // ARN; empty without a load balancer
	CreatedAt   time.Time
	Tags        map[string]string
}

// Target is one target of a target group at one look.
type Target struct {
	ID          string // IP address
	Port        int32
	State       string // initial, healthy, unhealthy, unused, draining
	Reason      string // Target.FailedHealthChecks …
	Description string
}

// StoppedTask is a task that ended, with what AWS says why.
type StoppedTask struct {
	ID              string // the task's id, the last part of its ARN
	StopCode        string // EssentialContainerExited, TaskFailedToStart …
	StoppedReason   string
	Container       string // the container that explains the end, if one does
	ContainerReason string
	ExitCode        *int
	StoppedAt       time.Time
}

// Share is a target group with its weight in a forward action.
type Share struct {
	Group  string `json:"group"` // ARN
	Weight int    `json:"weight"`
}

// Rule is what a listener rule forwards, at one look.
type Rule struct {
	ARN      string  `json:"arn"`
	Listener string  `json:"listener"`
	Balancer string  `json:"balancer"`
	Port     int     `json:"port"`
	Priority string  `json:"priority"` // "1"…"50000", or "default"
	Forward  []Share `json:"forward,omitempty"`
}

// Weight is the weight of a group in the rule, and whether the rule has it.
func (r Rule) Weight(group string) (int, bool) {
	for _, s := range r.Forward {
		if s.Group == group {
			return s.Weight, true
		}
	}
	return 0, false
}

// Attempt is a write that is about to be made: its action, how the plan listed
// it, and what it is in fact.
type Attempt struct {
	Action  string // the last part of the [ActionID]
	Planned Write  // as the plan lists it, perhaps symbolic
	Actual  Write  // with the concrete resource
}

// Act makes a write: it refuses what the plan does not list, tells that it
// begins, runs call with leave to make exactly that write, and tells the result.
// Hands are given one by the stage that uses them.
type Act func(ctx context.Context, a Attempt, call func(context.Context) (result string, err error)) error

// ARNName is the last part of an ARN, after its last slash or colon; a name is
// returned as it is.
func ARNName(arn string) string {
	return arn[strings.LastIndexAny(arn, "/:")+1:]
}

// RevisionOf is family:revision of a task definition's ARN or name.
func RevisionOf(arn string) string {
	return arn[strings.LastIndexByte(arn, '/')+1:]
}

// Plural writes a count with its noun: "1 task", "2 tasks".
func Plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
