// Package routetest is the test suite of every driver of package route. It tests what a driver must
// do so that stages, rollback and resume work correctly with it. A driver that passes can be used
// in package stage.
//
// A test needs an environment with both variants running and all traffic on the primary. It checks
// the traffic that callers get and does not check how the driver works.
//
// Start reading at [Fixture] and [Run].
package routetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
)

// Fixture is an environment with a service of two variants, all traffic on the primary, and a
// driver for it.
type Fixture struct {
	// Open returns a new driver without any state of an earlier one, as after a kill.
	Open func() route.Driver
	// Share returns the current share of the canary in percent for new callers.
	Share func() float64
	// Tolerance is how far a share may be from the requested one, in percent.
	Tolerance float64
	// Unrelated returns, as text, everything that the driver must not change.
	Unrelated func() string
	// ChangeOutside shifts traffic without the driver, with the same API.
	ChangeOutside func()
	// Written returns the number of writes so far, of all actors.
	Written func() int
}

// weightSteps are the weights of a canary, from its start to the rollback.
var weightSteps = []int{10, 25, 50, 100, 50, 0}

// Run runs the suite on drivers. with creates a new environment and runs f in it.
func Run(t *testing.T, with func(t *testing.T, f func(t *testing.T, s Fixture))) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Fixture)
	}{
		{"a shift is what callers see", testShift},
		{"a second shift writes nothing", testRepeat},
		{"the intent is what is there afterwards", testFingerprint},
		{"nothing is written where the check says no", testCheck},
		{"a write that is refused claims nothing", testRefusal},
		{"a lost reply does no harm", testLostReply},
		{"what somebody else did meanwhile is not claimed", testOutsideChange},
		{"a new driver ends what another began", testResume},
	} {
		t.Run(c.name, func(t *testing.T) { with(t, c.run) })
	}
}

// runWrite makes every requested write.
func runWrite(ctx context.Context, _ sluice.Attempt, call func(context.Context) (string, error)) error {
	_, err := call(ctx)
	return err
}

// failAfter makes n writes and fails the others; asked counts all of them.
func failAfter(n int, asked *int, then error) sluice.Act {
	return func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		*asked++
		if *asked > n {
			return then
		}
		return runWrite(ctx, a, call)
	}
}

func testShift(t *testing.T, s Fixture) {
	r, before := route.Router{Driver: s.Open()}, s.Unrelated()
	s.checkShare(t, 0)
	for i, percent := range weightSteps {
		done, err := r.Shift(context.Background(), runWrite, sluice.CanaryShare(percent))
		if err != nil {
			t.Fatalf("to %d%%: %v", percent, err)
		}
		if i == 0 && done.From != sluice.CanaryShare(0) || len(done.Written) == 0 || len(done.Routes) == 0 {
			t.Errorf("to %d%%: returned %+v", percent, done)
		}
		s.checkShare(t, percent)
	}
	if now := s.Unrelated(); now != before {
		t.Errorf("other resources were changed:\n%s\nwas:\n%s", now, before)
	}
}

func (s Fixture) checkShare(t *testing.T, percent int) {
	t.Helper()
	if got := s.Share(); math.Abs(got-float64(percent)) > s.Tolerance {
		t.Fatalf("callers see %.1f%% of canary, requested were %d%%", got, percent)
	}
}

func testRepeat(t *testing.T, s Fixture) {
	for _, percent := range weightSteps {
		to := sluice.CanaryShare(percent)
		if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), runWrite, to); err != nil {
			t.Fatal(err)
		}
		n := s.Written()
		done, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), runWrite, to)
		if err != nil || len(done.Written) > 0 || s.Written() != n {
			t.Fatalf("the second shift to %d%% made %d writes: %+v (%v)", percent, s.Written()-n, done, err)
		}
	}
}

func testFingerprint(t *testing.T, s Fixture) {
	d := s.Open()
	for _, percent := range weightSteps {
		to := sluice.CanaryShare(percent)
		want := map[string]string{}
		for _, p := range readRoutes(t, d) {
			want[p.ID] = d.FingerprintAfter(p, to)
		}
		if _, err := (route.Router{Driver: d}).Shift(context.Background(), runWrite, to); err != nil {
			t.Fatal(err)
		}
		for _, p := range readRoutes(t, d) {
			if p.Fingerprint != want[p.ID] {
				t.Errorf("%s at %d%% has another fingerprint than intended", p.Name, percent)
			}
		}
	}
}

func readRoutes(t *testing.T, d route.Driver) []route.Route {
	t.Helper()
	all, err := d.Routes(context.Background())
	if err != nil || len(all) == 0 {
		t.Fatalf("%d routes: %v", len(all), err)
	}
	for _, p := range all {
		if p.ID == "" || p.Name == "" || p.Fingerprint == "" {
			t.Fatalf("a route is incomplete: %+v", p)
		}
	}
	return all
}

func testCheck(t *testing.T, s Fixture) {
	no := errors.New("an external change")
	r := route.Router{Driver: s.Open(), Check: func(context.Context, route.Route, string) error { return no }}
	n := s.Written()
	if _, err := r.Shift(context.Background(), runWrite, sluice.CanaryShare(50)); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
	s.checkShare(t, 0)
	if s.Written() != n {
		t.Error("something was written")
	}
}

func testRefusal(t *testing.T, s Fixture) {
	no, asked := errors.New("refused"), 0
	done, err := route.Router{Driver: s.Open()}.Shift(context.Background(), failAfter(0, &asked, no),
		sluice.CanaryShare(50))
	if !errors.Is(err, no) || len(done.Routes) > 0 || asked != 1 {
		t.Errorf("%+v after %d writes (%v)", done, asked, err)
	}
	s.checkShare(t, 0)
}

// testLostReply tests a first write that takes effect and whose response is lost.
func testLostReply(t *testing.T, s Fixture) {
	first := true
	act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		err := runWrite(ctx, a, call)
		if err == nil && first {
			first = false
			return fmt.Errorf("no reply: %w", sluice.ErrUnanswered)
		}
		return err
	}
	to := sluice.CanaryShare(50)
	if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), act, to); err != nil &&
		!errors.Is(err, sluice.ErrUnanswered) {
		t.Fatal(err)
	}
	if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), runWrite, to); err != nil {
		t.Fatal(err)
	}
	s.checkShare(t, 50)
}

// testOutsideChange tests a write by another actor after the driver's last write.
func testOutsideChange(t *testing.T, s Fixture) {
	writes := 0
	for _, percent := range []int{50, 0} {
		asked := 0
		if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), failAfter(math.MaxInt, &asked, nil),
			sluice.CanaryShare(percent)); err != nil {
			t.Fatal(err)
		}
		if percent == 50 {
			writes = asked
		}
	}
	s.changeDuring(t, writes)
}

func (s Fixture) changeDuring(t *testing.T, last int) {
	asked := 0
	act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		if asked++; asked == last {
			defer s.ChangeOutside()
		}
		return runWrite(ctx, a, call)
	}
	done, err := route.Router{Driver: s.Open()}.Shift(context.Background(), act, sluice.CanaryShare(50))
	if err == nil {
		t.Errorf("a shift that an external change reverted is reported as done: %+v", done)
	}
	if sluice.NextStep(err) == "" {
		t.Errorf("the error has no next step: %v", err)
	}
}

// testResume tests that a new driver completes the shift after a kill at each write.
func testResume(t *testing.T, s Fixture) {
	killed := errors.New("killed")
	for n := 0; ; n++ {
		asked := 0
		_, err := route.Router{Driver: s.Open()}.Shift(context.Background(), failAfter(n, &asked, killed),
			sluice.CanaryShare(50))
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		for _, percent := range []int{50, 0} {
			if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), runWrite,
				sluice.CanaryShare(percent)); err != nil {
				t.Fatalf("killed after %d writes, then to %d%%: %v", n, percent, err)
			}
			s.checkShare(t, percent)
		}
		if asked <= n {
			return
		}
	}
}
