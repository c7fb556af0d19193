package autoscaling

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestSettle(t *testing.T) {
	in, none, all := sluice.Suspension{In: true}, sluice.Suspension{}, sluice.AllSuspended
	at := func(lo, hi int, s sluice.Suspension) sluice.Scalable {
		return sluice.Scalable{Dimension: "d", Min: lo, Max: hi, Suspended: s}
	}
	for name, c := range map[string]struct {
		now, ours, goal, to sluice.Scalable
		foreign             string
	}{
		"as we left it":      {at(2, 8, all), at(2, 8, all), at(2, 8, in), at(2, 8, in), ""},
		"given back already": {at(2, 8, in), at(2, 8, all), at(2, 8, in), at(2, 8, in), ""},
		"resumed by somebody": {at(2, 8, none), at(2, 8, all), at(2, 8, in), at(2, 8, none),
			`suspended is "none", not "in, out, scheduled"`},
		"bounds that we left, changed": {at(3, 9, all), at(2, 8, all), at(2, 8, none), at(3, 9, none), ""},
		"bounds that we set":           {at(4, 9, none), at(4, 9, none), at(2, 8, none), at(2, 8, none), ""},
		"a bound that we set, changed": {at(5, 9, none), at(4, 9, none), at(2, 8, none), at(5, 8, none),
			"the minimum is 5, not 4"},
		"a maximum that we set, changed": {at(4, 7, none), at(4, 9, none), at(4, 8, none), at(4, 7, none),
			"the maximum is 7, not 9"},
		"suspended before, by somebody":    {at(2, 8, all), at(2, 8, all), at(2, 8, all), at(2, 8, all), ""},
		"suspended before, resumed by one": {at(2, 8, none), at(2, 8, all), at(2, 8, all), at(2, 8, none), ""},
	} {
		to, foreign := ChooseTarget(c.now, c.ours, c.goal)
		if to != c.to || strings.Join(foreign, "; ") != c.foreign {
			t.Errorf("%s: %+v, %q", name, to, foreign)
		}
		if again, _ := ChooseTarget(to, c.ours, c.goal); again != to {
			t.Errorf("%s: a second time it becomes %+v", name, again)
		}
	}
}

func TestUndone(t *testing.T) {
	was := sluice.Scalable{Min: 2, Max: 8}
	ours := sluice.Scalable{Min: 3, Max: 8, Suspended: sluice.AllSuspended}
	if got := ExternalChanges(ours, was, ours); got != nil {
		t.Errorf("nothing was undone: %q", got)
	}
	now := sluice.Scalable{Min: 2, Max: 20, Suspended: sluice.Suspension{Out: true}}
	if got := strings.Join(ExternalChanges(now, was, ours),
		"; "); got != `suspended is "out", not "in, out, scheduled"; the minimum is 2, not 3` {
		t.Errorf("%s", got)
	}
}

// Each bound that was set is compared by itself: one that others change is named, and
// one that was left as it was is not.
func TestEachBoundIsComparedByItself(t *testing.T) {
	was := sluice.Scalable{Min: 2, Max: 8}
	for name, c := range map[string]struct {
		ours, now sluice.Scalable
		want      string
	}{
		"the maximum that was set": {sluice.Scalable{Min: 2, Max: 12}, sluice.Scalable{Min: 2, Max: 10},
			"the maximum is 10, not 12"},
		"the minimum that was set": {sluice.Scalable{Min: 4, Max: 8}, sluice.Scalable{Min: 3, Max: 8},
			"the minimum is 3, not 4"},
		"both": {sluice.Scalable{Min: 4, Max: 12}, sluice.Scalable{Min: 3, Max: 10},
			"the minimum is 3, not 4; the maximum is 10, not 12"},
		"the maximum that was left": {sluice.Scalable{Min: 4, Max: 8}, sluice.Scalable{Min: 4, Max: 10}, ""},
		"the minimum that was left": {sluice.Scalable{Min: 2, Max: 12}, sluice.Scalable{Min: 3, Max: 12}, ""},
	} {
		if got := strings.Join(ExternalChanges(c.now, was, c.ours), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
