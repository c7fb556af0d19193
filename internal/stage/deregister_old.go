package stage

import (
	"context"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// maxDeregistered is how many revisions one deployment checks at most: each costs a read. The next
// deployment continues with the rest.
const maxDeregistered = 20

// DeregisterOld deregisters old task definitions after a success, if the plan says so. It takes
// revisions of this service that are not in use. The revision that served before is always kept,
// for a rollback.
func (r *Run) DeregisterOld(ctx context.Context) error {
	if r.Plan.KeepDefinitions == 0 {
		return nil
	}
	ctx = r.withRetries(ctx)
	r.Stage.Writes = append(r.Stage.Writes, r.Plan.Finish...)
	old, err := ecs.OlderRevisions(ctx, r.Account.ECS(), r.familyName(), r.Plan.KeepDefinitions, maxDeregistered)
	if err != nil || len(old) == 0 {
		return err
	}
	used, err := r.client.UsedRevisions(ctx, r.familyName())
	if err != nil {
		return err
	}
	used[r.Plan.From] = true
	n := 0
	for _, rev := range old {
		if used[rev.Name] {
			continue
		}
		ours, err := ecs.TaggedRevision(ctx, r.Account.ECS(), rev, plan.DefinitionTag, r.client.Resource())
		if err != nil {
			return err
		}
		if !ours {
			continue
		}
		if err := ecs.Deregister(ctx, r.Account.ECS(), r.makeWrite, plan.ObsoleteDefinitions, rev); err != nil {
			return err
		}
		n++
	}
	if n > 0 {
		r.emitNote("deregistered %s", sluice.Plural(n, "old task definition"))
	}
	return nil
}

func (r *Run) familyName() string {
	family, _, _ := strings.Cut(r.Plan.To, ":")
	return family
}

// tagDefinition adds the tag with the owning service to the task definition, if the plan
// deregisters old definitions.
func (r *Run) tagDefinition(task *definition.Task) *definition.Task {
	if r.Plan.KeepDefinitions == 0 {
		return task
	}
	return ecs.WithTag(task, plan.DefinitionTag, r.client.Resource())
}
