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
type observed struct {
	initialActions    map[string][]world.Action // of the rules that forward to the two groups
	weights           map[string][2]int32       // of those rules, after the last change
	unmanagedBefore   string                    // state of everything that sluice must not change
	oldSetID          string                    // ID of the task set that served
	initialSets       map[string]bool           // IDs of the task sets and deployments at the start
	desired           int
	expectedScaling   string                   // the scalable targets, as they must be at the end
	setsByExternalID  map[string]string        // external ID -> ID of the task set
	TasksByStarter    map[string][]*world.Task // standalone tasks, by startedBy
	secondPlans       []*plan.Plan             // of second sluices
	secondFinished    bool                     // a second sluice succeeded or rolled back
	secondDeployedNew bool                     // it deployed the new version
	deletedSets       map[string]bool          // task sets, by ID
	claimTakenAt      time.Time                // when another deployment took the claim
	claimUnreleased   bool                     // AWS answered no call that releases the claim: it expires
	hasWritten        bool                     // sluice has written something
	WasPaused         bool                     // sluice paused the deployment
	editedWeights     map[string][2]int32      // by another actor since the first write
	editedAt          time.Time                // time of the last such edit
	writesAnswered    int                      // results of sluice's writes, in all processes
	primaryChangedAt  time.Time                // when another actor last changed what is PRIMARY
	nameOutages       []string                 // when the name led to no serving task
	reportedFailures  map[string]bool          // failures

	ruleDriftAt time.Time     // when another actor set a rule to weights that it never had
	promised    promisedShare // the share that must stay registered

	initialScaling    string // the scalable targets at the start
	writingScaling    bool   // sluice is writing a scalable target
	scalingBeforeRace string // expectedScaling before a change during sluice's write
}

func (s *observed) initMaps() {
	s.initialActions, s.weights, s.setsByExternalID = map[string][]world.Action{}, map[string][2]int32{},
		map[string]string{}
	s.TasksByStarter = map[string][]*world.Task{}
	s.editedWeights, s.deletedSets = map[string][2]int32{}, map[string]bool{}
	s.reportedFailures, s.initialSets = map[string]bool{}, map[string]bool{}
}

// snapshotWorld records the state of the world at the start.
func (f *Rehearsal) snapshotWorld(tx *world.Tx) {
	for _, r := range f.forwardingRules(tx) {
		f.initialActions[r.ARN] = slices.Clone(r.Actions)
		f.weights[r.ARN] = f.weightsOf(r)
	}
	for _, s := range tx.Services.Values() {
		for _, ts := range s.TaskSets {
			f.initialSets[ts.ID] = true
		}
	}
	if s := f.FindService(tx); s != nil {
		for _, ts := range s.TaskSets { // the first call on them may be refused before they change
			f.checkUnique(ts)
		}
		f.desired = s.Desired
		if p := s.Primary(); p != nil {
			f.oldSetID = p.ID
		}
	}
	f.unmanagedBefore, f.expectedScaling = f.unmanagedText(tx), scalingOf(tx)
	f.initialScaling = f.expectedScaling
}

// noteStart records that AWS has created a task set or a deployment for the rehearsed deployment.
func (f *Rehearsal) noteStart(ts *world.TaskSet) {
	if !f.startedAt.IsZero() && !f.initialSets[ts.ID] {
		f.Result.Started = true
	}
}

// FindService returns the rehearsed service, or nil.
func (f *Rehearsal) FindService(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(f.World.Cluster + "/" + f.World.Service)
	return s
}

// weightsOf returns a rule's weights on the two groups.
func (f *Rehearsal) weightsOf(r *world.Rule) (w [2]int32) {
	if fw := r.ForwardAction(); fw != nil {
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
func (f *Rehearsal) unmanagedText(tx *world.Tx) string {
	var b strings.Builder
	for _, r := range tx.Rules.Values() {
		if _, ours := f.initialActions[r.ARN]; ours {
			fmt.Fprintf(&b, "%s %d %v\n", r.Name(), r.Priority, r.Conditions)
			continue
		}
		fmt.Fprintf(&b, "%s %d %v %s\n", r.Name(), r.Priority, r.Conditions, world.ActionsText(r.Actions))
	}
	for _, s := range tx.Services.Values() {
		if s == f.FindService(tx) || s == f.FindCanaryService(tx) {
			continue
		}
		fmt.Fprintf(&b, "%s %d", s.ID(), s.Desired)
		for _, ts := range s.TaskSets {
			fmt.Fprintf(&b, " %s %s", ts.ID, ts.Status)
		}
		b.WriteByte('\n')
	}
	b.WriteString(f.otherToolSetsText(tx))
	fmt.Fprintf(&b, "%d target groups, %d load balancers", len(tx.TargetGroups.Keys()), len(tx.LoadBalancers.Keys()))
	return b.String()
}
