package step

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// HasTask reports whether a task belongs to the member.
func (m Member) HasTask(t ecs.Task) bool { return t.StartedBy == m.ID }

// Member is the workload of a variant as one read shows it: a task set, or a service.
type Member struct {
	sluice.TaskSet                   // its counts; ID is the startedBy value of its tasks
	Variant        sluice.Variant    // of its tasks
	Label          string            // its name in the plan: "task set of canary"
	Service        ecs.Service       // the service that its tasks belong to
	HasOwnGroup    bool              // no other workload is in its target group
	CreatedAt      time.Time         // when this stage created it; zero: it existed before
	Live           *ecs.ServiceState // the read of its service that shows it; nil: not known
	Events         []diagnosis.Event // of its service, newest first; nil: not read
}

// ResourceName is the name of the member in errors.
func (m Member) ResourceName() string {
	if m.HasOwnGroup {
		return m.Service.Resource()
	}
	return m.ID
}

// Hosting is where the variants run: task sets or services. Stages use variants only and fix
// the order of capacity and traffic.
//
// Every method can run twice: it reads first, and what it creates carries its action ID.
type Hosting interface {
	// KindName is the name of a variant's workload for users: "task set".
	KindName() string
	// CreateService creates the service, which does not exist, and reads it.
	CreateService(ctx context.Context) (*ecs.ServiceState, error)
	// EnsureCanary finds the canary of this deployment and scales it, or creates it. scale is a
	// percentage of the desired count. It does not wait for the tasks.
	EnsureCanary(ctx context.Context, rev ecs.Revision, scale int) (Member, error)
	// StartPrimary makes the revision the primary and returns when it is healthy. The previous
	// version may still be ACTIVE then.
	StartPrimary(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (Member, error)
	// ListOthers returns every member that a sync removes in addition to the primary.
	ListOthers(ctx context.Context, primary Member) ([]Member, error)

	// FindVariantIn returns the member that runs the variant, of a service that was just read; nil if there is none. The
	// canary is that of this deployment.
	FindVariantIn(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (*Member, error)
	// RefreshMember reads a member again; nil if it is deleted. A member that is being deleted has
	// status DRAINING.
	RefreshMember(ctx context.Context, m Member) (*Member, error)
	// ListAllTasks returns the tasks that run each variant now, of every revision. Callers can be sent
	// to any of them. The tasks of the primary include those of the previous and of the new
	// version.
	ListAllTasks(ctx context.Context) (map[sluice.Variant][]ecs.Task, error)
	// ScaleToZero scales a member to 0. The Access has stopped its traffic before.
	ScaleToZero(ctx context.Context, m Member) error
	// DeleteMember deletes a member that has no tasks.
	DeleteMember(ctx context.Context, m Member) error

	// RestorePrimary makes the previous version serve again, as [memory.Snapshot] describes it. It calls
	// [Access.RestoreRoutes] as soon as that version can take the requests.
	RestorePrimary(ctx context.Context, live *ecs.ServiceState) error
	// ListLeftovers returns the members that lost deployments of sluice left behind. live is a read
	// that is newer than their writes. former is the ID of the member that served before them.
	ListLeftovers(ctx context.Context, live *ecs.ServiceState, former string) ([]Member, error)
	// ListDrift returns what another actor changed in members that the stage itself does not
	// change.
	ListDrift(ctx context.Context, x *Expectation, live *ecs.ServiceState) ([]OutsideChange, error)
	// RevertDrift reverts a member that another actor scaled or promoted.
	RevertDrift(ctx context.Context, c OutsideChange) error
	// ListCreated returns the members that the deployment created and that no longer serve.
	ListCreated(ctx context.Context) ([]Member, error)
}

// FindVariant is [Hosting.FindVariantIn] for the service as this poll has read it.
func FindVariant(ctx context.Context, s *Step, v sluice.Variant) (*Member, error) {
	live, err := ObserveShared(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.Hosting.FindVariantIn(ctx, live, v)
}

// Promotions is a [Hosting] in which other members than the first can become the primary, as task sets can.
type Promotions interface {
	// RetireOldPrimary removes the previous primary, or keeps it if the stage says so.
	RetireOldPrimary(ctx context.Context, primary Member) error
	// ListKept returns the members of the previous version that an earlier stage kept.
	ListKept(ctx context.Context) ([]Member, error)
	// RestoreCapacity scales a primary that is at 0 up again, and reports whether it did.
	RestoreCapacity(ctx context.Context, m Member) (revived bool, err error)
	// RepromotePrimary promotes the restored primary again if another actor promoted a member that
	// is about to be removed.
	RepromotePrimary(ctx context.Context) error
}

// RepromotePrimary calls [Promotions.RepromotePrimary] if the hosting has it.
func RepromotePrimary(ctx context.Context, h Hosting) error {
	if p, ok := h.(Promotions); ok {
		return p.RepromotePrimary(ctx)
	}
	return nil
}

// StandingCanary is a [Hosting] whose canary exists between deployments.
type StandingCanary interface {
	// SnapshotCanary returns the canary that exists before the first write, if this hosting would
	// take it over; nil if there is none.
	SnapshotCanary(ctx context.Context) (*memory.CanaryService, error)
}

// WithEvents adds the events of the service that was read with the member; nil stays nil.
func (m *Member) WithEvents(live *ecs.ServiceState) *Member {
	if m != nil {
		m.Events = live.Events()
	}
	return m
}
