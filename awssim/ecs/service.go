// Package ecs implements Amazon ECS's API on the simulated world: clusters, capacity providers,
// account settings, task definitions, services, task sets, tasks, tags. It supports the controllers
// EXTERNAL and CODE_DEPLOY, and ECS with every deployment strategy.
//
// The package checks input, calls the scheduler and builds output; the scheduler simulates what ECS
// does over time. Requests and responses are the SDK's own types. Fields that no controller reads
// are stored on the object (its Doc) and returned unchanged. Stored and returned values never point
// into a request or into the world.
//
// It does not simulate VPC Lattice and task protection. Requests for those fail with an explanation,
// or as unknown operations. Service Connect and volumes are
// stored and have no effect. [Gaps] lists what of a service is not simulated. FIDELITY.part.md lists
// which behaviour follows which AWS page.
//
// Start reading at [New] and runStep, then taskset.go and service_create.go.
package ecs

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API. Its methods of the form func(ctx, *awsecs.XInput) (*awsecs.XOutput,
// error) are ECS's operations; they act in the account and Region of [world.KeyOf].
type Service struct {
	world   *world.World
	sched   *scheduler.Scheduler
	history rolloutHistory
	editor  serviceEditor
	tasks   taskStarter
}

// rolloutHistory records the deployments of services and shows them.
type rolloutHistory struct{ sched *scheduler.Scheduler }

// serviceEditor creates and updates services.
type serviceEditor struct {
	sched   *scheduler.Scheduler
	history rolloutHistory
}

// taskStarter starts the tasks of RunTask and StartTask.
type taskStarter struct{ sched *scheduler.Scheduler }

// New creates the API and its scheduler. Call it once per world, before the first step.
func New(w *world.World) *Service {
	sched := scheduler.New(w)
	history := rolloutHistory{sched}
	s := &Service{world: w, sched: sched, history: history, editor: serviceEditor{sched, history},
		tasks: taskStarter{sched}}
	w.Watch(attachTaskDoc)
	return s
}

// Scheduler returns the scheduler of the API. The data plane reports exits to it, and faults crash
// tasks through it.
func (s *Service) Scheduler() *scheduler.Scheduler { return s.sched }

// state is the API's private state in one Region.
type state struct {
	settings  world.Ordered[string] // "<principal>\x00<name>" -> value
	providers world.Ordered[*provider]
	tokens    world.Ordered[token] // by "<operation> <cluster> <token>"
	families  world.Ordered[*family]
}

func stateOf(tx *world.Tx) *state { return world.PrivateState[state](tx.Region, "ecs") }

// runStep runs f as one step on the caller's Region.
func runStep[O any](ctx context.Context, s *Service, f func(*world.Tx) (*O, error)) (*O, error) {
	var out *O
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) (err error) {
		out, err = f(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
