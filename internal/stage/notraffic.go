package stage

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// noTraffic is the traffic provider of a service without callers, such as a worker that reads from
// a queue. It has no shares, and a plan cannot ask for any.
type noTraffic struct{}

func (noTraffic) addToSnapshot(context.Context, *memory.Snapshot) error    { return nil }
func (noTraffic) resolveRouteDrift(context.Context) error                  { return nil }
func (noTraffic) hasRouteDrift(context.Context) (bool, error)              { return false, nil }
func (noTraffic) weightOf(sluice.Variant) (int, bool)                      { return 0, true }
func (noTraffic) removeStaleRecords(context.Context) error                 { return nil }
func (noTraffic) attachmentOf(sluice.Variant) ecs.Attachment               { return ecs.Attachment{} }
func (noTraffic) prepareCanaryRoute(context.Context) error                 { return nil }
func (noTraffic) canaryGetsTraffic(context.Context) (bool, error)          { return false, nil }
func (noTraffic) routeAllToPrimary(context.Context) error                  { return nil }
func (noTraffic) waitForPropagation(context.Context) error                 { return nil }
func (noTraffic) stopTrafficTo(context.Context, []member) error            { return nil }
func (noTraffic) maintainShare(context.Context) error                      { return nil }
func (noTraffic) countDraining(context.Context, *memberWatch) (int, error) { return 0, nil }
func (noTraffic) removeCanaryRoute(context.Context) error                  { return nil }
func (noTraffic) rerouteEmptyCanary(context.Context) error                 { return nil }
func (noTraffic) callersCacheAddresses(context.Context) (bool, error)      { return false, nil }
func (noTraffic) restoreRoutes(context.Context) error                      { return nil }
func (noTraffic) checkCanaryUnrouted(context.Context, member) error        { return nil }

func (noTraffic) observeTargets(context.Context, *memberWatch, *verdict.Observation) error {
	return nil
}

func (noTraffic) savePlannedShift(context.Context, sluice.Weights) error { return errNoTraffic }

func (noTraffic) setWeights(context.Context, sluice.Weights) error { return errNoTraffic }

var errNoTraffic = errors.New("the service gets no traffic: there are no shares to move")

func (noTraffic) isUnreachable() bool { return true }
