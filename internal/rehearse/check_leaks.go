package rehearse

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// checkUnique checks that an action creates its task set once (P3).
func (f *Rehearsal) checkUnique(ts *world.TaskSet) {
	if ts.ExternalID == "" {
		return
	}
	if id, ok := f.setsByExternalID[ts.ExternalID]; ok && id != ts.ID {
		f.AddViolation("P3", "the task set of %s was created twice: %s and %s", ts.ExternalID, id, ts.ID)
	}
	f.setsByExternalID[ts.ExternalID] = ts.ID
}

func (f *Rehearsal) serviceTags() map[string]string {
	if live := f.readService(); live != nil {
		return live.Tags
	}
	return nil
}

// readService returns the service as AWS returns it; nil if there is none.
func (f *Rehearsal) readService() *ecs.ServiceState {
	a, err := f.openAccount(f.Clock, nil)
	if err != nil {
		f.Fail("open the account: %v", err)
		return nil
	}
	live, err := ecs.Service{API: a.ECS(), Cluster: f.World.Cluster,
		Name: f.World.Service}.Observe(context.Background())
	if err != nil {
		f.Fail("describe the service: %v", err)
	}
	return live
}

// checkRules checks that every rule is as before. After a success its weights may differ if they
// still send everything to the primary.
func (f *Rehearsal) checkRules(tx *world.Tx, fresh bool) {
	for arn, was := range f.initialActions {
		r, ok := tx.Rules.Get(arn)
		if !ok {
			f.AddViolation("P3", "rule %s was deleted", arn)
			continue
		}
		now := f.weightsOf(r)
		switch {
		case f.HasIntervention(EditRule):
		// the two groups alternate; another check covers that all tasks serve
		case f.World.UsesCodeDeploy() && (now == [2]int32{100, 0} || now == [2]int32{0, 100}):
		case fresh && now[1] == 0 && now[0] > 0 && stickySeconds(was) == stickySeconds(r.Actions) &&
			len(was[0].Forward.Groups) == len(r.Actions[0].Forward.Groups):
		case !fresh && world.ActionsText(was) == world.ActionsText(r.Actions) &&
			stickySeconds(was) == stickySeconds(r.Actions):
		default:
			f.AddViolation("P3", "rule %s is %s (sticky %d); it was %s (sticky %d)", r.Name(),
				world.ActionsText(r.Actions), stickySeconds(r.Actions), world.ActionsText(was), stickySeconds(was))
		}
	}
}

func stickySeconds(actions []world.Action) int32 {
	for _, a := range actions {
		if a.Forward != nil && a.Forward.Sticky {
			return a.Forward.StickySeconds
		}
	}
	return 0
}

// checkTargets checks that the two groups contain only targets of the tasks that serve.
func (f *Rehearsal) checkTargets(tx *world.Tx, s *world.Service) {
	for _, g := range []shape.Group{f.World.Primary, f.World.Canary} {
		group, ok := tx.TargetGroups.Get(g.ARN)
		if !ok {
			continue
		}
		for _, t := range group.Targets {
			if t.Task != nil && t.Task.Set != nil && f.HasSecondSluice() && strings.HasPrefix(t.Task.Set.ExternalID,
				plan.IDPrefix+"second") {
				continue
			}
			if t.Task == nil || t.Task.Set == nil || t.Task.Set != s.Primary() {
				f.AddViolation("P3", "target %s of %s is still registered (%s)", t.ID, group.Name, t.State)
			}
		}
	}
}

// countRevisions counts the revisions of the service; steps have their own definitions.
func (f *Rehearsal) countRevisions(tx *world.Tx) int {
	n, beside := 0, f.stepFamilies()
	for _, d := range tx.TaskDefinitions.Values() {
		if d.Family != "others" && d.Family != JobFamily && !slices.Contains(beside, d.Family) {
			n++
		}
	}
	return n
}
