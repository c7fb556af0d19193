package route_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
)

// routes is a driver over routes in memory.
type routes []route.Route

func (r routes) Routes(context.Context) ([]route.Route, error) {
	return append([]route.Route(nil), r...), nil
}

func (r routes) SetWeights(_ context.Context, _ sluice.Act, p route.Route, to sluice.Weights) error {
	for i := range r {
		if r[i].ID == p.ID {
			r[i].Weights = to
		}
	}
	return nil
}

func (r routes) FingerprintAfter(_ route.Route, to sluice.Weights) string { return to.String() }

// Another process has set one of two rules to the primary alone: it names no canary that could get a share.
func TestNothingIsWrittenIfOneRouteIsFixed(t *testing.T) {
	all, _ := sluice.NewWeights(100, 0)
	reason := errors.New("rule 20 names no canary")
	live := routes{{ID: "1", Weights: all}, {ID: "2", Weights: all, Fixed: reason}}
	router := route.Router{Driver: live}

	to, _ := sluice.NewWeights(90, 10)
	if _, err := router.Shift(t.Context(), nil, to); !errors.Is(err, reason) {
		t.Errorf("Shift to %s: %v, want %v", to, err, reason)
	}
	if live[0].Weights != all {
		t.Errorf("The first route has %s, although the second one cannot get %s", live[0].Weights, to)
	}
	if _, err := router.Shift(t.Context(), nil, all); err != nil {
		t.Errorf("Shift to %s, which both routes have: %v", all, err)
	}
}
