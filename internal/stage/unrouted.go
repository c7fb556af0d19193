package stage

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// noTraffic is the traffic provider of a service without callers, such as a worker that reads from
// a queue. It has no shares, and a plan cannot ask for any.
type unrouted struct{}

func (unrouted) remember(context.Context, *Former) error     { return nil }
func (unrouted) heed(context.Context) error                  { return nil }
func (unrouted) differs(context.Context) (bool, error)       { return false, nil }
func (unrouted) weight(sluice.Variant) (int, bool)           { return 0, true }
func (unrouted) begin(context.Context) error                 { return nil }
func (unrouted) attach(sluice.Variant) ecs.Attachment        { return ecs.Attachment{} }
func (unrouted) ready(context.Context) error                 { return nil }
func (unrouted) sends(context.Context) (bool, error)         { return false, nil }
func (unrouted) seize(context.Context) error                 { return nil }
func (unrouted) settle(context.Context) error                { return nil }
func (unrouted) part(context.Context, []member) error        { return nil }
func (unrouted) tend(context.Context) error                  { return nil }
func (unrouted) left(context.Context, *watched) (int, error) { return 0, nil }
func (unrouted) reshape(context.Context) error               { return nil }
func (unrouted) spare(context.Context) error                 { return nil }
func (unrouted) exposed(context.Context) (bool, error)       { return false, nil }
func (unrouted) restore(context.Context) error               { return nil }
func (unrouted) released(context.Context, member) error      { return nil }

func (unrouted) see(context.Context, *watched, *verdict.Observation) error { return nil }

func (unrouted) announce(context.Context, sluice.Weights) error { return errUnrouted }

func (unrouted) shift(context.Context, sluice.Weights) error { return errUnrouted }

var errUnrouted = errors.New("nobody calls the service: there are no shares to move")
