// Package ecs is Amazon ECS's API over the simulated world: clusters, capacity
// providers, account settings, task definitions, services, task sets, tasks,
// tags. Controllers EXTERNAL, CODE_DEPLOY, and ECS with rolling updates.
//
// The room checks input, calls the scheduler's verbs and shapes output; what
// ECS does over time is the scheduler's. Shapes are the SDK's own. What no law
// reads is kept on the object (its Doc) and echoed; nothing that is kept or
// returned points into a request or into the world.
//
// It does not simulate container instances (tasks of launch type EC2 run on
// instances that are always there and never shown), the native progressive
// strategies, daemons, Service Connect, VPC Lattice, EBS volumes and task
// protection; those are refused in words, or answered as unknown operations.
// FIDELITY.part.md lists what follows which AWS page.
//
// Start reading at [New] and call, then taskset.go and service_create.go.
package ecs

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room. Its methods of the form
// func(ctx, *awsecs.XInput) (*awsecs.XOutput, error) are ECS's operations; the
// account and Region are those of [world.KeyOf].
type Service struct {
	world *world.World
	law   *scheduler.Scheduler
}

// New makes the room and its law. Call it once per world, before the first step.
func New(w *world.World) *Service {
	s := &Service{world: w, law: scheduler.New(w)}
	w.Watch(layTaskDoc)
	return s
}

// Law is the scheduler under the room: the data plane tells it of exits, faults
// crash tasks through it.
func (s *Service) Law() *scheduler.Scheduler { return s.law }

// state is what the room keeps in one Region beside the world's facts.
type state struct {
	settings  world.Ordered[string] // "<principal>\x00<name>" -> value
	providers world.Ordered[*provider]
	tokens    world.Ordered[token] // by "<operation> <cluster> <token>"
	families  world.Ordered[*family]
}

func stateOf(tx *world.Tx) *state { return world.Room[state](tx.Region, "ecs") }

// call runs f as one step on the caller's Region.
func call[O any](ctx context.Context, s *Service, f func(*world.Tx) (*O, error)) (*O, error) {
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
