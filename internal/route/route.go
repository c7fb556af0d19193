// Package route moves traffic between the two variants of a service.
//
// [Router] has the rules that every access type shares: read, write only what differs, read again,
// and report a shift only after it was read back. A [Driver] knows one access type; packages alb
// and cloudmap implement one each. The package does not check whether the variant that gets traffic
// is healthy: stages do so before they call it.
//
// Start reading at [Router.Shift].
package route

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// ErrMismatch is in the tree of the error of a shift that was written but that AWS does not return.
var ErrMismatch = errors.New("AWS shows")

// ReadTwice reads again after confirm if the first read returns that the resource does not exist,
// because one response may be outdated. If confirm is nil, one read is enough.
func ReadTwice[T any](ctx context.Context, confirm func(context.Context) error, read func() (T, error)) (T, error) {
	v, err := read()
	if sluice.KindOf(err) != sluice.NotFound || confirm == nil {
		return v, err
	}
	if err := confirm(ctx); err != nil {
		return v, err
	}
	return read()
}

// Route is one route of requests to the service: a listener rule or a Cloud Map name.
type Route struct {
	ID          string         // the ARN of the rule
	Name        string         // for people: "rule 10 of port 80"
	Weights     sluice.Weights // actual; not Valid if they are not whole percentages
	Fingerprint string         // fingerprint of everything the driver would write
	Fixed       error          // why it cannot get other weights; nil: it can
}

// Driver shifts the traffic of one access type.
type Driver interface {
	// Routes reads the routes that carry both variants, in a stable order. If there is none, it
	// returns an error with a next step.
	Routes(ctx context.Context) ([]Route, error)
	// SetWeights writes weights to one route of the last Routes and changes nothing else on it.
	SetWeights(ctx context.Context, act sluice.Act, p Route, to sluice.Weights) error
	// FingerprintAfter returns the fingerprint that the route has after SetWeights has written to.
	FingerprintAfter(p Route, to sluice.Weights) string
}

// Router applies the shared rules with a driver.
type Router struct {
	Driver Driver
	// Check is called before each write to a route, with the fingerprint that the route will have.
	// An error stops the shift. If Check is nil, there is no check.
	Check func(ctx context.Context, p Route, intent string) error
}

// Shift is the result of [Router.Shift].
type Shift struct {
	From    sluice.Weights // not Valid if the routes differed
	Written []string       // IDs of the changed routes
	Routes  []Route        // as read back
}

// Shift sets the weights of every route and reads the routes back. It does not write routes that
// have the weights already.
func (r Router) Shift(ctx context.Context, act sluice.Act, to sluice.Weights) (Shift, error) {
	before, err := r.readRoutes(ctx, to)
	if err != nil {
		return Shift{}, err
	}
	done := Shift{From: commonWeights(before)}
	for _, p := range before {
		if r.isAt(p, to) {
			continue
		}
		if err := r.setWeights(ctx, act, p, to); err != nil {
			return done, err
		}
		done.Written = append(done.Written, p.ID)
	}
	done.Routes, err = r.readBack(ctx, to)
	return done, err
}

// isAt reports whether the route has the weights, or is as close to them as possible.
func (r Router) isAt(p Route, to sluice.Weights) bool {
	return p.Weights == to || p.Fixed == nil && r.Driver.FingerprintAfter(p, to) == p.Fingerprint
}

func weightsText(w sluice.Weights) string {
	if !w.Valid() {
		return "other weights"
	}
	return w.String()
}

// readRoutes reads the routes. It returns the reason if one of them cannot get the weights, so that none is written.
func (r Router) readRoutes(ctx context.Context, to sluice.Weights) ([]Route, error) {
	routes, err := r.Driver.Routes(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range routes {
		if p.Fixed != nil && !r.isAt(p, to) {
			return routes, p.Fixed
		}
	}
	return routes, nil
}

func (r Router) setWeights(ctx context.Context, act sluice.Act, p Route, to sluice.Weights) error {
	if r.Check != nil {
		if err := r.Check(ctx, p, r.Driver.FingerprintAfter(p, to)); err != nil {
			return err
		}
	}
	return r.Driver.SetWeights(ctx, act, p, to)
}

// readBack reads the routes again: a weight that AWS does not return is not set.
func (r Router) readBack(ctx context.Context, to sluice.Weights) ([]Route, error) {
	after, err := r.readRoutes(ctx, to)
	if err != nil {
		return after, err
	}
	for _, p := range after {
		if r.isAt(p, to) {
			continue
		}
		return after, &sluice.Error{
			Op: "read back the traffic shift", Resource: p.ID, Kind: sluice.OutsideChange,
			Err:  fmt.Errorf("requested %s, %w %s on %s", to, ErrMismatch, weightsText(p.Weights), p.Name),
			Next: "stop other processes that write to the same route, then run sluice resume",
		}
	}
	return after, nil
}

func commonWeights(paths []Route) sluice.Weights {
	var w sluice.Weights
	for i, p := range paths {
		if i > 0 && p.Weights != w {
			return sluice.Weights{}
		}
		w = p.Weights
	}
	return w
}
