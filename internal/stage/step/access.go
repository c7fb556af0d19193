package step

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// Access is how requests reach the variants, whatever hosts them: listener rules
// (package balanced), names of Cloud Map (package discovered), or no route at all ([NoTraffic]).
//
// # Write a driver
//
// A new provider takes these pieces:
//
//   - A [route.Driver] in its own package under internal/route. It moves shares and passes the
//     suite in routetest.
//   - An implementation of Access in its own package under access. It decides when to
//     move.
//   - [TaskRecords] or [CanaryRules] too, if the provider works as they say.
//   - A case in trafficCodeOf of package stage.
//   - In package plan, the writes of each stage and the limits of the provider. [plan.Plan.Stage]
//     refuses other writes.
//
// An implementation keeps the rules of stages. It saves before it writes, writes only through
// [Step.MakeWrite], and reads before and after. It can run again after a kill at any point: it knows
// the past only from saved values and from AWS. It lists the tasks of a variant with [Hosting.ListAllTasks],
// so that it never depends on the kind of hosting.
//
// Stages fix the order. A variant that gets requests was healthy before
// [Access.SetWeights] is called. A variant that loses its tasks gets no requests any more:
// [Access.WaitForPropagation] and [TaskRecords.StopTrafficTo] are called first.
type Access interface {
	// AddToSnapshot adds the state of the routes that AWS cannot return afterwards. It is called
	// once, before the first write of the deployment.
	AddToSnapshot(ctx context.Context, f *memory.Snapshot) error
	// ResolveRouteDrift applies onOutsideChange to routes that another actor changed since our last
	// write. It runs when a stage begins and whenever HasRouteDrift is true.
	ResolveRouteDrift(ctx context.Context) error
	// HasRouteDrift reports, with one cheap read, whether routes differ from our last write.
	// Package rolling calls it concurrently with the wait, as it calls [TaskRecords.MaintainShare].
	HasRouteDrift(ctx context.Context) (bool, error)
	// WeightOf returns the share of requests that the variant gets. watched is false if no read can
	// show whether the variant is healthy.
	WeightOf(v sluice.Variant) (share int, watched bool)
	// AttachmentOf returns what the tasks of a variant are started with: a target group, or no
	// registration by ECS.
	AttachmentOf(v sluice.Variant) ecs.Attachment

	// SavePlannedShift saves the weights that a shift is about to set.
	SavePlannedShift(ctx context.Context, to sluice.Weights) error
	// PrepareCanaryRoute adds the canary to the route with share 0, if that takes a write.
	PrepareCanaryRoute(ctx context.Context) error
	// SetWeights brings the shares to the weights, reads them back and emits the result. Every
	// variant that gets a share is healthy.
	SetWeights(ctx context.Context, to sluice.Weights) error
	// RouteAllToPrimary sets all weight to the primary when the journal is lost. It cannot detect
	// changes by other actors.
	RouteAllToPrimary(ctx context.Context) error
	// CanaryGetsTraffic reports whether the canary gets requests now.
	CanaryGetsTraffic(ctx context.Context) (bool, error)
	// WaitForPropagation waits until every load balancer node or DNS cache follows the last write.
	// AWS does not report when that is.
	WaitForPropagation(ctx context.Context) error

	// ObserveTargets adds to the observation of a member whether callers can be sent to it.
	ObserveTargets(ctx context.Context, w *MemberWatch, o *verdict.Observation) error
	// CountDraining counts what is still registered for a member that is being emptied: draining
	// targets or Cloud Map instances.
	CountDraining(ctx context.Context, w *MemberWatch) (int, error)

	// RestoreRoutes restores the routes saved in [memory.Snapshot]. It reports what another actor
	// changed since then, and keeps that.
	RestoreRoutes(ctx context.Context) error
	// IsUnreachable reports whether no route sends requests to the service any more, as far as a
	// rollback has read them.
	IsUnreachable() bool
}

// TaskRecords is an [Access] that registers tasks itself, in records that callers cache.
type TaskRecords interface {
	// RemoveStaleRecords runs once per stage, after the claim and before the stage's own work. It
	// deregisters records of tasks that stopped between stages.
	RemoveStaleRecords(ctx context.Context) error
	// MaintainShare runs at every poll of every wait of a stage. It restores the share when tasks
	// come and go. Package rolling calls it concurrently with the wait, so it must not touch the
	// wait's own state.
	MaintainShare(ctx context.Context) error
	// StopTrafficTo deregisters members before their capacity is removed, and returns when no
	// caller is sent to them any more.
	StopTrafficTo(ctx context.Context, members []Member) error
	// CallersCacheAddresses reports whether callers may still use a primary task's address after
	// ECS has stopped that task in a rollback of package canaryservice.
	CallersCacheAddresses(ctx context.Context) (bool, error)
}

// MaintainShare calls [TaskRecords.MaintainShare] if the access has it.
func MaintainShare(ctx context.Context, a Access) error {
	if r, ok := a.(TaskRecords); ok {
		return r.MaintainShare(ctx)
	}
	return nil
}

// CanaryRules is an [Access] by rules in which the canary has a place of its own. Other actors change
// them too.
type CanaryRules interface {
	// RemoveCanaryRoute reverts [Access.PrepareCanaryRoute] after the canary was deleted.
	RemoveCanaryRoute(ctx context.Context) error
	// RerouteEmptyCanary moves weight that another actor put on the canary to the primary if the
	// canary has no tasks. A rollback calls it first.
	RerouteEmptyCanary(ctx context.Context) error
	// CheckCanaryUnrouted returns an error while requests are still sent to the canary.
	CheckCanaryUnrouted(ctx context.Context, canary Member) error
}

// CheckCanaryUnrouted calls [CanaryRules.CheckCanaryUnrouted] if the access has it.
func CheckCanaryUnrouted(ctx context.Context, a Access, canary Member) error {
	if r, ok := a.(CanaryRules); ok {
		return r.CheckCanaryUnrouted(ctx, canary)
	}
	return nil
}
