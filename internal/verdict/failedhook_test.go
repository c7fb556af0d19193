package verdict

import "testing"

// The hook because of which ECS rolled back is named. A hook that ECS closed is no cause.
func TestFailedHookIsNamed(t *testing.T) {
	const reason = "Service deployment rolled back because a lifecycle hook failed."
	done := Hook{ID: "ecs-lambda-0", Target: "smoke", Status: "SUCCEEDED"}
	for want, r := range map[string]*Record{
		"lifecycle hook check failed": {Reason: reason,
			Hooks: []Hook{done, {ID: "ecs-lambda-1", Target: "check", Status: "FAILED"}}},
		"lifecycle hook check did not end in time": {RollbackReason: "a lifecycle hook timed out",
			Hooks: []Hook{done, {Target: "check", Status: "TIMED_OUT", Then: "ROLLBACK"}}},
		"lifecycle hook ecs-pause-1 got no answer in time": {Reason: reason,
			Hooks: []Hook{{ID: "ecs-pause-1", Status: "TIMED_OUT", Then: "ROLLBACK"}}},
		"lifecycle hook ecs-pause-1 was answered ROLLBACK": {Reason: reason, Hooks: []Hook{{ID: "ecs-pause-1", Status: "FAILED"}}},
		"": {Reason: "Service deployment rolled back because the circuit breaker threshold was exceeded",
			Hooks: []Hook{{ID: "ecs-pause-1", Status: "FAILED"}}},
	} {
		got := ""
		if h := r.failedHook(); h != nil {
			got = h.failureText()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	continued := &Record{Reason: reason, Hooks: []Hook{{ID: "ecs-pause-1", Status: "TIMED_OUT", Then: "CONTINUE"}}}
	if h := continued.failedHook(); h != nil {
		t.Errorf("a hook after which ECS continues is a cause: %s", h.failureText())
	}
}
