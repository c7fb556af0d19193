package rehearse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	simecs "github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// FindService returns the rehearsed service, or nil.
func (e *Environment) FindService(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(e.Case.World.Cluster + "/" + e.Case.World.Service)
	return s
}

// FindCanaryService returns the canary service, or nil.
func (e *Environment) FindCanaryService(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(e.Case.World.Cluster + "/" + plan.CanaryServiceName(e.Case.World.Service))
	return s
}

// TaskSets returns the task sets and deployments of both variants, of the service and of the canary
// service.
func (e *Environment) TaskSets(tx *world.Tx) (all []*world.TaskSet) {
	for _, s := range []*world.Service{e.FindService(tx), e.FindCanaryService(tx)} {
		if s != nil {
			all = append(all, s.TaskSets...)
		}
	}
	return all
}

// TaskOf returns the running task of an instance, or nil.
func (e *Environment) TaskOf(tx *world.Tx, id string) *world.Task {
	id = id[strings.LastIndexByte(id, '-')+1:]
	for _, ts := range e.TaskSets(tx) {
		for _, t := range ts.Tasks {
			if t.ID == id && t.IsRunning() && t.DesiredStatus == "RUNNING" {
				return t
			}
		}
	}
	return nil
}

// versionOf returns whether a task set runs the old or the new version.
func versionOf(ts *world.TaskSet) string {
	for _, c := range ts.Definition.Containers {
		if c.Image == OldImage {
			return "old"
		}
	}
	return "new"
}

// weightsOf returns a rule's weights on the two groups.
func (e *Environment) weightsOf(r *world.Rule) (w [2]int32) {
	if fw := r.ForwardAction(); fw != nil {
		for _, s := range fw.Groups {
			switch s.Group {
			case e.Case.World.Primary.ARN:
				w[0] = s.Weight
			case e.Case.World.Canary.ARN:
				w[1] = s.Weight
			}
		}
	}
	return w
}

// forwardingRules returns the rules of the world's listeners that forward to the two groups, or did
// at the start.
func (e *Environment) forwardingRules(tx *world.Tx) (all []*world.Rule) {
	for _, r := range tx.Rules.Values() {
		fw := r.ForwardAction()
		if fw == nil || e.Case.World.CanaryOnlyRule && r.Priority == shape.CanaryRulePriority {
			continue
		}
		if slices.ContainsFunc(fw.Groups, func(s world.Share) bool {
			return s.Group == e.Case.World.Primary.ARN ||
				s.Group == e.Case.World.Canary.ARN
		}) {
			all = append(all, r)
		}
	}
	return all
}

// hasHealthyTarget reports whether the group has a healthy target.
func (e *Environment) hasHealthyTarget(tx *world.Tx, g shape.Group) bool {
	group, ok := tx.TargetGroups.Get(g.ARN)
	return ok && group.Count("healthy") > 0
}

// ruleText returns the actions of a rule. Where the two groups alternate, only whether the serving group
// gets everything matters.
func (e *Environment) ruleText(s *world.Service, r *world.Rule) string {
	p, w := s.Primary(), e.weightsOf(r)
	if !e.Case.World.AlternatesGroups() || p == nil || len(p.Attached) == 0 || w[0]+w[1] != max(w[0], w[1]) {
		return world.ActionsText(r.Actions)
	}
	if serving := p.Attached[0].TargetGroup; serving == e.Case.World.Primary.ARN && w[0] > 0 ||
		serving == e.Case.World.Canary.ARN && w[1] > 0 {
		return "all to the serving group"
	}
	return world.ActionsText(r.Actions)
}

// readService returns the service as AWS returns it; nil if there is none.
func (e *Environment) readService() *ecs.ServiceState {
	a, err := e.openAccount(e.Clock, nil, nil)
	if err != nil {
		e.report.Fail("open the account: %v", err)
		return nil
	}
	live, err := ecs.Service{API: a.ECS(), Cluster: e.Case.World.Cluster,
		Name: e.Case.World.Service}.Observe(context.Background())
	if err != nil {
		e.report.Fail("describe the service: %v", err)
	}
	return live
}

// serviceTags returns the tags that the service has in the world, which no fault of a call hides. A service
// that does not exist has none.
func (e *Environment) serviceTags() (tags map[string]string) {
	e.InWorld(func(tx *world.Tx) {
		if s := e.FindService(tx); s != nil {
			tags = simecs.ServiceTags(s)
		}
	})
	return tags
}

// countOtherToolSets returns how many task sets of another tool the service has.
func countOtherToolSets(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if ts.ExternalID == OtherToolID {
			n++
		}
	}
	return n
}

// otherToolSetsText returns the task sets of another tool. Sluice must not change them.
func (e *Environment) otherToolSetsText(tx *world.Tx) string {
	var b strings.Builder
	if s := e.FindService(tx); s != nil {
		for _, ts := range s.TaskSets {
			if ts.ExternalID == OtherToolID {
				fmt.Fprintf(&b, "%s %s %g%%\n", ts.ID, ts.Status, ts.Scale)
			}
		}
	}
	return b.String()
}
