package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// observed is what the checks have observed.
type facts struct {
	atFirst     map[string][]world.Action // of the rules that forward to the two groups
	weights     map[string][2]int32       // of those rules, after the last change
	others      string                    // state of everything that sluice must not change
	old         string                    // ID of the task set that served
	setsAtFirst map[string]bool           // IDs of the task sets and deployments at the start
	desired     int
	scaling     string                   // the scalable targets, as they must be at the end
	made        map[string]string        // external ID -> ID of the task set
	ran         map[string][]*world.Task // standalone tasks, by startedBy
	seconds     []*plan.Plan             // of second sluices
	secondRan   bool                     // a second sluice succeeded or rolled back
	secondNew   bool                     // it deployed the new version
	deleted     map[string]bool          // task sets, by ID
	taken       time.Time                // when another deployment took the claim
	seized      time.Time                // when a second sluice took the claim of the first
	unreleased  bool                     // AWS answered no call that releases the claim: it expires
	begun       bool                     // sluice has written something
	paused      bool                     // sluice paused the deployment
	edited      map[string][2]int32      // by another actor since the first write
	editedAt    time.Time                // time of the last such edit
	answered    int                      // results of sluice's writes, in all processes
	swayed      time.Time                // when another actor last changed what is PRIMARY
	bare        []string                 // when the name led to no serving task
	told        map[string]bool          // failures

	strange   time.Time // when another actor set a rule to weights that it never had
	promised  promised  // the share that must stay registered
	returning bool      // the rollback has begun
	touched   touched   // the instance that another actor changed, until sluice reports it

	scaledAtFirst string // the scalable targets at the start
	setting       bool   // sluice is writing a scalable target
	crossed       string // expectedScaling before a change during sluice's write
}

func (s *facts) make() {
	s.atFirst, s.weights, s.made = map[string][]world.Action{}, map[string][2]int32{}, map[string]string{}
	s.ran = map[string][]*world.Task{}
	s.edited, s.deleted = map[string][2]int32{}, map[string]bool{}
	s.told, s.setsAtFirst = map[string]bool{}, map[string]bool{}
}

// snapshotWorld records the state of the world at the start.
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

// noteStart records that AWS has created a task set or a deployment for the rehearsed deployment.
func (f *field) noteStart(ts *world.TaskSet) {
	if !f.began.IsZero() && !f.setsAtFirst[ts.ID] {
		f.result.Started = true
	}
}

func (f *field) service(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(f.World.Cluster + "/" + f.World.Service)
	return s
}

// weightsOf returns a rule's weights on the two groups.
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

// unmanagedText returns everything that sluice must not change, as text.
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
