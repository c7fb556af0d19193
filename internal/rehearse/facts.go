package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// facts are what the checkers have seen.
type facts struct {
	atFirst     map[string][]world.Action // of the rules that forward to our groups
	weights     map[string][2]int32       // of those rules, as of the last change
	others      string                    // how other people's things stood
	old         string                    // id of the task set that served
	setsAtFirst map[string]bool           // ids of the task sets and deployments at first
	desired     int
	scaling     string                   // the scalable targets, as they must be in the end
	made        map[string]string        // external id -> id of the task set
	ran         map[string][]*world.Task // without a service, by who started them
	seconds     []*plan.Plan             // of second sluices
	secondRan   bool                     // to an end of its own
	secondNew   bool                     // which was the new version
	deleted     map[string]bool          // task sets, by id
	taken       time.Time                // when somebody else took the claim
	seized      time.Time                // when a second sluice took the claim of the first
	unreleased  bool                     // AWS answered no call that gives the claim back: it runs out
	begun       bool                     // sluice has written something
	paused      bool                     // sluice has left the deployment, to go on later
	edited      map[string][2]int32      // by somebody else since then
	editedAt    time.Time                // the last time
	answered    int                      // writes of sluice, in all processes
	swayed      time.Time                // when others last changed what is PRIMARY
	bare        []string                 // when the name was no use
	told        map[string]bool          // failures

	strange   time.Time // when somebody else gave a rule weights that are nobody's of ours
	promised  promised  // the share that callers are to find
	returning bool      // the rollback has begun
	touched   touched   // the record that somebody else changed, until it is noticed

	scaledAtFirst string // scaling, before anybody acted
	setting       bool   // sluice is writing it
	crossed       string // scaling, before somebody changed it while sluice was writing it
}

func (s *facts) make() {
	s.atFirst, s.weights, s.made = map[string][]world.Action{}, map[string][2]int32{}, map[string]string{}
	s.ran = map[string][]*world.Task{}
	s.edited, s.deleted = map[string][2]int32{}, map[string]bool{}
	s.told, s.setsAtFirst = map[string]bool{}, map[string]bool{}
}

// remember takes down how the world is before anybody acts.
func (f *field) remember(tx *world.Tx) {
	for _, r := range f.ruled(tx) {
		f.atFirst[r.ARN] = slices.Clone(r.Actions)
		f.weights[r.ARN] = f.weighs(r)
	}
	for _, s := range tx.Services.Values() {
		for _, ts := range s.TaskSets {
			f.setsAtFirst[ts.ID] = true
		}
	}
	if s := f.service(tx); s != nil {
		f.desired = s.Desired
		if p := s.Primary(); p != nil {
			f.old = p.ID
		}
	}
	f.others, f.scaling = f.foreign(tx), scalingOf(tx)
	f.scaledAtFirst = f.scaling
}

// noteStart notes that AWS has made a task set, or a deployment, of what is rehearsed.
func (f *field) noteStart(ts *world.TaskSet) {
	if !f.began.IsZero() && !f.setsAtFirst[ts.ID] {
		f.result.Started = true
	}
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
		if s == f.service(tx) || s == f.canaryService(tx) {
			continue
		}
		fmt.Fprintf(&b, "%s %d", s.ID(), s.Desired)
		for _, ts := range s.TaskSets {
			fmt.Fprintf(&b, " %s %s", ts.ID, ts.Status)
		}
		b.WriteByte('\n')
	}
	b.WriteString(f.strangeSets(tx))
	fmt.Fprintf(&b, "%d target groups, %d load balancers", len(tx.TargetGroups.Keys()), len(tx.LoadBalancers.Keys()))
	return b.String()
}
