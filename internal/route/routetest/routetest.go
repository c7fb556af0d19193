// Package routetest is the suite that every driver of package route passes: what
// a way of moving traffic must do so that stages, rollback and resume are right on
// it. A driver that passes it can be opened in package stage.
//
// It asks for a world with both variants up and all traffic on the primary, and
// for what callers then see; how the driver works is its own business.
//
// Start reading at [Stand] and [Run].
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

// Stand is a world with a service of two variants, all traffic on the primary,
// and a driver on it.
type Stand struct {
	// Open is a new driver that knows nothing of what an earlier one did, as after
	// a kill.
	Open func() route.Driver
	// Share is the canary's share in percent as new callers have it now.
	Share func() float64
	// Slack is how far a share may be from what is asked, in percent.
	Slack float64
	// Others is everything that is not the driver's to touch, as text.
	Others func() string
	// Meddle moves traffic behind the driver's back, by the API that it uses.
	Meddle func()
	// Written tells how many writes there were so far, whoever made them.
	Written func() int
}

// steps are the weights that a canary goes through, and the way back.
var steps = []int{10, 25, 50, 100, 50, 0}

// Run holds drivers to the suite. with opens a fresh world and runs f in it.
func Run(t *testing.T, with func(t *testing.T, f func(t *testing.T, s Stand))) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Stand)
	}{
		{"a shift is what callers see", shifts},
		{"a second shift writes nothing", twice},
		{"the intent is what is there afterwards", intent},
		{"nothing is written where the check says no", checked},
		{"a write that is refused claims nothing", refused},
		{"a lost reply does no harm", lost},
		{"what somebody else did meanwhile is not claimed", meddled},
		{"a new driver ends what another began", resumed},
	} {
		t.Run(c.name, func(t *testing.T) { with(t, c.run) })
	}
}

// free makes every write that it is asked for.
func free(ctx context.Context, _ sluice.Attempt, call func(context.Context) (string, error)) error {
	_, err := call(ctx)
	return err
}

// after makes n writes and fails the others; asked counts them all.
func after(n int, asked *int, then error) sluice.Act {
	return func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		*asked++
		if *asked > n {
			return then
		}
		return free(ctx, a, call)
	}
}

func shifts(t *testing.T, s Stand) {
	r, before := route.Router{Driver: s.Open()}, s.Others()
	s.near(t, 0)
	for i, percent := range steps {
		done, err := r.Shift(context.Background(), free, sluice.CanaryShare(percent))
		if err != nil {
			t.Fatalf("to %d%%: %v", percent, err)
		}
		if i == 0 && done.From != sluice.CanaryShare(0) || len(done.Written) == 0 || len(done.Paths) == 0 {
			t.Errorf("to %d%%: told %+v", percent, done)
		}
		s.near(t, percent)
	}
	if now := s.Others(); now != before {
		t.Errorf("what is not the driver's was changed:\n%s\nwas:\n%s", now, before)
	}
}

func (s Stand) near(t *testing.T, percent int) {
	t.Helper()
	if got := s.Share(); math.Abs(got-float64(percent)) > s.Slack {
		t.Fatalf("callers see %.1f%% of canary, asked for was %d%%", got, percent)
	}
}

func twice(t *testing.T, s Stand) {
	for _, percent := range steps {
		to := sluice.CanaryShare(percent)
		if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), free, to); err != nil {
			t.Fatal(err)
		}
		n := s.Written()
		done, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), free, to)
		if err != nil || len(done.Written) > 0 || s.Written() != n {
			t.Fatalf("the second shift to %d%% made %d writes: %+v (%v)", percent, s.Written()-n, done, err)
		}
	}
}

func intent(t *testing.T, s Stand) {
	d := s.Open()
	for _, percent := range steps {
		to := sluice.CanaryShare(percent)
		want := map[string]string{}
		for _, p := range paths(t, d) {
			want[p.ID] = d.Intent(p, to)
		}
		if _, err := (route.Router{Driver: d}).Shift(context.Background(), free, to); err != nil {
			t.Fatal(err)
		}
		for _, p := range paths(t, d) {
			if p.Print != want[p.ID] {
				t.Errorf("%s at %d%% has another print than was intended", p.Name, percent)
			}
		}
	}
}

func paths(t *testing.T, d route.Driver) []route.Path {
	t.Helper()
	all, err := d.Paths(context.Background())
	if err != nil || len(all) == 0 {
		t.Fatalf("%d paths: %v", len(all), err)
	}
	for _, p := range all {
		if p.ID == "" || p.Name == "" || p.Print == "" {
			t.Fatalf("a path is not told: %+v", p)
		}
	}
	return all
}

func checked(t *testing.T, s Stand) {
	no := errors.New("somebody else edited it")
	r := route.Router{Driver: s.Open(), Check: func(context.Context, route.Path, string) error { return no }}
	n := s.Written()
	if _, err := r.Shift(context.Background(), free, sluice.CanaryShare(50)); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
	s.near(t, 0)
	if s.Written() != n {
		t.Error("something was written")
	}
}

func refused(t *testing.T, s Stand) {
	no, asked := errors.New("refused"), 0
	done, err := route.Router{Driver: s.Open()}.Shift(context.Background(), after(0, &asked, no), sluice.CanaryShare(50))
	if !errors.Is(err, no) || len(done.Paths) > 0 || asked != 1 {
		t.Errorf("%+v after %d writes (%v)", done, asked, err)
	}
	s.near(t, 0)
}

// lost: the first write takes effect and its answer is lost.
func lost(t *testing.T, s Stand) {
	first := true
	act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		err := free(ctx, a, call)
		if err == nil && first {
			first = false
			return fmt.Errorf("no reply: %w", sluice.ErrUnanswered)
		}
		return err
	}
	to := sluice.CanaryShare(50)
	if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), act, to); err != nil && !errors.Is(err, sluice.ErrUnanswered) {
		t.Fatal(err)
	}
	if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), free, to); err != nil {
		t.Fatal(err)
	}
	s.near(t, 50)
}

// meddled: the driver's last write is followed by one of somebody else.
func meddled(t *testing.T, s Stand) {
	writes := 0
	for _, percent := range []int{50, 0} {
		asked := 0
		if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), after(math.MaxInt, &asked, nil), sluice.CanaryShare(percent)); err != nil {
			t.Fatal(err)
		}
		if percent == 50 {
			writes = asked
		}
	}
	s.spoil(t, writes)
}

func (s Stand) spoil(t *testing.T, last int) {
	asked := 0
	act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		if asked++; asked == last {
			defer s.Meddle()
		}
		return free(ctx, a, call)
	}
	done, err := route.Router{Driver: s.Open()}.Shift(context.Background(), act, sluice.CanaryShare(50))
	if err == nil {
		t.Errorf("a shift is claimed that somebody else undid: %+v", done)
	}
	if sluice.NextStep(err) == "" {
		t.Errorf("what to do is not said: %v", err)
	}
}

// resumed: killed after each write, a new driver brings the shift to its end.
func resumed(t *testing.T, s Stand) {
	killed := errors.New("killed")
	for n := 0; ; n++ {
		asked := 0
		_, err := route.Router{Driver: s.Open()}.Shift(context.Background(), after(n, &asked, killed), sluice.CanaryShare(50))
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		for _, percent := range []int{50, 0} {
			if _, err := (route.Router{Driver: s.Open()}).Shift(context.Background(), free, sluice.CanaryShare(percent)); err != nil {
				t.Fatalf("killed after %d writes, then to %d%%: %v", n, percent, err)
			}
			s.near(t, percent)
		}
		if asked <= n {
			return
		}
	}
}
