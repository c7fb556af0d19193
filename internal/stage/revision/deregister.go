package revision

import (
	"context"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// maxDeregistered is how many revisions one deployment checks at most: each costs a read. The next
// deployment continues with the rest.
const maxDeregistered = 20

// DeregisterOld deregisters old task definitions after a success, if the plan says so. It takes
// revisions of this service that are not in use. The revision that served before is always kept,
// for a rollback.
func DeregisterOld(ctx context.Context, s *step.Step) error {
	if s.Plan.KeepDefinitions == 0 {
		return nil
	}
	s.Stage.Writes = append(s.Stage.Writes, s.Plan.Finish...)
	old, err := ecs.OlderRevisions(ctx, s.Account.ECS(), familyName(s), s.Plan.KeepDefinitions, maxDeregistered)
	if err != nil || len(old) == 0 {
		return err
	}
	used, err := s.Client.UsedRevisions(ctx, familyName(s))
	if err != nil {
		return err
	}
	used[s.Plan.From] = true
	n := 0
	for _, rev := range old {
		if used[rev.Name] {
			continue
		}
		ours, err := ecs.TaggedRevision(ctx, s.Account.ECS(), rev, plan.DefinitionTag, s.Client.Resource())
		if err != nil {
			return err
		}
		if !ours {
			continue
		}
		if err := ecs.Deregister(ctx, s.Account.ECS(), s.MakeWrite, plan.ObsoleteDefinitions, rev); err != nil {
			return err
		}
		n++
	}
	if n > 0 {
		s.EmitNote("deregistered %s", sluice.Plural(n, "old task definition"))
	}
	return nil
}

func familyName(s *step.Step) string {
	family, _, _ := strings.Cut(s.Plan.To, ":")
	return family
}

// tagDefinition adds the tag with the owning service to the task definition, if the plan
// deregisters old definitions.
func tagDefinition(s *step.Step, task *definition.Task) *definition.Task {
	if s.Plan.KeepDefinitions == 0 {
		return task
	}
	return ecs.WithTag(task, plan.DefinitionTag, s.Client.Resource())
}
