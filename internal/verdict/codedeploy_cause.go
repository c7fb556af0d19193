package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// codeDeployCause returns CodeDeploy's reason why a deployment did not succeed. A stop by a person
// has no cause.
func codeDeployCause(d *CodeDeployment, t *CodeTarget) (diagnosis.Cause, bool) {
	if d == nil || d.Code == "" || d.Code == "MANUAL_STOP" {
		return hookCause(t)
	}
	c := diagnosis.Cause{Kind: diagnosis.KindOfCode(d.Code),
		Text: strings.TrimSuffix(firstNonEmpty(d.Message, d.Code), "."), Count: 1}
	switch {
	case c.Kind == diagnosis.HookFailed:
		if hook, ok := hookCause(t); ok {
			return hook, true
		}
	case d.Code == "TIMEOUT" && expiredWhileReady(d, t):
		c.Kind, c.Text = diagnosis.NotContinued, fmt.Sprintf("it was not continued within %s", d.Ready)
	case d.Code == "TIMEOUT":
		c.Kind = diagnosis.SlowStart
	case c.Kind == "":
		c.Kind = diagnosis.OtherCause
	}
	return c, true
}

// hookCause returns the cause of the lifecycle event that failed.
func hookCause(t *CodeTarget) (diagnosis.Cause, bool) {
	e := t.FailedEvent()
	if e == nil || e.Message == "" && e.Function == "" {
		return diagnosis.Cause{}, false
	}
	text := "hook " + e.Name
	if e.Function != "" && !strings.Contains(e.Message, e.Function) {
		text += " (" + e.Function + ")"
	}
	kind := diagnosis.HookFailed
	if e.Code == "ScriptMissing" {
		kind = diagnosis.HookMissing
	}
	return diagnosis.Cause{Kind: kind, Text: strings.TrimSuffix(text+": "+
		strings.TrimSuffix(firstNonEmpty(e.Message, e.Code),
			"."), ": "), Count: 1}, true
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
