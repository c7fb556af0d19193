package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// access is how callers reach the service: what a stage must know of the way on
// which requests come, whatever hosts the variants. balanced.go (listener rules),
// discovered.go (names of Cloud Map) and unrouted.go (nobody calls) implement it.
//
// # Write a driver
//
// A new way takes a [route.Driver] in a package of its own under internal/route,
// which moves shares and is held to the suite in routetest; one implementation of
// access in a file of its own here, which says when; a case in [Run.open]; and in
// package plan the writes of each stage ([plan.Plan.Stage] refuses any other) and
// what it cannot do.
//
// An implementation keeps to what stages keep to. It saves before it writes,
// writes through [Run.act] only, looks before and after, and may be run again
// after a kill at any point: what it must know of the past is saved or seen. It
// finds the tasks of a variant with [hosting.tasks], never by the kind of the
// hosting.
//
// Order is the stages': who gets requests was healthy before ([access.shift] is
// called after it), who loses its tasks gets none any more ([access.settle] and
// [access.part] are called before it).
type access interface {
	// remember adds what AWS will not tell afterwards. It is called once, before
	// the first write of the deployment.
	remember(ctx context.Context, f *Former) error
	// begin is called when a stage has claimed the service, before its own work:
	// the time to sweep what was left while nobody watched.
	begin(ctx context.Context) error
	// heed answers what others made of the way since it was written last, as
	// onOutsideChange says: at the beginning of a stage, and whenever it differs.
	heed(ctx context.Context) error
	// differs reports whether there is anything to heed, by one cheap look. In
	// [Run.follow] it runs beside the wait, as tend does.
	differs(ctx context.Context) (bool, error)
	// weight is the share that callers give the variant; watched is false if nobody
	// can tell whether it is healthy.
	weight(v sluice.Variant) (share int, watched bool)
	// attach is what the tasks of a variant are tied to when they are started.
	attach(v sluice.Variant) ecs.Attachment

	// announce saves what a shift is about to do.
	announce(ctx context.Context, to sluice.Weights) error
	// ready lets the canary in with no share yet, where that takes a write.
	ready(ctx context.Context) error
	// shift brings the shares to the weights, reads them back and tells. Both
	// sides that get a share are healthy.
	shift(ctx context.Context, to sluice.Weights) error
	// seize is a shift of everything to the primary when the journal is lost: what
	// others may have changed cannot be told.
	seize(ctx context.Context) error
	// sends reports whether the canary gets requests now.
	sends(ctx context.Context) (bool, error)
	// settle returns when every caller goes by the shares that were written last.
	settle(ctx context.Context) error
	// part lets go of members whose capacity is about to go, and returns when no
	// caller is sent to them any more.
	part(ctx context.Context, members []member) error

	// tend is called at every look of every wait of a stage: tasks come and go
	// meanwhile, and shares may have to be kept. In [Run.follow] it runs beside the
	// wait, so that it touches nothing of the wait's.
	tend(ctx context.Context) error
	// see adds to a look at a member what tells whether callers can be sent to it.
	see(ctx context.Context, w *watched, o *verdict.Observation) error
	// left counts what a member that is being emptied still has in the way: targets
	// that drain, names that lead to it.
	left(ctx context.Context, w *watched) (int, error)

	// reshape undoes what ready did, once the canary is gone.
	reshape(ctx context.Context) error
	// spare takes a share away from the canary that somebody else gave it and that
	// leads nowhere, because the canary is empty by now: a rollback begins with it.
	spare(ctx context.Context) error
	// exposed reports whether callers have addresses of the primary's tasks that they
	// use for a while after ECS, in a rollback of [services], has stopped those.
	exposed(ctx context.Context) (bool, error)
	// restore brings back what [Former] has. What somebody else changed meanwhile
	// is told and left.
	restore(ctx context.Context) error
	// released refuses to let the canary go while it is sent requests all the same.
	released(ctx context.Context, canary member) error
}
