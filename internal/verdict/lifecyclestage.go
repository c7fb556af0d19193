package verdict

import (
	"slices"
	"strings"
)

// lifecycleStages are the stages through which ECS takes a deployment with a strategy that shifts traffic,
// in their order (ECS Developer Guide, "Lifecycle hooks for Amazon ECS service deployments").
var lifecycleStages = []string{"RECONCILE_SERVICE", "PRE_SCALE_UP", "SCALE_UP", "POST_SCALE_UP", "TEST_TRAFFIC_SHIFT",
	"POST_TEST_TRAFFIC_SHIFT", "PRE_PRODUCTION_TRAFFIC_SHIFT", "PRODUCTION_TRAFFIC_SHIFT",
	"POST_PRODUCTION_TRAFFIC_SHIFT", "BAKE_TIME", "CLEAN_UP"}

// LifecycleStageNames returns the lifecycle stages of ECS, in their order.
func LifecycleStageNames() []string { return slices.Clone(lifecycleStages) }

// HasReached reports whether the deployment is in the lifecycle stage or in a later one. ECS passes some stages
// between two polls. The stages of a rollback do not count.
func (r *Record) HasReached(stage string) bool {
	return r != nil && !r.isRollingBack() && r.Status != "ROLLBACK_SUCCESSFUL" && r.Status != "ROLLBACK_FAILED" &&
		slices.Index(lifecycleStages, r.Stage) >= slices.Index(lifecycleStages, stage)
}

// AwaitedHooks returns the hooks that wait for an answer.
func (r *Record) AwaitedHooks() (all []Hook) {
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Hooks), func(h Hook) bool { return h.Status != "AWAITING_ACTION" })
}

// withoutHook returns the record without the hook.
func (r *Record) withoutHook(id string) *Record {
	c := *r
	c.Hooks = slices.DeleteFunc(slices.Clone(r.Hooks), func(h Hook) bool { return h.ID == id })
	return &c
}

// passesTime reports whether ECS lets time pass, and no hook waits for an answer. It is false without a record.
func (r *Record) passesTime() bool { return r != nil && r.awaitedHook() == nil && r.holdsTasks() }

// holdsTasks reports whether no task has to start or stop before the deployment goes on: a hook waits for an
// answer, or ECS lets time pass.
func (r *Record) holdsTasks() bool {
	return r.awaitedHook() != nil ||
		r.Stage != "" && !slices.Contains([]string{"RECONCILE_SERVICE", "SCALE_UP", "CLEAN_UP"}, r.Stage)
}

// startsTasks reports whether ECS starts the tasks of the deployment, and no hook waits for an answer. It is false without
// a record.
func (r *Record) startsTasks() bool {
	return r != nil && r.Stage == "SCALE_UP" && r.awaitedHook() == nil && !r.isRollingBack()
}

// failedHook returns the hook because of which ECS rolled back; nil if there is none. ECS also ends open hooks as FAILED
// if it rolls back for another reason.
func (r *Record) failedHook() *Hook {
	if r == nil || !strings.Contains(strings.ToLower(r.Reason+r.RollbackReason), "hook") {
		return nil
	}
	for i, h := range r.Hooks {
		if h.Status == "FAILED" || h.Status == "TIMED_OUT" && h.Then != "CONTINUE" {
			return &r.Hooks[i]
		}
	}
	return nil
}

// failureText names the hook and how it ended.
func (h *Hook) failureText() string {
	switch {
	case h.Status == "TIMED_OUT" && h.Target == "":
		return "lifecycle hook " + h.ID + " got no answer in time"
	case h.Status == "TIMED_OUT":
		return "lifecycle hook " + h.Target + " did not end in time"
	case h.Target == "":
		return "lifecycle hook " + h.ID + " was answered ROLLBACK"
	}
	return "lifecycle hook " + h.Target + " failed"
}
