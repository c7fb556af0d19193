package routetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/routetest"
)

// proxy is somebody's own load balancer: it keeps one number per route, the
// canary's share in percent.
type proxy struct {
	share  map[string]int
	writes int
}

// driver steers the routes of a proxy: the smallest driver that passes the suite.
type driver struct{ at *proxy }

func (d driver) Routes(context.Context) ([]route.Route, error) {
	if len(d.at.share) == 0 {
		return nil, &sluice.Error{Op: "find the routes", Err: errors.New("the proxy has none"), Next: "add one"}
	}
	var all []route.Route
	for _, name := range []string{"/", "/admin"} { // in a stable order
		w := sluice.CanaryShare(d.at.share[name])
		all = append(all, route.Route{ID: name, Name: "route " + name, Weights: w, Fingerprint: fmt.Sprint(w)})
	}
	return all, nil
}

func (d driver) SetWeights(ctx context.Context, act sluice.Act, p route.Route, to sluice.Weights) error {
	w := sluice.Write{Operation: "proxy:SetShare", Resource: p.ID}
	return act(ctx, sluice.Attempt{Action: "route " + p.ID, Planned: w, Actual: w},
		func(context.Context) (string, error) {
			d.at.writes++
			d.at.share[p.ID] = to.Canary()
			return to.String(), nil
		})
}

func (driver) FingerprintAfter(_ route.Route, to sluice.Weights) string { return fmt.Sprint(to) }

func TestExampleDriver(t *testing.T) {
	routetest.Run(t, func(t *testing.T, f func(*testing.T, routetest.Fixture)) {
		p := &proxy{share: map[string]int{"/": 0, "/admin": 0}}
		f(t, routetest.Fixture{
			Open:          func() route.Driver { return driver{p} },
			Share:         func() float64 { return float64(p.share["/"]+p.share["/admin"]) / 2 },
			Unrelated:     func() string { return fmt.Sprint(len(p.share)) },
			ChangeOutside: func() { p.share["/"] = 7 },
			Written:       func() int { return p.writes },
		})
	})
}
