package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// member is the workload of a variant as one read shows it: a task set, or a service.
type member struct {
	sluice.TaskSet                   // its counts; ID is the startedBy value of its tasks
	variant        sluice.Variant    // of its tasks
	label          string            // its name in the plan: "task set of canary"
	service        ecs.Service       // the service that its tasks belong to
	hasOwnGroup    bool              // no other workload is in its target group
	createdAt      time.Time         // when this stage created it; zero: it existed before
	live           *ecs.ServiceState // the read of its service that shows it; nil: not known
	events         []diagnosis.Event // of its service, newest first; nil: not read
}

// resourceName is the name of the member in errors.
func (m member) resourceName() string {
	if m.hasOwnGroup {
		return m.service.Resource()
	}
	return m.ID
}

// variantHosting is where the variants run: task sets or services. Stages use variants only and fix
// the order of capacity and traffic.
//
// Every method can run twice: it reads first, and what it creates carries its action ID.
type variantHosting interface {
	// kindName is the name of a variant's workload for users: "task set".
	kindName() string
	// snapshotCanary returns the canary that exists before the first write, if this hosting would
	// take it over; nil if there is none.
	snapshotCanary(ctx context.Context) (*memory.CanaryService, error)
	// createService creates the service, which does not exist, and reads it.
	createService(ctx context.Context) (*ecs.ServiceState, error)
	// ensureCanary finds the canary of this deployment and scales it, or creates it. scale is a
	// percentage of the desired count. It does not wait for the tasks.
	ensureCanary(ctx context.Context, rev ecs.Revision, scale int) (member, error)
	// startPrimary makes the revision the primary and returns when it is healthy. The previous
	// version may still be ACTIVE then.
	startPrimary(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (member, error)
	// retireOldPrimary removes the previous primary, or keeps it if the stage says so.
	retireOldPrimary(ctx context.Context, primary member) error
	// listKept returns the members of the previous version that an earlier stage kept.
	listKept(ctx context.Context) ([]member, error)
	// listOthers returns every member that a sync removes in addition to the primary.
	listOthers(ctx context.Context, primary member) ([]member, error)

	// findVariant returns the member that runs the variant; nil if there is none. The canary is
	// that of this deployment.
	findVariant(ctx context.Context, v sluice.Variant) (*member, error)
	// findVariantIn is findVariant for a service that was just read.
	findVariantIn(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (*member, error)
	// refreshMember reads a member again; nil if it is deleted. A member that is being deleted has
	// status DRAINING.
	refreshMember(ctx context.Context, m member) (*member, error)
	// listTasks returns the tasks that run the variant now, of every revision. Callers can be sent
	// to any of them. The tasks of the primary include those of the previous and of the new
	// version.
	listTasks(ctx context.Context, v sluice.Variant) ([]ecs.Task, error)
	// listAllTasks is listTasks for both variants, with as few reads as possible.
	listAllTasks(ctx context.Context) (map[sluice.Variant][]ecs.Task, error)
	// scaleToZero scales a member to 0. The trafficProvider has stopped its traffic before.
	scaleToZero(ctx context.Context, m member) error
	// deleteMember deletes a member that has no tasks.
	deleteMember(ctx context.Context, m member) error

	// restorePrimary makes the previous version serve again, as [memory.Snapshot] describes it. It calls
	// [trafficProvider.restoreRoutes] as soon as that version can take the requests.
	restorePrimary(ctx context.Context, live *ecs.ServiceState) error
	// restoreCapacity scales a primary that is at 0 up again, and reports whether it did.
	restoreCapacity(ctx context.Context, m member) (revived bool, err error)
	// listLeftovers returns the members that lost deployments of sluice left behind. live is a read
	// that is newer than their writes. former is the ID of the member that served before them.
	listLeftovers(ctx context.Context, live *ecs.ServiceState, former string) ([]member, error)
	// listDrift returns what another actor changed in members that the stage itself does not
	// change.
	listDrift(ctx context.Context, x *expectation, live *ecs.ServiceState) ([]outsideChange, error)
	// revertDrift reverts a member that another actor scaled or promoted.
	revertDrift(ctx context.Context, c outsideChange) error
	// repromotePrimary promotes the restored primary again if another actor promoted a member that
	// is about to be removed.
	repromotePrimary(ctx context.Context) error
	// listCreated returns the members that the deployment created and that no longer serve.
	listCreated(ctx context.Context) ([]member, error)
}
