package survey

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// readContents returns the digests of task definitions by their names. It omits those that AWS does not return.
func readContents(ctx context.Context, a *account.Account, names []string) (map[string]string, error) {
	contents := map[string]string{}
	for _, name := range names {
		td, err := ecs.ReadDefinition(ctx, a.ECS(), name)
		switch {
		case err == nil:
			contents[name] = definition.Digest(definition.TaskOf(td))
		case !ecs.IsRefused(err):
			return nil, err
		}
	}
	return contents, nil
}
