package verdict

import (
	"fmt"
	"strings"
	"time"
)

// codeKinds maps the error codes of CodeDeploy deployments to kinds (CodeDeploy API Reference,
// ErrorInformation).
var codeKinds = map[string]CauseKind{
	"HOOK_EXECUTION_FAILURE":   HookFailed,
	"ALARM_ACTIVE":             AlarmFired,
	"DEPLOYMENT_GROUP_MISSING": GroupMissing, "APPLICATION_MISSING": GroupMissing, "INVALID_ECS_SERVICE": GroupMissing,
	"IAM_ROLE_MISSING": GroupRole, "IAM_ROLE_PERMISSIONS": GroupRole, "OVER_MAX_INSTANCES": NoCapacity,
	"ELASTIC_LOAD_BALANCING_INVALID": GroupRoutes, "ELB_INVALID_INSTANCE": GroupRoutes,
	"ECS_UPDATE_ERROR": ECSRefused, "THROTTLED": Throttled, "RESOURCE_LIMIT_EXCEEDED": NoCapacity,
}

// codeDeployCause returns CodeDeploy's reason why a deployment did not succeed. A stop by a person
// has no cause.
func codeDeployCause(d *CodeDeployment, t *CodeTarget) (Cause, bool) {
	if d == nil || d.Code == "" || d.Code == "MANUAL_STOP" {
		return hookCause(t)
	}
	c := Cause{Kind: codeKinds[d.Code], Text: strings.TrimSuffix(firstNonEmpty(d.Message, d.Code), "."), Count: 1,
		notFromTask: true}
	switch {
	case c.Kind == HookFailed:
		if hook, ok := hookCause(t); ok {
			return hook, true
		}
	case d.Code == "TIMEOUT" && expiredWhileReady(d, t):
		c.Kind, c.Text = NotContinued, fmt.Sprintf("it was not continued within %s", d.Ready)
	case d.Code == "TIMEOUT":
		c.Kind = SlowStart
	case c.Kind == "":
		c.Kind = OtherCause
	}
	return c, true
}

// hookCause returns the cause of the lifecycle event that failed.
func hookCause(t *CodeTarget) (Cause, bool) {
	e := t.FailedEvent()
	if e == nil || e.Message == "" && e.Function == "" {
		return Cause{}, false
	}
	text := "hook " + e.Name
	if e.Function != "" && !strings.Contains(e.Message, e.Function) {
		text += " (" + e.Function + ")"
	}
	kind := HookFailed
	if e.Code == "ScriptMissing" {
		kind = HookMissing
	}
	return Cause{Kind: kind, Text: strings.TrimSuffix(text+": "+strings.TrimSuffix(firstNonEmpty(e.Message, e.Code),
		"."), ": "), Count: 1, notFromTask: true}, true
}

// expiredWhileReady reports whether the deployment was in status Ready when its time ended.
func expiredWhileReady(d *CodeDeployment, t *CodeTarget) bool {
	e := t.Event("BeforeAllowTraffic")
	return d.Ready > 0 && t.eventSucceeded("AfterInstall") && e != nil && e.StartedAt.IsZero()
}

// beganAt returns when the deployment began, in AWS's time.
func (l *trackedDeployment) beganAt() (at time.Time) {
	if l.deployment != nil {
		return l.deployment.CreatedAt
	}
	if l.target != nil && len(l.target.Events) > 0 {
		return l.target.Events[0].StartedAt
	}
	return at
}

// lastEventEnd returns when the newest lifecycle event ended, in AWS's time.
func (l *trackedDeployment) lastEventEnd() (at time.Time) {
	if l.target == nil {
		return at
	}
	for _, e := range l.target.Events {
		if e.EndedAt.After(at) {
			at = e.EndedAt
		}
	}
	return at
}
