package analysis

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// start is the time of the first window in tests.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 424_511_387, time.UTC) }

// window is the counts of one minute.
func window(minute, canaryBad, canaryAll, primaryBad, primaryAll int) Window {
	return Window{From: start().Add(time.Duration(minute) * time.Minute),
		Canary:  Counts{int64(canaryBad), int64(canaryAll)},
		Primary: Counts{int64(primaryBad), int64(primaryAll)}}
}

// The gate remembers the latest windows one by one, and all that are older as one time: a window from before
// that time is not counted again.
func TestOldWindowsAreNotCountedAgain(t *testing.T) {
	var all []Window
	for i := range 4 * mostRuns { // distances that change need a run for each pair
		all = append(all, window(i*i, 1, 10, 1, 10))
	}
	g := Gate{Strategy: Sequential}
	s := g.See(State{}, Look{Windows: all})
	again := g.See(s, Look{Windows: append(all, window(-5, 1, 10, 1, 10))})
	if want := int64(len(all)); s.Counted.Windows != want || again.Counted.Windows != want || len(s.Counted.Seen.Runs) > mostRuns {
		t.Errorf("%d windows, then %d; want %d", s.Counted.Windows, again.Counted.Windows, want)
	}
}

// At most all requests of a window are bad: sources publish the two counts at different times.
func TestMoreBadThanAllIsAll(t *testing.T) {
	g := Gate{Strategy: Sequential}
	j := g.Judge(g.See(State{}, Look{Windows: []Window{window(0, 7, 5, 9, 3)}}))
	if j.Canary != (Counts{5, 5}) || j.Primary != (Counts{3, 3}) {
		t.Errorf("canary %v, primary %v; want 5 of 5 and 3 of 3", j.Canary, j.Primary)
	}
}

// Without a series of bad requests, no failure is no good evidence: the name of the metric may be wrong.
// One point of the series is enough, of either variant.
func TestWithoutBadSeriesIsNotGood(t *testing.T) {
	good := repeat(40, window(0, 0, 1000, 0, 4000))
	g := Gate{Strategy: Sequential, Max: .01}
	without := g.See(State{}, Look{At: start(), Windows: good, NoBadSeries: true})
	if j := g.JudgeAtEnd(without); j.Verdict != Undecided || !strings.Contains(j.Reason, "has no series") || j.HasValues {
		t.Errorf("without the series: %s, %q", j.Verdict, j.Reason)
	}
	empty := g.See(without, Look{At: start().Add(time.Second)})
	if j := g.Judge(empty); j.Verdict != Undecided {
		t.Errorf("after a reading without windows: %s", j.Verdict)
	}
	with := g.See(without, Look{At: start().Add(time.Minute), Windows: good[:1]})
	if j := g.Judge(with); j.Verdict != Good {
		t.Errorf("with the series: %s, %q", j.Verdict, j.Reason)
	}
	again := g.See(with, Look{At: start().Add(2 * time.Minute), NoBadSeries: true})
	if j := g.Judge(again); j.Verdict != Good {
		t.Errorf("the series had points before: %s, %q", j.Verdict, j.Reason)
	}
	bad := g.See(State{}, Look{Windows: repeat(40, window(0, 0, 0, 0, 100)), NoBadSeries: true})
	if j := g.JudgeAtEnd(bad); j.HasValues {
		t.Error("a gate has values, although the canary got no request")
	}
}

// repeat is the same counts in each of n minutes.
func repeat(n int, w Window) (all []Window) {
	for i := range n {
		w.From = start().Add(time.Duration(i) * time.Minute)
		all = append(all, w)
	}
	return all
}

func judge(g Gate, windows ...Window) Judgement {
	g.Strategy = Sequential
	return g.Judge(g.See(State{}, Look{Windows: windows}))
}

func TestSequentialVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		gate    Gate
		windows []Window
		want    Verdict
	}{
		"three times as many failures":   {Gate{}, repeat(20, window(0, 3, 60, 9, 540)), Bad},
		"the margin accepts three times": {Gate{Worse: 3}, repeat(20, window(0, 3, 60, 9, 540)), Undecided},
		"as many failures":               {Gate{}, repeat(20, window(0, 1, 60, 9, 540)), Good},
		"failures of the primary only":   {Gate{}, repeat(20, window(0, 0, 60, 9, 540)), Good},
		"no failures":                    {Gate{}, repeat(20, window(0, 0, 60, 0, 540)), Undecided},
		"no failures, with max":          {Gate{Max: .01}, repeat(7, window(0, 0, 60, 0, 540)), Good},
		"too few requests for max":       {Gate{Max: .01}, repeat(4, window(0, 0, 60, 0, 540)), Undecided},
		"more than max":                  {Gate{Max: .01}, repeat(20, window(0, 3, 60, 27, 540)), Bad},
		"more than max, as bad as the primary": {Gate{Max: .01, Worse: 1.5}, repeat(20, window(0, 3, 60, 27, 540)),
			Undecided},
		"less than max, worse than the primary": {Gate{Max: .5, Worse: 1.5}, repeat(20, window(0, 6, 60, 6, 540)), Bad},
		"all failures in one minute": {Gate{}, append(repeat(9, window(0, 0, 60, 0, 540)),
			window(9, 20, 60, 0, 540)), Undecided},
		"all failures in two minutes": {Gate{}, append(repeat(9, window(0, 0, 60, 0, 540)),
			window(9, 20, 60, 0, 540), window(10, 20, 60, 0, 540)), Undecided},
		"more than half fail in one minute": {Gate{}, []Window{window(0, 31, 60, 0, 540)}, Bad},
		"half fail in one minute":           {Gate{}, []Window{window(0, 30, 60, 0, 540)}, Undecided},
		"no requests of the primary":        {Gate{}, repeat(20, window(0, 30, 60, 0, 0)), Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			if j := judge(c.gate, c.windows...); j.Verdict != c.want {
				t.Errorf("%s, want %s: %s", j.Verdict, c.want, j.Text())
			}
		})
	}
}

// Alpha and beta set how much evidence the verdicts need.
func TestAlphaAndBeta(t *testing.T) {
	worse, better := repeat(3, window(0, 4, 60, 9, 540)), repeat(7, window(0, 0, 60, 0, 540))
	for _, c := range []struct {
		gate     Gate
		windows  []Window
		evidence [2]float64 // between these
		want     Verdict
	}{
		{Gate{}, worse, [2]float64{5, 99}, Undecided},
		{Gate{Alpha: .2}, worse, [2]float64{5, 99}, Bad},
		{Gate{Max: .01, Worse: 1.5}, better, [2]float64{1, 1}, Good},
		{Gate{Max: .01, Worse: 1.5, Beta: .001}, better, [2]float64{1, 1}, Undecided},
	} {
		j := judge(c.gate, c.windows...)
		if j.Verdict != c.want || j.Evidence < c.evidence[0] || j.Evidence > c.evidence[1] {
			t.Errorf("%+v: %s, want %s: %s", c.gate, j.Verdict, c.want, j.Text())
		}
	}
}

// The early pass waits while the canary may be worse than the primary, even if its share is below max.
func TestEarlyPassWaitsForDoubts(t *testing.T) {
	windows := repeat(3, window(0, 1, 150, 0, 850))
	j := judge(Gate{Max: .2, Worse: 1.5}, windows...)
	if j.PassEvidence < j.PassNeeded || j.Evidence < 10 || j.Evidence >= 100 {
		t.Fatalf("the case does not fit: %+v", j)
	}
	if j.Verdict != Undecided {
		t.Errorf("%s: %s", j.Verdict, j.Text())
	}
	if j := judge(Gate{Max: .2, Worse: 1.5}, windows[0]); j.Verdict != Good {
		t.Errorf("without doubts: %s: %s", j.Verdict, j.Text())
	}
}

// The share of the canary changes with the rate of failures: 90 % of the canary's requests come while both
// variants fail often. Each window alone shows equal variants, and the sums show a canary four times as bad.
func TestEachWindowHasItsOwnShare(t *testing.T) {
	var windows []Window
	for i := range 30 {
		windows = append(windows, window(2*i, 1, 100, 9, 900), window(2*i+1, 90, 900, 10, 100))
	}
	j := judge(Gate{}, windows...)
	if j.Odds < 4 {
		t.Errorf("odds %v: the sums should mislead", j.Odds)
	}
	if j.Verdict != Good || j.Evidence > 1 {
		t.Errorf("%s: %s", j.Verdict, j.Text())
	}
}

// randomWindows draws windows, some of them twice, some without requests.
func randomWindows(t *rapid.T) []Window {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Window {
		w := window(rapid.IntRange(0, 40).Draw(t, "minute"), 0, 0, 0, 0)
		for _, c := range []*Counts{&w.Canary, &w.Primary} {
			all := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1e9)).Draw(t, "all")
			*c = Counts{rapid.Int64Range(0, all).Draw(t, "bad"), all}
		}
		return w
	}), 0, 60).Draw(t, "windows")
}

func randomGate(t *rapid.T) Gate {
	return Gate{Strategy: Sequential, Worse: rapid.SampledFrom([]float64{0, 1, 1.5, 4}).Draw(t, "worse"),
		Max: rapid.SampledFrom([]float64{0, .01, .5}).Draw(t, "max")}
}

// resumed is a state that was saved and read again.
func resumed(t *rapid.T, s State) (r State) {
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A gate that is saved and read again after random looks ends with exactly the state of one that was not.
func TestStateSurvivesAResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, windows := randomGate(t), randomWindows(t)
		var through, saved State
		for i, w := range windows {
			look := Look{At: start().Add(time.Duration(i) * time.Minute), Windows: []Window{w}}
			before := resumed(t, through)
			through, saved = g.See(through, look), g.See(saved, look)
			if rapid.Bool().Draw(t, "resume") {
				saved = resumed(t, saved)
			}
			if again := g.See(before, look); !reflect.DeepEqual(again, through) {
				t.Fatal("See changed the state that it was given")
			}
		}
		if !reflect.DeepEqual(through, saved) {
			t.Fatalf("%+v\n%+v", through.Counted, saved.Counted)
		}
		if !reflect.DeepEqual(g.Judge(through), g.Judge(saved)) {
			t.Fatal(g.Judge(through), g.Judge(saved))
		}
	})
}

// Neither the order of windows nor how looks divide them matters, and a window that comes again is ignored.
func TestOrderOfWindowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGate(t)
		byTime := map[time.Time]Window{}
		for _, w := range randomWindows(t) {
			byTime[w.From] = w
		}
		var windows []Window
		for _, w := range byTime {
			windows = append(windows, w)
		}
		one := g.See(State{}, Look{Windows: windows})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		random.Shuffle(len(windows), func(i, j int) { windows[i], windows[j] = windows[j], windows[i] })
		var other State
		for i, w := range windows {
			twice := []Window{w, windows[random.IntN(i+1)]}
			twice[1].Canary.Bad = twice[1].Canary.All // published again, and changed
			other = g.See(other, Look{Windows: twice})
		}
		if len(windows) > 0 && !reflect.DeepEqual(one.Counted, other.Counted) {
			t.Fatalf("%+v\n%+v", one.Counted, other.Counted)
		}
	})
}

func TestStateIsSmall(t *testing.T) {
	g := Gate{Strategy: Sequential}
	random := rand.New(rand.NewPCG(1, 1))
	var s State
	for i := range 24 * 60 {
		if random.IntN(3) > 0 { // a service with few requests
			continue
		}
		s = g.See(s, Look{At: start().Add(time.Duration(i) * time.Minute), Windows: []Window{window(i, 1, 60, 9, 540)}})
	}
	text, err := json.Marshal(s)
	if err != nil || len(text) > 2500 {
		t.Errorf("%d bytes: %s, %v", len(text), text, err)
	}
	regular := g.See(State{}, Look{Windows: repeat(24*60, window(0, 1, 60, 9, 540))})
	text, err = json.Marshal(regular)
	if err != nil || len(text) > 1000 {
		t.Errorf("%d bytes: %s, %v", len(text), text, err)
	}
}

func TestTextOfSequential(t *testing.T) {
	windows := append(repeat(10, window(0, 0, 51, 0, 500)), window(10, 2, 34, 2, 171), window(11, 2, 34, 1, 170),
		window(12, 2, 34, 1, 170))
	j := judge(Gate{}, windows...)
	want := "canary 6/612 0.98 %  primary 4/5,511 0.07 %  odds 13.6  evidence 8.1 of 100"
	if j.Text() != want {
		t.Errorf("%s\nwant %s", j.Text(), want)
	}
	bad := judge(Gate{}, repeat(20, window(0, 3, 60, 9, 540))...)
	if want := "60 of 1,200 requests of the canary are bad (5.00 %), and 180 of 10,800 of the primary (1.67 %): " +
		"odds above the accepted 1.5 times, the evidence is "; !strings.HasPrefix(bad.Reason, want) {
		t.Errorf("%s\nwant %s", bad.Reason, want)
	}
}

func TestTimeLeft(t *testing.T) {
	idle, slow := window(0, 0, 60, 0, 540), window(0, 0, 6, 0, 54)
	spread := append(repeat(4, idle), window(4, 9, 60, 0, 540), window(5, 9, 60, 0, 540))
	fast := []Window{idle, idle}
	fast[1].From = idle.From.Add(10 * time.Second)
	for name, c := range map[string]struct {
		gate        Gate
		windows     []Window
		least, most time.Duration
	}{
		"no window":                        {Gate{}, nil, 0, 0},
		"one window, with max":             {Gate{Max: .01}, repeat(1, idle), 4 * time.Minute, 7 * time.Minute},
		"one window, few requests":         {Gate{Max: .01}, repeat(1, slow), 50 * time.Minute, 70 * time.Minute},
		"one window, nothing failed":       {Gate{}, repeat(1, idle), time.Hour, 24 * time.Hour},
		"evidence that grows":              {Gate{}, repeat(3, window(0, 4, 60, 9, 540)), time.Minute, time.Hour},
		"good by and by":                   {Gate{}, repeat(3, window(0, 1, 60, 9, 540)), time.Minute, time.Hour},
		"no requests of the canary":        {Gate{}, repeat(3, window(0, 0, 0, 9, 540)), 0, 0},
		"failures in two of three windows": {Gate{}, spread, time.Minute, 5 * time.Minute},
		"decided":                          {Gate{}, repeat(20, window(0, 3, 60, 9, 540)), 0, 0},
		"windows of ten seconds":           {Gate{Max: .01}, fast, 40 * time.Second, 80 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if j := judge(c.gate, c.windows...); j.Left < c.least || j.Left > c.most {
				t.Errorf("left %v, want %v to %v: %s", j.Left, c.least, c.most, j.Text())
			}
		})
	}
}

// The time until a good release passes is estimated by its rates.
func TestEstimateBeforeAnyData(t *testing.T) {
	estimate := func(g Gate, r rates) time.Duration {
		g = g.withDefaults()
		return toDuration(minutesUntil(make([]logs, len(equalBets)), g.growthOfGood(r), 1/g.Beta))
	}
	withMax := Gate{Strategy: Sequential, Max: .01}
	for perMinute, want := range map[float64]time.Duration{6: 62 * time.Minute, 60: 372 * time.Second,
		600: 37 * time.Second} {
		if got := estimate(withMax, rates{perMinute, 9 * perMinute, 0}); got < want*9/10 || got > want*11/10 {
			t.Errorf("%v a minute: %v, want about %v", perMinute, got, want)
		}
	}
	if got := estimate(Gate{Strategy: Sequential}, rates{60, 540, .01}); got < 10*time.Minute || got > 40*time.Minute {
		t.Errorf("against the primary: %v", got)
	}
	if got := estimate(withMax, rates{0, 540, .01}); got != 0 {
		t.Errorf("without requests: %v", got)
	}
}
