package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	// answersFor is how long callers must get the version of an outcome after it was reported.
	answersFor = time.Minute
	// unseenEdit is how long before the outcome an edit of another actor may be unknown to sluice. AWS's answers
	// may be older than that edit, and it has no compare-and-set.
	unseenEdit = 30 * time.Second
)

// noRequests is part of the cause of an outcome for a service that no rule reaches.
const noRequests = "receives no requests"

// forgiven is part of the cause of an outcome whose callers got errors before the deployment too, where the files set
// onUnhealthyRoute: allow.
const forgiven = "callers did not reach the service before"

// answerChecks checks what callers get from the outcome on (P8). It asks the modelled callers, and reads nothing
// that sluice reads.
type answerChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	acts       *Acts
	callers    *callers
	ends       *EndChecks
	seconds    *SecondSluices

	reached map[string]bool // rules that named a group of the service when the deployment began
	broken  map[string]bool // rules that did not exist then, or gave weight to no group that can serve

	outcome       sluice.Outcome
	cause         string
	at            time.Time // of the outcome
	want          string    // the version that callers must get; empty: the outcome names none
	before, after []loadgen.Report
	unknown       string // why sluice cannot know what callers get
	resolves      bool   // the name gave callers a running task of that version at the outcome
}

// rememberRoutes records which rules reach the service when the deployment begins, and which of them cannot serve.
func (c *answerChecks) rememberRoutes() {
	c.reached, c.broken = map[string]bool{}, map[string]bool{}
	c.env.InWorld(func(tx *world.Tx) {
		for _, r := range c.env.Routes {
			_, exists := tx.Rules.Get(r.ARN)
			c.reached[r.ARN], c.broken[r.ARN] = c.env.isRoute(tx, r), !exists || !c.env.canServe(tx, r)
		}
	})
}

// startWatch begins to watch the callers at the outcome.
func (c *answerChecks) startWatch(e sluice.DeploymentEnded) {
	want, named := c.ends.namedVersion(e.Outcome)
	if !named || c.env.IsOver {
		return
	}
	c.outcome, c.cause, c.want, c.at = e.Outcome, e.Cause, want, c.env.Clock.Now()
	c.before, c.after = c.callers.requestReports(), nil
	c.unknown, c.resolves = c.whyUnknown(), false
	c.env.InWorld(func(tx *world.Tx) {
		for _, id := range c.env.RegisteredIDs(tx) {
			t := c.env.TaskOf(tx, id)
			c.resolves = c.resolves || t != nil && versionOf(t.Set) == want
		}
	})
}

// stopWatch ends the watch: its time is over, or another actor changes the world now.
func (c *answerChecks) stopWatch() {
	if c.want != "" && c.after == nil {
		c.after = c.callers.requestReports()
	}
}

// whyUnknown returns why the outcome of a correct deployment may differ from what callers get; empty: it may not.
func (c *answerChecks) whyUnknown() string {
	switch {
	case !c.acts.outsideAt.IsZero() && c.at.Sub(c.acts.outsideAt) < unseenEdit:
		return "another actor changed something just before"
	case c.seconds.Exist():
		return "a second sluice deploys the same service"
	}
	count := 0
	c.env.InWorld(func(tx *world.Tx) {
		if s := c.env.FindService(tx); s != nil {
			count = s.Desired
		}
	})
	if count == 0 && !c.env.Case.HasIntervention(DeleteService) {
		return "the desired count is 0"
	}
	return ""
}

// checkAnswers checks what callers got since the outcome.
func (c *answerChecks) checkAnswers() {
	if c.want == "" || c.unknown != "" {
		return
	}
	unreached, forgives := c.unreachedRoutes(), strings.Contains(c.cause, forgiven)
	if len(c.before) > 0 && len(unreached) == len(c.before) && !strings.Contains(c.cause, noRequests) && !forgives {
		c.report.AddViolation("P8", "%q was reported, but not that the service %s", c.outcome, noRequests)
	}
	if strings.Contains(c.cause, noRequests) && len(unreached) < len(c.before) {
		c.report.AddViolation("P8", "%q was reported with %q, but a rule reaches the service", c.outcome, c.cause)
	}
	// the rule of the canary's group is one of the primary's then, and reached no tasks before
	isOwn := c.env.Case.Exchanged && c.env.Case.World.CanaryOnlyRule
	if forgives && !(c.env.Case.AllowRoute && (isOwn || slices.Contains(slices.Collect(maps.Values(c.broken)), true))) {
		c.report.AddViolation("P8", "%q was reported with %q, but each rule served before, or the files do not allow it",
			c.outcome, c.cause)
	}
	for i := range c.before {
		if !unreached[i] && !(forgives && i < len(c.env.Routes) && c.broken[c.env.Routes[i].ARN]) {
			c.checkCaller(answersSince(c.before[i], c.after[i]))
		}
	}
}

// unreachedRoutes returns the callers whose rule did not reach the service before the deployment, and does not now.
func (c *answerChecks) unreachedRoutes() map[int]bool {
	all := map[int]bool{}
	c.env.InWorld(func(tx *world.Tx) {
		for i, r := range c.env.Routes {
			if !c.reached[r.ARN] && !c.env.isRoute(tx, r) {
				all[i] = true
			}
		}
	})
	return all
}

// answers is what a caller got in a time.
type answers struct {
	requests float64
	failed   float64
	others   float64 // answered by a version that the outcome does not name
	lines    string
}

// answersSince returns what a caller got between two reports.
func answersSince(before, after loadgen.Report) (all []loadgen.Line) {
	was := map[loadgen.Line]float64{}
	for _, l := range before.Lines {
		n := l.Count
		l.Count = 0
		was[l] = n
	}
	for _, l := range after.Lines {
		n := l.Count
		l.Count = 0
		if l.Count = n - was[l]; l.Count > 1e-6 {
			all = append(all, l)
		}
	}
	return all
}

// isUnknowable reports whether a kind of answer says nothing against an outcome. A version that answers errors while
// its health checks pass is known to gates only. An address that another actor registered in the name is not removed.
func (c *answerChecks) isUnknowable(l loadgen.Line) bool {
	return l.Version == c.want && l.Status == 500 && c.env.Case.HasNewOption("errors", "error-bursts") ||
		l.Version == "" && c.env.Case.World.UsesCloudMap() && c.env.Case.HasIntervention(RegisterAddress)
}

// callersLate is how much of the minute callers may still get what was before: AWS reports an end some seconds before
// every part of it follows. A deployment of a healthy version loses no request at all, which P1 checks.
const callersLate = 3 * time.Second

// checkCaller checks the answers to one caller. Tasks that stop for the first time after the outcome are known to no
// read before it.
func (c *answerChecks) checkCaller(lines []loadgen.Line) {
	var got answers
	for _, l := range lines {
		if c.isUnknowable(l) || c.isOldAnswer(l) {
			continue
		}
		got.requests += l.Count
		switch {
		case l.Failed():
			got.failed += l.Count
		case l.Version != c.want:
			got.others += l.Count
		default:
			continue
		}
		got.lines += fmt.Sprintf(" %.0f of %q %q: %d;", l.Count, l.Group, l.Version, l.Status)
	}
	late := got.requests * float64(callersLate) / float64(answersFor)
	if got.failed > late && !c.diesLater() {
		c.report.AddViolation("P8", "%q was reported, and %.1f %% of the requests failed in the next %s:%s", c.outcome,
			100*got.failed/got.requests, answersFor, got.lines)
	}
	if got.others > late {
		c.report.AddViolation("P8", "%q was reported, and %.1f %% of the requests in the next %s got another version than %s:%s",
			c.outcome, 100*got.others/got.requests, answersFor, c.want, got.lines)
	}
}

// diesLater reports whether tasks of the version stopped or failed by themselves after the outcome, and no death
// before it foretold that: there was none since the deployment began, or the later tasks ran longer than a success
// waits for after such a death ([verdict.Stability]). Deaths of the canary count: the same version serves later. A host
// that is lost foretells nothing.
func (c *answerChecks) diesLater() bool {
	lostHost := false
	var longest, shortest time.Duration // lives of the tasks that died before, and after
	c.env.InWorld(func(tx *world.Tx) {
		for _, t := range tx.Tasks.Values() {
			at := diedAt(t)
			if t.Set != nil && versionOf(t.Set) == c.want && t.StopCode == scheduler.ByHost &&
				t.StoppingAt.After(c.at.Add(-c.unseenFor(t))) && t.StoppingAt.Before(c.at.Add(answersFor)) {
				lostHost = true
			}
			if t.Set == nil || t.Service == nil || versionOf(t.Set) != c.want || t.Set.ExternalID == OtherToolID ||
				!strings.HasPrefix(t.Service.Name, c.env.Case.World.Service) || at.Before(c.deployment.startedAt) {
				continue
			}
			switch life := at.Sub(t.StartedAt); {
			case at.Before(c.at.Add(-c.unseenFor(t))):
				if isShown(t) {
					longest = max(longest, life)
				}
			case at.Before(c.at.Add(answersFor)) && (shortest == 0 || life < shortest):
				shortest = life
			}
		}
	})
	if lostHost {
		return true
	}
	if c.outcome == sluice.RolledBack { // it restores a version, whatever became of its tasks before
		return shortest > 0
	}
	return shortest > 0 && (longest == 0 || shortest > min(max(2*longest, time.Minute), 5*time.Minute))
}

// isOldAnswer reports whether callers by name used an address of a task that had stopped shortly before, or an empty
// answer from before a task was registered; or whether nodes of a Network Load Balancer still sent to a task that had
// died. No read shows what callers, name servers and nodes keep. Where sluice itself stops tasks, it waits for that
// first, which P1 checks.
func (c *answerChecks) isOldAnswer(l loadgen.Line) (old bool) {
	w := c.env.Case.World
	switch {
	case w.UsesNetworkBalancer():
		return l.Status == 502 && l.Version == c.want && c.diedSince(c.at.Add(-nodesKeepDead))
	case !w.UsesCloudMap() || l.Version == "" && !c.resolves || l.Status != 0:
		return false
	}
	kept := w.TTL + max(w.Lags.Names, time.Minute) + connectionHold + 30*time.Second // of callers that keep connections
	c.env.InWorld(func(tx *world.Tx) {
		for _, t := range tx.Tasks.Values() {
			old = old || t.Set != nil && (versionOf(t.Set) == l.Version || l.Version == "") &&
				t.ExecutionStoppedAt.After(c.at.Add(-kept)) ||
				l.Version == "" && t.Set != nil && t.StartedAt.After(c.at.Add(-kept)) && t.StartedAt.Before(c.at)
		}
	})
	return old
}

// nodesKeepDead is how long nodes of a Network Load Balancer may send to a task that died: the time until ECS
// deregisters it and [world.Settings.NetworkTargetPropagation].
const nodesKeepDead = 90 * time.Second

// diedSince reports whether a task of the version stopped by itself after a time and before the outcome.
func (c *answerChecks) diedSince(since time.Time) (died bool) {
	c.env.InWorld(func(tx *world.Tx) {
		for _, t := range tx.Tasks.Values() {
			at := diedAt(t)
			died = died || t.Set != nil && versionOf(t.Set) == c.want && at.After(since) && at.Before(c.at)
		}
	})
	return died
}

// unseenDeath is how long before the outcome a task may stop without a read that shows it: a poll.
const unseenDeath = 10 * time.Second

// unseenFor returns how long no read shows the death of a task. The load balancer first counts failed checks of one that
// answers errors. A claim that another actor removed is looked for, after the last read of the tasks.
func (c *answerChecks) unseenFor(t *world.Task) time.Duration {
	unseen, g := unseenDeath, c.env.Case.World.Primary
	if c.env.Case.HasIntervention(RemoveClaim) {
		unseen = unseenEdit + unseenDeath
	}
	for _, x := range t.Containers {
		if x.Behaviour.UnhealthyAfter > 0 {
			return unseen + time.Duration(g.Unhealthy+1)*max(g.Interval, c.env.Case.World.Check)
		}
	}
	return unseen
}

// isShown reports whether AWS shows that a task fails or failed by itself. It does not if the task was scaled in before
// its failed checks had counted.
func isShown(t *world.Task) bool {
	return t.StoppingAt.IsZero() || t.StopCode == "EssentialContainerExited" ||
		strings.Contains(t.StoppedReason, "health checks")
}

// diedAt returns when a task stopped, or began to fail, by itself; zero: it did not.
func diedAt(t *world.Task) (at time.Time) {
	for _, x := range t.Containers {
		b := x.Behaviour
		if t.StartedAt.IsZero() {
			continue
		}
		if bad := t.StartedAt.Add(b.UnhealthyAfter); b.UnhealthyAfter > 0 &&
			(t.StoppingAt.IsZero() || bad.Before(t.StoppingAt)) {
			at = bad
		}
		if t.StopCode == "EssentialContainerExited" && x.ExitCode != nil {
			at = t.StoppingAt
		}
	}
	return at
}
