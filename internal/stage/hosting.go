package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// member is what runs a variant, as it was at one look: a task set, or a service
// of its own.
type member struct {
	sluice.TaskSet                // its counts; ID is what its tasks say that they were started by
	variant        sluice.Variant // that it runs
	label          string         // how the plan calls it: "task set of canary"
	of             ecs.Service    // the service that its tasks belong to
	alone          bool           // no other task stands in its target group
}

// resource is how errors name a member.
func (m member) resource() string {
	if m.alone {
		return m.of.Resource()
	}
	return m.ID
}

// hosting is where the variants live. Stages speak of variants and leave what
// they are made of to it; the order in which capacity and traffic move is theirs.
//
// Every verb is safe to run twice: it looks first, and what it makes carries the
// ID of its action.
type hosting interface {
	// kind is what a variant is made of, for people: "task set".
	kind() string
	// remember is the canary that stands before the first write, where this hosting
	// would take it over; nil: none.
	remember(ctx context.Context) (*formerCanary, error)
	// create makes the service, which does not exist, and looks at it.
	create(ctx context.Context) (*ecs.Live, error)
	// ensureCanary finds the canary of this deployment and brings it to the scale,
	// percent of the desired count, or starts it. It waits for nothing.
	ensureCanary(ctx context.Context, rev ecs.Revision, scale int) (member, error)
	// startPrimary makes the revision the primary and returns when it is healthy.
	// What served before may still stand.
	startPrimary(ctx context.Context, live *ecs.Live, rev ecs.Revision) (member, error)
	// retireOld takes what served before away, or keeps it if the stage says so.
	retireOld(ctx context.Context, primary member) error
	// kept is what an earlier stage kept of what served before.
	kept(ctx context.Context) ([]member, error)
	// others are everything that a sync removes beside the primary.
	others(ctx context.Context, primary member) ([]member, error)

	// standing is the member that runs the variant; nil if there is none. The
	// canary is that of this deployment.
	standing(ctx context.Context, v sluice.Variant) (*member, error)
	// among is the same, of the service as it was just seen.
	among(ctx context.Context, live *ecs.Live, v sluice.Variant) (*member, error)
	// again is one more look at a member; nil if it is gone. One that is being
	// deleted has status DRAINING.
	again(ctx context.Context, m member) (*member, error)
	// tasks are those that run the variant now, of every revision: what callers can
	// be sent to. For the primary that is the old and the new one.
	tasks(ctx context.Context, v sluice.Variant) ([]ecs.Task, error)
	// everyTask is tasks for both variants, with as few reads as that takes.
	everyTask(ctx context.Context) (map[sluice.Variant][]ecs.Task, error)
	// zero takes a member's capacity away; the access type has let go of it.
	zero(ctx context.Context, m member) error
	// remove deletes a member that is empty.
	remove(ctx context.Context, m member) error

	// restore makes what served before serve again, as [Former] has it, and calls
	// [access.restore] as soon as it can take the requests.
	restore(ctx context.Context, live *ecs.Live) error
	// revive gives a primary that has no capacity its own again, and tells so.
	revive(ctx context.Context, m member) (revived bool, err error)
	// left are the members of ours that lost deployments left behind, of the service as a
	// read shows it that is newer than their writes. former is the ID of the one that had
	// served before them.
	left(ctx context.Context, live *ecs.Live, former string) ([]member, error)
	// foreign is what somebody else made of the members that the stage leaves alone.
	foreign(ctx context.Context, x *expectation, live *ecs.Live) ([]change, error)
	// undo brings a member that somebody else scaled or promoted back.
	undo(ctx context.Context, c change) error
	// stays makes what was returned to primary again if somebody promoted in its place
	// what is about to be taken away.
	stays(ctx context.Context) error
	// made are the members that the deployment made and that do not serve any more.
	made(ctx context.Context) ([]member, error)
}
