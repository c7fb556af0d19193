package sluice

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// TaskSet is a task set as AWS returns it at one poll.
type TaskSet struct {
	ID          string // "ecs-svc/<digits>"
	ARN         string
	Status      string // PRIMARY, ACTIVE, DRAINING
	Revision    string // family:revision
	ExternalID  string // the [ActionID] that created it, if sluice did
	Scale       float64
	Desired     int // computedDesiredCount
	Pending     int
	Running     int
	Steady      bool   // stabilityStatus STEADY_STATE
	TargetGroup string // ARN; empty without a load balancer
	CreatedAt   time.Time
	Tags        map[string]string
}

// Target is one target of a target group at one poll.
type Target struct {
	ID          string // IP address
	Port        int32
	State       string // initial, healthy, unhealthy, unused, draining
	Reason      string // Target.FailedHealthChecks …
	Description string
}

// StoppedTask is a task that stopped, with AWS's reason.
type StoppedTask struct {
	ID              string // the task's id, the last part of its ARN
	StopCode        string // EssentialContainerExited, TaskFailedToStart …
	StoppedReason   string
	Container       string // the container that explains the stop, if there is one
	ContainerReason string
	ExitCode        *int
	StartedAt       time.Time // when all its containers ran; zero: they never did
	StoppedAt       time.Time
}

// Share is a target group with its weight in a forward action.
type Share struct {
	Group  string `json:"group"` // ARN
	Weight int    `json:"weight"`
}

// Rule is a listener rule's forward action at one poll.
type Rule struct {
	ARN      string  `json:"arn"`
	Listener string  `json:"listener"`
	Balancer string  `json:"balancer"`
	Port     int     `json:"port"`
	Priority string  `json:"priority"` // "1"…"50000", or "default"
	Forward  []Share `json:"forward,omitempty"`
	// Protocol is that of a listener without rules; empty: the listener has rules.
	Protocol string `json:"protocol,omitempty"`
	// Sticky is how long the rule sends a client to the target group that it got first; 0: each request anew.
	Sticky time.Duration `json:"sticky,omitempty"`
}

// IsDefault reports whether the rule is the default action of its listener, which is written
// through the listener.
func (r Rule) IsDefault() bool { return r.Priority == "default" }

// Name returns the name of the rule for people.
func (r Rule) Name() string {
	switch {
	case r.Protocol != "":
		return fmt.Sprintf("default action of port %d", r.Port)
	case r.IsDefault():
		return fmt.Sprintf("default rule of port %d", r.Port)
	}
	if r.Port == 0 {
		return "rule " + r.Priority
	}
	return fmt.Sprintf("rule %s of port %d", r.Priority, r.Port)
}

// RuleOfARN returns what the ARN of a rule tells about it: its listener and its load balancer, with its ID in place of the
// priority. The ARN of a listener is that of its default action.
func RuleOfARN(arn string) Rule {
	r := Rule{ARN: arn, Listener: arn, Priority: "default"}
	if strings.Contains(arn, ":listener-rule/") {
		i := strings.LastIndexByte(arn, '/')
		r.Listener, r.Priority = strings.Replace(arn[:i], ":listener-rule/", ":listener/", 1), arn[i+1:]
	}
	if i := strings.LastIndexByte(r.Listener, '/'); i >= 0 {
		r.Balancer = strings.Replace(r.Listener[:i], ":listener/", ":loadbalancer/", 1)
	}
	return r
}

// Weight returns the weight of a group in the rule, and whether the rule contains the group.
func (r Rule) Weight(group string) (int, bool) {
	for _, s := range r.Forward {
		if s.Group == group {
			return s.Weight, true
		}
	}
	return 0, false
}

// Attempt is a write that is about to be made: its action, the planned write and the actual write.
type Attempt struct {
	Action  string // the last part of the [ActionID]
	Name    string // of the action for people; empty: Action
	Planned Write  // as the plan lists it, perhaps symbolic
	Actual  Write  // with the concrete resource
}

// Act makes a write. It refuses a write that is not in the plan. It emits that the write begins,
// runs call with permission for exactly that write, and emits the result. The stage that uses an
// adapter gives it an Act.
type Act func(ctx context.Context, a Attempt, call func(context.Context) (result string, err error)) error

// ARNName returns the last part of an ARN, after its last slash or colon. It returns a name
// unchanged.
func ARNName(arn string) string {
	return arn[strings.LastIndexAny(arn, "/:")+1:]
}

// ARNPlace returns the Region and the account of an ARN. ok is false for a name.
func ARNPlace(arn string) (region, account string, ok bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" {
		return "", "", false
	}
	return parts[3], parts[4], true
}

// TargetGroupName returns the name in the ARN of a target group, "…:targetgroup/<name>/<id>". It returns
// other text unchanged.
func TargetGroupName(arn string) string {
	_, rest, ok := strings.Cut(arn, ":targetgroup/")
	if !ok {
		return arn
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// RevisionOf returns family:revision from a task definition's ARN or name.
func RevisionOf(arn string) string {
	return arn[strings.LastIndexByte(arn, '/')+1:]
}

// RunningText returns how many of the desired tasks run: "2 of 4 running". If none is desired, the others are being stopped:
// "2 running, 0 desired".
func RunningText(running, desired int) string {
	if desired == 0 && running > 0 {
		return fmt.Sprintf("%d running, 0 desired", running)
	}
	return fmt.Sprintf("%d of %d running", running, desired)
}

// Plural returns a count with its noun: "1 task", "2 tasks".
func Plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
