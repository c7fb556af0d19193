package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// callersCacheAddresses is true if a new task of the primary is registered. It also reads which
// containers of the former revision have a health check.
func (d *discovered) exposed(ctx context.Context) (bool, error) {
	if err := d.load(ctx); err != nil {
		return false, err
	}
	if err := d.lookAt(ctx); err != nil || len(d.newFound()) == 0 {
		return false, err
	}
	was, err := ecs.Definition(ctx, d.Account.ECS(), d.former.Revision)
	if err == nil {
		d.before = definition.Checked(was.ContainerDefinitions)
	}
	return true, err
}

// registeredNew returns the registered instances of the primary that are not of the former
// revision, as of the last read.
func (d *discovered) newFound() (ids []string) {
	found := d.names.Found(sluice.Primary)
	for _, t := range d.tasks {
		if d.isNew(t) && slices.Contains(found, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// deregisterNewPrimary deregisters tasks of the new revision that ECS keeps registering while the
// service rolls back and only the canary may get traffic.
func (d *discovered) keepNewOut(ctx context.Context) error {
	if err := d.lookAt(ctx); err != nil {
		return err
	}
	found := d.newFound()
	if len(found) == 0 || !d.names.Beside(found) {
		return nil
	}
	d.names.Part(found)
	if err := d.names.Leave(ctx, d.write, sluice.Primary, found); err != nil {
		return err
	}
	return d.moving(ctx)
}
