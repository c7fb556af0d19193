package watch

import (
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// Changes finds what is new in each update of one wait, as events for users. The zero value has reported
// nothing.
type Changes struct {
	detail   string
	lost     string
	counts   map[string]int // of causes
	logs     map[string]bool
	unread   int
	progress *verdict.CodeTarget
}

// Events returns the events of an update that were not returned before.
func (t *Changes) Events(s Update) []sluice.Event {
	all := t.lifecycleEvents(s.CodeTarget)
	all = append(all, t.failureEvents(s.Verdict)...)
	for _, u := range s.Verdict.Unread[min(t.unread, len(s.Verdict.Unread)):] {
		all = append(all, sluice.Warned{Message: "not read: " + u})
	}
	t.unread = len(s.Verdict.Unread)
	switch {
	case s.Verdict.State == verdict.Ended:
		all = append(all, sluice.DeploymentEnded{Outcome: s.Verdict.Outcome, Cause: s.Verdict.Detail,
			Next: s.Verdict.Next})
	case s.Verdict.Detail != t.detail:
		all = append(all, sluice.Waiting{For: s.Target.Name(), Detail: s.Verdict.Detail})
	}
	t.detail = s.Verdict.Detail
	if s.LostRules != t.lost && s.LostRules != "" {
		all = append(all, s.WaitsForCallers())
	}
	t.lost = s.LostRules
	return all
}

// WaitsForCallers returns the event for s.LostRules: the deployment goes on, and cannot succeed before callers reach the
// service again.
func (s Update) WaitsForCallers() sluice.Waiting {
	return WaitingForCallers(s.Verdict.Revision, s.LostRules)
}

// WaitingForCallers returns the event of a wait for callers to reach a revision.
func WaitingForCallers(revision, detail string) sluice.Waiting {
	return sluice.Waiting{For: "callers to reach " + revision, Detail: detail}
}

// failureEvents returns the causes whose count has grown, and the logs that were not returned before.
func (t *Changes) failureEvents(v verdict.Verdict) (all []sluice.Event) {
	if t.counts == nil {
		t.counts, t.logs = map[string]int{}, map[string]bool{}
	}
	for _, c := range v.Causes {
		if t.counts[c.Text] < c.Count {
			t.counts[c.Text] = c.Count
			all = append(all, sluice.FailureSeen{Variant: sluice.Primary, Cause: c.Text, Count: c.Count, Task: c.Task})
		}
	}
	for _, l := range v.Logs {
		if !t.logs[l.Task] && len(l.Lines) > 0 {
			t.logs[l.Task] = true
			for _, text := range l.Lines {
				all = append(all, sluice.Noted{Message: "log of " + l.Container + ": " + text, Log: l.Container})
			}
		}
	}
	return all
}

// lifecycleEvents returns the lifecycle events of a CodeDeploy deployment that began or ended.
func (t *Changes) lifecycleEvents(now *verdict.CodeTarget) (all []sluice.Event) {
	if now == nil {
		return nil
	}
	if t.progress != nil && t.progress.Deployment != now.Deployment {
		t.progress = nil
	}
	for _, e := range now.ChangedSince(t.progress) {
		all = append(all, sluice.LifecycleChanged{Deployment: now.Deployment, Name: e.Name, Status: e.Status,
			Message: e.Message})
	}
	t.progress = now
	return all
}
