package rehearse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/callers"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// facts are what the checkers have seen.
type facts struct {
	atFirst   map[string][]world.Action // of the rules that forward to our groups
	weights   map[string][2]int32       // of those rules, as of the last change
	others    string                    // how other people's things stood
	old       string                    // id of the task set that served
	desired   int
	made      map[string]string // external id -> id of the task set
	seconds   []*plan.Plan      // of second sluices
	secondRan bool
	deleted   map[string]bool     // task sets, by id
	taken     time.Time           // when somebody else took the claim
	edited    map[string][2]int32 // by somebody else
}

func (s *facts) make() {
	s.atFirst, s.weights, s.made = map[string][]world.Action{}, map[string][2]int32{}, map[string]string{}
	s.edited, s.deleted = map[string][2]int32{}, map[string]bool{}
}

// remember takes down how the world is before anybody acts.
func (f *field) remember(tx *world.Tx) {
	for _, r := range f.ruled(tx) {
		f.atFirst[r.ARN] = slices.Clone(r.Actions)
		f.weights[r.ARN] = f.weighs(r)
	}
	if s := f.service(tx); s != nil {
		f.desired = s.Desired
		if p := s.Primary(); p != nil {
			f.old = p.ID
		}
	}
	f.others = f.foreign(tx)
}

func (f *field) service(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(f.World.Cluster + "/" + f.World.Service)
	return s
}

// weighs are a rule's weights on our two groups.
func (f *field) weighs(r *world.Rule) (w [2]int32) {
	if fw := r.Forwards(); fw != nil {
		for _, s := range fw.Groups {
			switch s.Group {
			case f.World.Primary.ARN:
				w[0] = s.Weight
			case f.World.Canary.ARN:
				w[1] = s.Weight
			}
		}
	}
	return w
}

// foreign is everything that is not ours to touch, as text.
func (f *field) foreign(tx *world.Tx) string {
	var b strings.Builder
	for _, r := range tx.Rules.Values() {
		if _, ours := f.atFirst[r.ARN]; ours {
			fmt.Fprintf(&b, "%s %d %v\n", r.Name(), r.Priority, r.Conditions)
			continue
		}
		fmt.Fprintf(&b, "%s %d %v %s\n", r.Name(), r.Priority, r.Conditions, world.ActionsText(r.Actions))
	}
	for _, s := range tx.Services.Values() {
		if s.Name == f.World.Service && s.Cluster.Name == f.World.Cluster {
			continue
		}
		fmt.Fprintf(&b, "%s %d", s.ID(), s.Desired)
		for _, ts := range s.TaskSets {
			fmt.Fprintf(&b, " %s %s", ts.ID, ts.Status)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d target groups, %d load balancers", len(tx.TargetGroups.Keys()), len(tx.LoadBalancers.Keys()))
	return b.String()
}

// step looks at each change in the world, while it happens.
func (f *field) step(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Listener:
		for _, r := range o.Rules {
			f.weighed(tx, r)
		}
	case *world.TaskSet:
		f.unique(o)
		f.emptied(o)
	}
}

// emptied: a task set is deleted after its connections have ended, not before:
// weight down, drain, capacity down, delete (P1).
func (f *field) emptied(ts *world.TaskSet) {
	if ts.Status != "DRAINING" || f.deleted[ts.ID] || f.outside || ts.Service.Status != "ACTIVE" || ts.Service.Controller != "EXTERNAL" || f.faulty("stale") {
		return
	}
	f.deleted[ts.ID] = true
	if n := ts.Count((*world.Task).Running); n > 0 {
		f.violate("P1", "task set %s was deleted while %d of its tasks ran", ts.ID, n)
	}
}

// unique: what an action makes, it makes once (P3).
func (f *field) unique(ts *world.TaskSet) {
	if ts.ExternalID == "" {
		return
	}
	if id, ok := f.made[ts.ExternalID]; ok && id != ts.ID {
		f.violate("P3", "the task set of %s was made twice: %s and %s", ts.ExternalID, id, ts.ID)
	}
	f.made[ts.ExternalID] = ts.ID
}

// weighed: a share that grows is on a group that can take it, and the shares sum
// to the whole (P4).
func (f *field) weighed(tx *world.Tx, r *world.Rule) {
	was, ours := f.weights[r.ARN]
	if !ours {
		return
	}
	now := f.weighs(r)
	f.weights[r.ARN] = now
	if f.outside {
		f.edited[r.ARN] = now
	} else if now != was && f.edited[r.ARN] == was && was[0]+was[1] == 1000 {
		f.violate("P7", "weights %d and %d of %s, which somebody else had set, were overwritten with %d and %d", was[0], was[1], r.Name(), now[0], now[1])
	}
	if now == was || f.outside || f.second1() {
		return
	}
	first := f.weighs(&world.Rule{Actions: f.atFirst[r.ARN]})
	if sum := now[0] + now[1]; sum != 100 && sum != first[0]+first[1] {
		f.violate("P4", "weights %d and %d of %s do not sum to the whole", now[0], now[1], r.Name())
	}
	for i, g := range []Group{f.World.Primary, f.World.Canary} {
		if now[i] > was[i] || now[i] > 0 && was[i] == 0 {
			f.ready(tx, g, now[i])
		}
	}
}

// second1 reports whether a second sluice works too; its writes are its own.
func (f *field) second1() bool { return len(f.seconds) > 0 }

// ready: the group has a healthy target for each task that its task set should
// have, unless the world itself is in trouble; then at least one.
func (f *field) ready(tx *world.Tx, g Group, weight int32) {
	group, ok := tx.TargetGroups.Get(g.ARN)
	if !ok {
		f.violate("P4", "weight %d on %s, which is gone", weight, g.Name())
		return
	}
	healthy := group.Count("healthy")
	if f.lossy() {
		return
	}
	if healthy == 0 {
		f.violate("P4", "weight %d on %s, which has no healthy target", weight, g.Name())
		return
	}
	if f.unsteady() {
		return
	}
	want := 0
	for _, ts := range f.service(tx).TaskSets {
		if ts.Status != "DRAINING" && slices.ContainsFunc(ts.Attached, func(a world.Attachment) bool { return a.TargetGroup == g.ARN }) && ts.Computed > want {
			want = ts.Computed
		}
	}
	if healthy < want {
		f.violate("P4", "weight %d on %s, which has %d healthy targets of %d", weight, g.Name(), healthy, want)
	}
}

// called sees each attempt of ours (P7).
func (f *field) called(c account.Call) {
	if !c.Write || f.over {
		return
	}
	w := sluice.Write{Operation: c.Service + ":" + c.Operation, Resource: c.Resource}
	if !f.planned(c.Action, w) {
		f.violate("P7", "%s is not in the plan of its stage (%s)", w, c.Action)
	}
}

// claimHolds is how long a claim that was seen may still be written by.
const claimHolds = 2 * time.Minute

// wrote sees the writes that reached AWS: none follows once another deployment
// has had the claim for a while.
func (f *field) wrote(operation string) {
	if f.taken.IsZero() || f.over || operation == "RegisterTaskDefinition" {
		return
	}
	if since := f.clock.Now().Sub(f.taken); since > claimHolds {
		f.violate("P7", "%s %s after another deployment took the claim", operation, since)
	}
}

// planned reports whether the stage of an action lists the write, whose resource
// may be one that the plan could only describe.
func (f *field) planned(action sluice.ActionID, w sluice.Write) bool {
	for _, x := range f.listed(action) {
		if x.Operation != w.Operation {
			continue
		}
		switch x.Resource {
		case w.Resource, plan.OurDeployment:
			return true
		case plan.OldPrimarySet:
			if w.Resource == f.old {
				return true
			}
		case plan.CanarySet, plan.NewPrimarySet, plan.RestoredSet, plan.OtherSets:
			if f.ours(w.Resource) {
				return true
			}
		}
		if strings.HasSuffix(w.Resource, "/"+x.Resource) || strings.HasSuffix(x.Resource, w.Resource) {
			return true
		}
		if w.Operation == "ecs:RegisterTaskDefinition" || strings.HasPrefix(w.Operation, "ecs:Tag") || strings.HasPrefix(w.Operation, "ecs:Untag") {
			return true // by ARN
		}
	}
	return false
}

// listed are the writes that the stage of an action may make.
func (f *field) listed(action sluice.ActionID) []sluice.Write {
	parts := strings.Split(string(action), "/")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(strings.Fields(parts[1] + " x")[0]); err == nil && n <= len(f.plan.Stages) {
			return append(slices.Clone(f.plan.Stage(n).Writes), f.plan.Finish...)
		}
	}
	return nil
}

// ours reports whether a task set was made by this deployment.
func (f *field) ours(id string) bool {
	for external, made := range f.made {
		if made == id && plan.Ours(external) {
			return true
		}
	}
	return false
}

// tell sums up what the callers got while the deployment ran.
func (f *field) tell() {
	r := &f.result
	r.Took = f.clock.Now().Sub(f.began)
	r.Writes, r.Rows = f.first.writes, f.first.rows
	for _, t := range f.tallies {
		report := t.Report()
		r.Requests += report.Requests
		r.Failed += report.Failed
		for _, l := range report.First {
			if len(r.Losses) < 5 {
				r.Losses = append(r.Losses, fmt.Sprintf("%s after the start: %.1f requests: %s (%s %s)", l.At.Sub(f.began).Round(time.Second), l.Requests, l.Cause, l.Group, l.Target))
			}
		}
		for _, w := range report.Worst {
			if w.Version == "new" {
				r.WorstShare = max(r.WorstShare, w.Share)
			}
		}
		f.exposure(report)
	}
}

// exposure is how long the new version had requests, and when it had none again.
func (f *field) exposure(report callers.Report) {
	var first, last time.Time
	var exposed time.Duration
	with := false
	until := f.clock.Now()
	for i, h := range report.History {
		share := 0.0
		for _, s := range h.Shares {
			if s.Version == "new" {
				share += s.Share
			}
		}
		end := until
		if i+1 < len(report.History) {
			end = report.History[i+1].At
		}
		with = share > 0
		if !with {
			continue
		}
		if first.IsZero() {
			first = h.At
		}
		last = end
		exposed += end.Sub(h.At)
	}
	f.result.Exposed = max(f.result.Exposed, exposed)
	if !with && !first.IsZero() {
		f.result.TimeToSafety = max(f.result.TimeToSafety, last.Sub(first))
	}
}

// restFor lets the world come to rest before it is looked at: drains, failed
// starts, scheduler loops.
const restFor = 15 * time.Minute

// judge holds the end against the promises.
func (f *field) judge() {
	r := &f.result
	f.lossless()
	f.named()
	f.sleep(restFor)
	for range 20 {
		if f.beside > 0 {
			f.sleep(restFor)
		}
	}
	if r.Outcome != sluice.Succeeded && r.Outcome != sluice.RolledBack {
		f.finish()
	}
	f.ended(r.Outcome)
	f.inWorld(func(tx *world.Tx) {
		if now := f.foreign(tx); now != f.others && !f.excuses(DeleteService) {
			f.violate("P3", "what is not ours has changed:\n%s\nbefore:\n%s", now, f.others)
		}
	})
}

// lossless: no request is lost to the deployment (P1).
func (f *field) lossless() {
	if r := f.result; r.Failed > 1e-6 && !f.lossy() {
		f.violate("P1", "%.1f of %.0f requests failed: %s", r.Failed, r.Requests, strings.Join(r.Losses, "; "))
	}
}

// named: a failure has a cause and a way on, and no value of the environment is
// told (P6).
func (f *field) named() {
	r := f.result
	if r.Outcome != sluice.Succeeded && r.Cause == "" {
		f.violate("P6", "it ended %q without a cause", r.Outcome)
	}
	if words := f.mustName(); words != "" && !strings.Contains(r.Cause, words) {
		f.violate("P6", "the cause does not name %q: %s", words, r.Cause)
	}
	kept, err := f.kept()
	if err != nil {
		f.broken("read the journal: %v", err)
	}
	if strings.Contains(kept, secret) || strings.Contains(f.log.String(), secret) {
		f.violate("P6", "a value of the environment stands in the journal or in an event")
	}
}

// finish does what is told for a deployment that ended in between: a rollback,
// after what others did was put back (P2).
func (f *field) finish() {
	if f.excuses(DeleteService) || f.second1() || f.excuses(TakeClaim) {
		return
	}
	f.putBack()
	ctx := context.Background()
	if err := f.born(); err != nil {
		f.broken("sluice cannot be started: %v", err)
		return
	}
	f.life.kill = Kill{}
	if err := f.engine.Reopen(ctx, f.id); err != nil {
		f.violate("P2", "it ended %s (%s) and cannot be opened again: %v", f.result.Outcome, f.result.Cause, err)
		return
	}
	f.command(Rollback)
	end, err := f.engine.Run(ctx, f.id, engine.Options{})
	if err != nil || end.Outcome != sluice.RolledBack {
		f.violate("P2", "it ended %s (%s), and sluice rollback does not finish it: %s %s %v", f.result.Outcome, f.result.Cause, end.Outcome, end.Cause, err)
		return
	}
	f.sleep(restFor)
	f.stands(false)
}

// ended: fully new or fully old, and nothing left over (P2, P3).
func (f *field) ended(o sluice.Outcome) {
	switch o {
	case sluice.Succeeded:
		if f.mustFail() {
			f.violate("P2", "it succeeded with a version that cannot serve")
		}
		f.stands(true)
	case sluice.RolledBack:
		f.stands(false)
	}
	if o != sluice.Succeeded && f.mustSucceed() {
		f.violate("P2", "it ended %s though nothing was wrong with the new version: %s", o, f.result.Cause)
	}
	f.result.State = f.state()
}

// state is the service in a line: task sets, weights, tags.
func (f *field) state() string {
	var parts []string
	f.inWorld(func(tx *world.Tx) {
		s := f.service(tx)
		if s == nil || s.Status != "ACTIVE" {
			parts = append(parts, "no service")
			return
		}
		for _, ts := range s.TaskSets {
			parts = append(parts, fmt.Sprintf("%s %s %g%% %d running", ts.Status, f.version(ts), ts.Scale, ts.Count((*world.Task).Running)))
		}
		slices.Sort(parts)
		for _, r := range f.ruled(tx) {
			parts = append(parts, world.ActionsText(r.Actions))
		}
	})
	for k := range f.tags() {
		if k == plan.ClaimTag {
			parts = append(parts, "claimed")
		}
	}
	return strings.Join(parts, "; ")
}

func (f *field) version(ts *world.TaskSet) string {
	for _, c := range ts.Definition.Containers {
		if c.Image == oldImage {
			return "old"
		}
	}
	return "new"
}

func (f *field) tags() map[string]string {
	a, err := f.open(f.clock, nil)
	if err != nil {
		f.broken("open the account: %v", err)
		return nil
	}
	live, err := ecs.Service{API: a.ECS(), Cluster: f.World.Cluster, Name: f.World.Service}.Observe(context.Background())
	if err != nil {
		f.broken("look at the service: %v", err)
	}
	if live == nil {
		return nil
	}
	return live.Tags
}

// stands: exactly one version serves, with all its tasks, and the rules, tags and
// groups are as they were or as planned.
func (f *field) stands(fresh bool) {
	if f.excuses(DeleteService) {
		return
	}
	want := "old"
	if fresh || f.secondRan {
		want = "new"
	}
	f.inWorld(func(tx *world.Tx) {
		s := f.service(tx)
		if s == nil || s.Status != "ACTIVE" {
			f.violate("P2", "the service is gone")
			return
		}
		f.alone(s, want)
		f.ruledAsBefore(tx, fresh)
		f.drained(tx, s)
		if n := revisions(tx); n > 2 {
			f.violate("P3", "%d revisions were registered", n-1)
		}
	})
	for k, v := range f.tags() {
		if k == plan.ClaimTag && !strings.Contains(v, "second") && !f.excuses(TakeClaim) {
			f.violate("P3", "the claim was not given back: %s", v)
		}
	}
}

// alone: one task set, of the version that must serve.
func (f *field) alone(s *world.Service, want string) {
	if n := len(s.TaskSets) - f.besides(s); n != 1 {
		f.violate("P2", "%d task sets are left, not one", n)
	}
	p := s.Primary()
	if p == nil {
		f.violate("P2", "no task set is PRIMARY")
		return
	}
	if v := f.version(p); v != want {
		f.violate("P2", "version %s serves, not %s", v, want)
	}
	if s.Desired != f.desired && !f.excuses(Scale) {
		f.violate("P3", "the desired count is %d; it was %d", s.Desired, f.desired)
	}
	if n := p.Count((*world.Task).Running); n != s.Desired && !(want == "new" && f.lossy()) {
		f.violate("P2", "%d of %d tasks run", n, s.Desired)
	}
	if p.Scale != 100 && s.Controller == "EXTERNAL" {
		f.violate("P3", "the task set that serves is at %g%%", p.Scale)
	}
}

// besides is how many task sets a second sluice left that claimed the service in
// the same moment and then lost it, and said so: AWS has no compare-and-set.
func (f *field) besides(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if !f.secondRan && strings.HasPrefix(ts.ExternalID, plan.IDPrefix+"second") {
			n++
		}
	}
	return n
}

// ruledAsBefore: every rule is as it was; after a success the weights may be
// another way of sending everything to the primary.
func (f *field) ruledAsBefore(tx *world.Tx, fresh bool) {
	for arn, was := range f.atFirst {
		r, ok := tx.Rules.Get(arn)
		if !ok {
			f.violate("P3", "rule %s is gone", arn)
			continue
		}
		now := f.weighs(r)
		switch {
		case f.excuses(EditRule):
		case fresh && now[1] == 0 && now[0] > 0 && sticky(was) == sticky(r.Actions) && len(was[0].Forward.Groups) == len(r.Actions[0].Forward.Groups):
		case !fresh && world.ActionsText(was) == world.ActionsText(r.Actions) && sticky(was) == sticky(r.Actions):
		default:
			f.violate("P3", "rule %s is %s (sticky %d); it was %s (sticky %d)", r.Name(), world.ActionsText(r.Actions), sticky(r.Actions), world.ActionsText(was), sticky(was))
		}
	}
}

func sticky(actions []world.Action) int32 {
	for _, a := range actions {
		if a.Forward != nil && a.Forward.Sticky {
			return a.Forward.StickySeconds
		}
	}
	return 0
}

// drained: our groups hold the targets of the tasks that serve, and no others.
func (f *field) drained(tx *world.Tx, s *world.Service) {
	for _, g := range []Group{f.World.Primary, f.World.Canary} {
		group, ok := tx.TargetGroups.Get(g.ARN)
		if !ok {
			continue
		}
		for _, t := range group.Targets {
			if t.Task != nil && t.Task.Set != nil && f.second1() && strings.HasPrefix(t.Task.Set.ExternalID, plan.IDPrefix+"second") {
				continue
			}
			if t.Task == nil || t.Task.Set == nil || t.Task.Set != s.Primary() {
				f.violate("P3", "target %s of %s is left over (%s)", t.ID, group.Name, t.State)
			}
		}
	}
}

func revisions(tx *world.Tx) int {
	n := 0
	for _, d := range tx.TaskDefinitions.Values() {
		if d.Family != "others" {
			n++
		}
	}
	return n
}
