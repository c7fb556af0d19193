// Package route moves traffic between the two variants of a service.
//
// [Router] holds the rules that every access type shares: look, write only what
// differs, look again, and never claim a shift that was not read back. A
// [Driver] knows one access type; alb is the first. The package does not ask
// whether the side that gets traffic is healthy: stages do, before they call it.
//
// Start reading at [Router.Shift].
package route

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// ErrOtherwise is in the tree of the error of a shift that was written and is not
// what AWS shows.
var ErrOtherwise = errors.New("AWS shows")

// Twice reads again after confirm if a read says that what it reads does not exist: one
// answer may be of another time. Nil: one read is enough.
func Twice(ctx context.Context, confirm func(context.Context) error, read func() error) error {
	err := read()
	if sluice.KindOf(err) != sluice.NotFound || confirm == nil {
		return err
	}
	if err := confirm(ctx); err != nil {
		return err
	}
	return read()
}

// Path is one way on which requests reach the service: a listener rule, a name.
type Path struct {
	ID      string         // the ARN of the rule
	Name    string         // for people: "rule 10 of port 80"
	Weights sluice.Weights // live; not Valid if they are no whole percentages
	Print   string         // fingerprint of everything the driver would write
}

// Driver steers one access type.
type Driver interface {
	// Paths reads the paths that carry both variants, in a stable order.
	// No path at all is an error that says what to do.
	Paths(ctx context.Context) ([]Path, error)
	// Set writes weights to one path of the last Paths and keeps everything
	// else on it.
	Set(ctx context.Context, act sluice.Act, p Path, to sluice.Weights) error
	// Intent is the fingerprint that the path will have once Set has written to.
	Intent(p Path, to sluice.Weights) string
}

// Router applies the shared rules over a driver.
type Router struct {
	Driver Driver
	// Check is asked for each path before it is written, with the fingerprint
	// that it will have; an error stops the shift. Nil: nothing is asked.
	Check func(ctx context.Context, p Path, intent string) error
}

// Shift is what a call of [Router.Shift] did.
type Shift struct {
	From, To sluice.Weights // From is not Valid if the paths disagreed
	Written  []string       // IDs of the paths that were changed
	Paths    []Path         // as read back
}

// Shift brings every path to the weights and reads them back. Paths that have
// them already are not written.
func (r Router) Shift(ctx context.Context, act sluice.Act, to sluice.Weights) (Shift, error) {
	before, err := r.Driver.Paths(ctx)
	if err != nil {
		return Shift{}, err
	}
	done := Shift{From: common(before), To: to}
	for _, p := range before {
		if r.at(p, to) {
			continue
		}
		if err := r.set(ctx, act, p, to); err != nil {
			return done, err
		}
		done.Written = append(done.Written, p.ID)
	}
	done.Paths, err = r.verify(ctx, to)
	return done, err
}

// at reports whether the path has the weights, or is as near to them as it can be.
func (r Router) at(p Path, to sluice.Weights) bool {
	return p.Weights == to || r.Driver.Intent(p, to) == p.Print
}

func shown(w sluice.Weights) string {
	if !w.Valid() {
		return "something else"
	}
	return w.String()
}

func (r Router) set(ctx context.Context, act sluice.Act, p Path, to sluice.Weights) error {
	if r.Check != nil {
		if err := r.Check(ctx, p, r.Driver.Intent(p, to)); err != nil {
			return err
		}
	}
	return r.Driver.Set(ctx, act, p, to)
}

// verify reads the paths back: a weight that AWS does not show was not set.
func (r Router) verify(ctx context.Context, to sluice.Weights) ([]Path, error) {
	after, err := r.Driver.Paths(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range after {
		if !r.at(p, to) {
			return after, &sluice.Error{
				Op: "read back the traffic shift", Resource: p.ID, Kind: sluice.OutsideChange,
				Err:  fmt.Errorf("asked for %s, %w %s on %s", to, ErrOtherwise, shown(p.Weights), p.Name),
				Next: "somebody else may be writing to the same place; stop that, then run sluice resume",
			}
		}
	}
	return after, nil
}

func common(paths []Path) sluice.Weights {
	var w sluice.Weights
	for i, p := range paths {
		if i > 0 && p.Weights != w {
			return sluice.Weights{}
		}
		w = p.Weights
	}
	return w
}
