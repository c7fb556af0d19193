package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Hook is a lifecycle hook of a deployment configuration.
type Hook struct {
	Function  string // ARN of a Lambda function; "": the hook pauses
	Stages    []string
	Timeout   time.Duration
	Continues bool // after the timeout; otherwise the deployment is rolled back
}

// Statuses of hooks, as the API writes them.
const (
	HookAwaits    = "AWAITING_ACTION"
	HookRuns      = "IN_PROGRESS"
	HookSucceeded = "SUCCEEDED"
	HookFailed    = "FAILED"
	HookTimedOut  = "TIMED_OUT"
)

// HookRun is one pass of a hook at a stage. Each pass has its own ID.
type HookRun struct {
	ID, Status string
	Function   string
	ExpiresAt  time.Time
	Continues  bool
}

// Hooks returns the hooks that a rollout has reached, oldest first.
func (r *Rollout) Hooks() (all []HookRun) {
	if r.lifecycle == nil {
		return nil
	}
	for _, h := range r.lifecycle.hooks {
		all = append(all, *h)
	}
	return all
}

// isOpen reports whether the hook has no result.
func (h *HookRun) isOpen() bool { return h.Status == HookAwaits || h.Status == HookRuns }

// hooksHavePassed starts the hooks of the stage and reports whether all have passed. They run in
// parallel; one failure rolls back. In a rollback their results do not count.
func (l *lifecycle) hooksHavePassed(tx *world.Tx, r *Rollout) bool {
	if !l.hooksStarted {
		l.hooksStarted = true
		for _, h := range l.strategy.Hooks {
			if slices.Contains(h.Stages, l.stage) {
				l.startHook(tx, r, h)
			}
		}
	}
	passed := true
	for _, h := range l.hooks[l.stageHooks:] {
		if h.isOpen() && !h.ExpiresAt.After(tx.Now()) {
			l.endHook(tx, r, h, HookTimedOut)
		}
		if h.isOpen() {
			reconcileAt(tx, r.service, h.ExpiresAt)
			passed = false
		}
	}
	return passed && !l.hasFailed()
}

func (l *lifecycle) startHook(tx *world.Tx, r *Rollout, h Hook) {
	run := &HookRun{ID: "ecs-pause-" + tx.NewHex("lifecycle hook", 20), Status: HookAwaits, Function: h.Function,
		ExpiresAt: tx.Now().Add(h.Timeout), Continues: h.Continues}
	l.hooks = append(l.hooks, run)
	tx.Log("rollout", r.ID, "hook %s at %s", run.ID, l.stage)
	if h.Function != "" {
		run.ID, run.Status = strings.Replace(run.ID, "pause", "lambda", 1), HookRuns
		l.invokeHook(tx, r, run)
	}
}

// invokeHook calls the function of a hook. A function of the world reports its result once, after
// its delay. One that does not exist has failed.
func (l *lifecycle) invokeHook(tx *world.Tx, r *Rollout, run *HookRun) {
	f, ok := tx.Functions.Get(functionName(run.Function))
	if !ok {
		l.endHook(tx, r, run, HookFailed)
		return
	}
	tx.Invoke(f, world.Invocation{Deployment: r.ID, Event: l.stage, Execution: tx.NewUUID("hook execution")})
	result := HookSucceeded
	switch f.Result {
	case world.FunctionHangs:
		return
	case world.FunctionFails:
		result = HookFailed
	}
	tx.After(f.After, func(tx *world.Tx) {
		if run.isOpen() {
			l.endHook(tx, r, run, result)
		}
	})
}

// functionName returns the name in a function's ARN, without a version.
func functionName(arn string) string {
	if _, name, ok := strings.Cut(arn, ":function:"); ok {
		arn = name
	}
	name, _, _ := strings.Cut(arn, ":")
	return name
}

// endHook sets the result of a hook. Only the first failure of a deployment counts.
func (l *lifecycle) endHook(tx *world.Tx, r *Rollout, h *HookRun, status string) {
	h.Status, r.UpdatedAt = status, tx.Now()
	tx.Log("rollout", r.ID, "hook %s %s", h.ID, status)
	switch {
	case l.isBack || l.hasFailed():
	case status == HookFailed:
		l.failure = hookFailed
	case status == HookTimedOut && !h.Continues:
		l.failure = hookTimedOut
	}
	tx.Changed(world.ServiceChanged, r.service)
}

// closeHooks ends the open hooks of a rollout that ends or is rolled back.
func (r *Rollout) closeHooks(tx *world.Tx) {
	if r.lifecycle == nil {
		return
	}
	for _, h := range r.lifecycle.hooks {
		if h.isOpen() {
			h.Status = HookFailed
			tx.Log("rollout", r.ID, "hook %s closed", h.ID)
		}
	}
}

// AnswerHook continues or rolls back a rollout that waits at a hook. It reports whether the rollout
// is in progress and the hook awaits an answer.
func (s *Scheduler) AnswerHook(tx *world.Tx, r *Rollout, id string, rollback bool) bool {
	if r.lifecycle == nil || r.Status != "IN_PROGRESS" {
		return false
	}
	for _, h := range r.lifecycle.hooks {
		if h.ID == id && h.Status == HookAwaits {
			status := HookSucceeded
			if rollback {
				status = HookFailed
			}
			r.lifecycle.endHook(tx, r, h, status)
			return true
		}
	}
	return false
}
