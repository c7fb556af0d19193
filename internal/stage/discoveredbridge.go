package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// exposed: a new task of the primary is found. How tasks of the former revision show
// that they are well is read with it.
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

// newFound are the instances of the primary that are found and not of the revision
// that served before, as of the last look.
func (d *discovered) newFound() (ids []string) {
	found := d.names.Found(sluice.Primary)
	for _, t := range d.tasks {
		if d.isNew(t) && slices.Contains(found, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// keepNewOut takes out what ECS goes on registering of the new revision while the
// canary alone is to be found and the service is on its way back.
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
