package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// trafficProvider is how requests reach the variants, whatever hosts them: listener rules
// ([albTraffic]), names of Cloud Map ([cloudMapTraffic]), or no route at all ([noTraffic]).
//
// # Write a driver
//
// A new provider takes four pieces:
//
//   - A [route.Driver] in its own package under internal/route. It moves shares and passes the
//     suite in routetest.
//   - An implementation of trafficProvider in its own file of this package. It decides when to
//     move.
//   - A case in [Run.openTraffic].
//   - In package plan, the writes of each stage and the limits of the provider. [plan.Plan.Stage]
//     refuses other writes.
//
// An implementation keeps the rules of stages. It saves before it writes, writes only through
// [Run.makeWrite], and reads before and after. It can run again after a kill at any point: it knows the
// past only from saved values and from AWS. It lists the tasks of a variant with [variantHosting.listTasks],
// so that it never depends on the kind of hosting.
//
// Stages fix the order. A variant that gets requests was healthy before
// [trafficProvider.setWeights] is called. A variant that loses its tasks gets no requests any more:
// [trafficProvider.waitForPropagation] and [trafficProvider.stopTrafficTo] are called first.
type trafficProvider interface {
	// addToSnapshot adds the state of the routes that AWS cannot return afterwards. It is called
	// once, before the first write of the deployment.
	addToSnapshot(ctx context.Context, f *memory.Snapshot) error
	// removeStaleRecords runs once per stage, after the claim and before the stage's own work. It
	// deregisters records of tasks that stopped between stages.
	removeStaleRecords(ctx context.Context) error
	// resolveRouteDrift applies onOutsideChange to routes that another actor changed since our last
	// write. It runs when a stage begins and whenever hasRouteDrift is true.
	resolveRouteDrift(ctx context.Context) error
	// hasRouteDrift reports, with one cheap read, whether routes differ from our last write.
	// [Run.followDeployment] calls it concurrently with the wait, as it calls maintainShare.
	hasRouteDrift(ctx context.Context) (bool, error)
	// weightOf returns the share of requests that the variant gets. watched is false if no read can
	// show whether the variant is healthy.
	weightOf(v sluice.Variant) (share int, watched bool)
	// attachmentOf returns what the tasks of a variant are started with: a target group, or no
	// registration by ECS.
	attachmentOf(v sluice.Variant) ecs.Attachment

	// savePlannedShift saves the weights that a shift is about to set.
	savePlannedShift(ctx context.Context, to sluice.Weights) error
	// prepareCanaryRoute adds the canary to the route with share 0, if that takes a write.
	prepareCanaryRoute(ctx context.Context) error
	// setWeights brings the shares to the weights, reads them back and emits the result. Every
	// variant that gets a share is healthy.
	setWeights(ctx context.Context, to sluice.Weights) error
	// routeAllToPrimary sets all weight to the primary when the journal is lost. It cannot detect
	// changes by other actors.
	routeAllToPrimary(ctx context.Context) error
	// canaryGetsTraffic reports whether the canary gets requests now.
	canaryGetsTraffic(ctx context.Context) (bool, error)
	// waitForPropagation waits until every load balancer node or DNS cache follows the last write.
	// AWS does not report when that is.
	waitForPropagation(ctx context.Context) error
	// stopTrafficTo deregisters members before their capacity is removed, and returns when no
	// caller is sent to them any more.
	stopTrafficTo(ctx context.Context, members []member) error

	// maintainShare runs at every poll of every wait of a stage. It restores the share when tasks
	// come and go. [Run.followDeployment] calls it concurrently with the wait, so it must not touch the
	// wait's own state.
	maintainShare(ctx context.Context) error
	// observeTargets adds to the observation of a member whether callers can be sent to it.
	observeTargets(ctx context.Context, w *memberWatch, o *verdict.Observation) error
	// countDraining counts what is still registered for a member that is being emptied: draining
	// targets or Cloud Map instances.
	countDraining(ctx context.Context, w *memberWatch) (int, error)

	// removeCanaryRoute reverts prepareCanaryRoute after the canary was deleted.
	removeCanaryRoute(ctx context.Context) error
	// rerouteEmptyCanary moves weight that another actor put on the canary to the primary if the
	// canary has no tasks. A rollback calls it first.
	rerouteEmptyCanary(ctx context.Context) error
	// callersCacheAddresses reports whether callers may still use a primary task's address after
	// ECS has stopped that task in a rollback of [services].
	callersCacheAddresses(ctx context.Context) (bool, error)
	// restoreRoutes restores the routes saved in [memory.Snapshot]. It reports what another actor
	// changed since then, and keeps that.
	restoreRoutes(ctx context.Context) error
	// isUnreachable reports whether no route sends requests to the service any more, as far as a
	// rollback has read them.
	isUnreachable() bool
	// checkCanaryUnrouted returns an error while requests are still sent to the canary.
	checkCanaryUnrouted(ctx context.Context, canary member) error
}
