package analysis

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func number(f float64) *float64 { return &f }

// seeAll gives looks to a gate, one a minute.
func seeAll(g Gate, looks ...Look) State {
	var s State
	for i, l := range looks {
		l.At = start().Add(time.Duration(i+1) * time.Minute)
		s = g.See(s, l)
	}
	return s
}

// values are looks with these values, one value each.
func values(all ...float64) (looks []Look) {
	for _, v := range all {
		looks = append(looks, Look{Canary: []float64{v}})
	}
	return looks
}

// Looks of THRESHOLD pass and fail as in PipeCD. At the end, a gate that did not fail is good.
func TestThreshold(t *testing.T) {
	oneToTen := Gate{ExpectedMin: number(1), ExpectedMax: number(10)}
	limit := func(n int) Gate { g := oneToTen; g.FailureLimit = n; return g }
	problem := Look{Problem: "HTTP 503"}
	for name, c := range map[string]struct {
		gate     Gate
		looks    []Look
		now, end Verdict
	}{
		"no look":                           {oneToTen, nil, Undecided, Undecided},
		"all in range":                      {oneToTen, values(1, 5, 10), Undecided, Good},
		"one above":                         {oneToTen, values(1, 10.1, 10), Bad, Bad},
		"one below":                         {oneToTen, values(1, .9), Bad, Bad},
		"one of many values is out":         {oneToTen, []Look{{Canary: []float64{5, 5, 11, 5}}}, Bad, Bad},
		"as many failures as tolerated":     {limit(2), values(11, 5, 0, 5), Undecided, Good},
		"more failures than tolerated":      {limit(2), values(11, 5, 0, 5, 11), Bad, Bad},
		"a bad look with two values counts": {limit(1), []Look{{Canary: []float64{11, 12}}}, Undecided, Good},
		"no values":                         {oneToTen, []Look{{}, {}}, Undecided, Undecided},
		"not a number":                      {oneToTen, values(math.NaN(), math.NaN()), Undecided, Undecided},
		"infinity is above":                 {oneToTen, values(5, math.Inf(1)), Bad, Bad},
		"infinity is no minimum":            {Gate{ExpectedMax: number(1)}, values(math.Inf(-1)), Undecided, Good},
		"a third has values":                {oneToTen, []Look{{}, values(5)[0], {}}, Undecided, Undecided},
		"half has values":                   {oneToTen, []Look{{}, values(5)[0]}, Undecided, Good},
		"one good answer, then none":        {oneToTen, []Look{values(5)[0], problem, problem, problem}, Undecided, Undecided},
		"only a minimum":                    {Gate{ExpectedMin: number(1)}, values(1e300), Undecided, Good},
		"zero is a maximum":                 {Gate{ExpectedMax: number(0)}, values(.1), Bad, Bad},
		"a provider that does not answer":   {oneToTen, []Look{problem, problem}, Undecided, Undecided},
		"one answer":                        {oneToTen, []Look{problem, values(5)[0]}, Undecided, Good},
		"five problems in a row": {oneToTen, []Look{values(5)[0], problem, problem, problem, problem, problem},
			Undecided, Undecided},
		"problems, but an answer between": {oneToTen, []Look{problem, problem, problem, values(5)[0], problem, problem},
			Undecided, Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeAll(c.gate, c.looks...)
			if j := c.gate.Judge(s); j.Verdict != c.now {
				t.Errorf("%s, want %s: %s", j.Verdict, c.now, j.Text())
			}
			if j := c.gate.JudgeAtEnd(s); j.Verdict != c.end {
				t.Errorf("at the end: %s, want %s: %s", j.Verdict, c.end, j.Text())
			}
		})
	}
}

// Gates of PipeCD's files judge as PipeCD's analysis plugin does (executestage/metrics_analyzer.go and
// analysisprovider/metrics of pipe-cd/pipecd): a missing answer and NaN are failed looks, and only an
// empty range is nothing. One case is stricter: a gate whose looks were all nothing does not pass.
func TestGatesOfPipeCD(t *testing.T) {
	problem, empty, nan := Look{Problem: "HTTP 401"}, Look{}, values(math.NaN())[0]
	good, bad := values(.5)[0], values(2)[0]
	both := Look{Canary: []float64{1, 2, 3}, Control: []float64{1, 2, 3}}
	for name, c := range map[string]struct {
		gate   Gate
		looks  []Look
		want   Verdict
		reason string
	}{
		"in range":                       {Gate{}, []Look{good, good}, Good, ""},
		"out of range":                   {Gate{}, []Look{good, bad}, Bad, "the value 2 is more than 1"},
		"a second series out of range":   {Gate{}, values(.5, 2), Bad, "the value 2 is more than 1"},
		"as many failures as tolerated":  {Gate{FailureLimit: 1}, []Look{bad, good}, Good, ""},
		"no answer":                      {Gate{}, []Look{problem}, Bad, "1 of 1 reading failed, 0 are tolerated; the last: no values: HTTP 401"},
		"no answer, tolerated":           {Gate{FailureLimit: 1}, []Look{problem, good}, Good, ""},
		"no answer twice":                {Gate{FailureLimit: 1}, []Look{problem, good, problem}, Bad, "2 of 3 readings failed"},
		"one good answer, then none":     {Gate{}, []Look{good, problem}, Bad, "HTTP 401"},
		"no answer, skipOnNoData":        {Gate{SkipOnNoData: true}, []Look{good, problem}, Bad, "HTTP 401"},
		"six tolerated without answer":   {Gate{FailureLimit: 9}, []Look{good, problem, problem, problem, problem, problem, problem}, Good, ""},
		"not a number":                   {Gate{}, []Look{nan}, Bad, "not a number"},
		"not a number among others":      {Gate{}, []Look{{Canary: []float64{.5, math.NaN()}}}, Bad, "not a number"},
		"not a number, skipOnNoData":     {Gate{SkipOnNoData: true}, []Look{nan, nan}, Good, ""},
		"infinite":                       {Gate{}, values(math.Inf(1)), Bad, "the value +Inf is more than 1"},
		"an empty range":                 {Gate{}, []Look{empty, good}, Good, ""},
		"an empty range, twice":          {Gate{}, []Look{empty, empty, good}, Good, ""},
		"only empty ranges":              {Gate{}, []Look{empty, empty}, Undecided, "no values in 2 readings"},
		"only empty ranges, skip":        {Gate{SkipOnNoData: true}, []Look{empty}, Good, ""},
		"only tolerated problems":        {Gate{FailureLimit: 2}, []Look{problem, problem}, Undecided, "no values in 2 readings: HTTP 401"},
		"no look":                        {Gate{}, nil, Undecided, "no values in 0 readings"},
		"a comparison":                   {Gate{Strategy: CanaryPrimary}, []Look{both}, Good, ""},
		"a comparison of nothing":        {Gate{Strategy: CanaryPrimary}, []Look{empty, both}, Good, ""},
		"a comparison with NaN":          {Gate{Strategy: CanaryPrimary}, []Look{{Canary: []float64{1}, Control: []float64{math.NaN()}}}, Bad, "not a number"},
		"a comparison of one side":       {Gate{Strategy: CanaryPrimary}, []Look{{Canary: []float64{1}}}, Bad, "nothing to compare"},
		"a comparison of one side, skip": {Gate{Strategy: CanaryPrimary, SkipOnNoData: true}, []Look{{Canary: []float64{1}}}, Bad, "nothing to compare"},
		"a check without an answer":      {Gate{Strategy: Checked}, []Look{{Check: Check{Passed: true}}, problem}, Bad, "HTTP 401"},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.gate
			g.PipeCD = true
			if g.Strategy == "" {
				g.ExpectedMax = number(1)
			}
			j := g.JudgeAtEnd(seeAll(g, c.looks...))
			if j.Verdict != c.want || !strings.Contains(j.Reason, c.reason) || (c.reason == "") != (j.Reason == "") {
				t.Errorf("%s, %q; want %s, %q", j.Verdict, j.Reason, c.want, c.reason)
			}
			if j.Silent {
				t.Error("onError decides, although missing answers are failures")
			}
		})
	}
}

func TestProblemsAreCountedApart(t *testing.T) {
	g := Gate{ExpectedMax: number(1), FailureLimit: 3}
	problem := Look{Problem: "HTTP 503"}
	s := seeAll(g, append(values(1, 2), problem, problem, problem, problem, Look{})...)
	j := g.Judge(s)
	if j.Failures != 1 || j.Problems != 4 || j.Empty != 1 || j.Looks != 3 || j.Silent {
		t.Errorf("%+v", j)
	}
	if want := "1 of 3 readings failed, 3 tolerated  1 without values  4 without an answer"; j.Text() != want {
		t.Errorf("%s, want %s", j.Text(), want)
	}
	s = seeAll(g, problem, problem, problem, problem)
	if j := g.Judge(s); j.Silent {
		t.Errorf("four problems in a row are tolerated: %+v", j)
	}
	s = seeAll(g, problem, problem, problem, problem, problem)
	if j := g.Judge(s); !j.Silent || j.Verdict != Undecided || j.Reason != "5 readings in a row had no answer: HTTP 503" {
		t.Errorf("%+v", j)
	}
}

func TestReasonOfLooks(t *testing.T) {
	g := Gate{ExpectedMax: number(10), FailureLimit: 1}
	j := g.Judge(seeAll(g, values(11, 5, 12.5)...))
	if want := "2 of 3 readings failed, 1 are tolerated; the last: the value 12.5 is more than 10"; j.Reason != want {
		t.Errorf("%s, want %s", j.Reason, want)
	}
}

func TestCheck(t *testing.T) {
	g := Gate{Strategy: Checked, FailureLimit: 1}
	pass, fail := Look{Check: Check{Passed: true}}, Look{Check: Check{Failed: "status 500"}}
	if j := g.JudgeAtEnd(seeAll(g, pass, fail, pass)); j.Verdict != Good || j.Failures != 1 {
		t.Errorf("%+v", j)
	}
	j := g.Judge(seeAll(g, fail, pass, fail))
	if j.Verdict != Bad || !strings.HasSuffix(j.Reason, "the last: status 500") {
		t.Errorf("%+v", j)
	}
}

// A look that is repeated after a restart does not count again.
func TestLookIsNotCountedTwice(t *testing.T) {
	g := Gate{ExpectedMax: number(1), FailureLimit: 1}
	look := Look{At: start(), Canary: []float64{2}}
	s := g.See(g.See(State{}, look), look)
	if j := g.Judge(s); j.Verdict != Undecided || j.Failures != 1 {
		t.Errorf("%+v", j)
	}
}

func TestComparisons(t *testing.T) {
	low, high, same := []float64{1, 2, 3, 4, 5}, []float64{11, 12, 13, 14, 15}, []float64{3, 3, 3, 3, 3}
	for name, c := range map[string]struct {
		strategy  Strategy
		deviation string
		look      Look
		skip      bool
		want      Verdict
	}{
		"higher, either":             {CanaryPrimary, "", Look{Canary: high, Control: low}, false, Bad},
		"lower, either":              {CanaryPrimary, Either, Look{Canary: low, Control: high}, false, Bad},
		"higher, high":               {CanaryBaseline, High, Look{Canary: high, Control: low}, false, Bad},
		"lower, high":                {CanaryBaseline, High, Look{Canary: low, Control: high}, false, Good},
		"higher, low":                {Previous, Low, Look{Canary: high, Control: low}, false, Good},
		"lower, low":                 {Previous, Low, Look{Canary: low, Control: high}, false, Bad},
		"the same":                   {CanaryPrimary, Either, Look{Canary: low, Control: low}, false, Good},
		"all values equal":           {CanaryPrimary, Either, Look{Canary: same, Control: same}, false, Good},
		"few values":                 {CanaryPrimary, Either, Look{Canary: high[:2], Control: low[:2]}, false, Good},
		"no values":                  {CanaryPrimary, Either, Look{}, false, Undecided},
		"no values of the canary":    {CanaryPrimary, Either, Look{Control: low}, false, Bad},
		"no values of the control":   {CanaryPrimary, Either, Look{Canary: low}, false, Bad},
		"the same, skipOnNoData":     {CanaryPrimary, Either, Look{Canary: low}, true, Undecided},
		"the first deployment":       {Previous, Either, Look{Canary: low, First: true}, true, Good},
		"the first, no values":       {Previous, Either, Look{First: true}, true, Undecided},
		"the first, not a number":    {Previous, Either, Look{Canary: []float64{math.NaN()}, First: true}, true, Undecided},
		"no first deployment needed": {CanaryPrimary, Either, Look{Canary: low, First: true}, false, Bad},
	} {
		t.Run(name, func(t *testing.T) {
			g := Gate{Strategy: c.strategy, Deviation: c.deviation, SkipOnNoData: c.skip}
			if j := g.JudgeAtEnd(seeAll(g, c.look)); j.Verdict != c.want {
				t.Errorf("%s, want %s: %s %s", j.Verdict, c.want, j.Text(), j.Reason)
			}
		})
	}
	g := Gate{Strategy: CanaryPrimary, Deviation: High}
	j := g.Judge(seeAll(g, Look{Canary: high, Control: low}))
	if want := "5 values of the canary differ from 5 of the control (HIGH): p = 0.0040, at most 0.05"; !strings.HasSuffix(
		j.Reason, want) {
		t.Errorf("%s, want %s", j.Reason, want)
	}
}

// The exact p-values are those of an enumeration of all ways in which the values may be divided.
func TestExactPIsThatOfAnEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "most")
		value := rapid.Map(rapid.IntRange(0, most), func(i int) float64 { return float64(i) })
		canary := rapid.SliceOfN(value, 1, 6).Draw(t, "canary")
		control := rapid.SliceOfN(value, 1, 6).Draw(t, "control")
		twiceU, ties := rank(canary, control)
		if len(ties) == 1 {
			t.Skip("all values are equal")
		}
		all, n := append(append([]float64{}, canary...), control...), len(canary)
		below, above, ways := 0.0, 0.0, 0.0
		for set := range 1 << len(all) {
			var in, out []float64
			for i, v := range all {
				if set>>i&1 == 1 {
					in = append(in, v)
				} else {
					out = append(out, v)
				}
			}
			if len(in) != n {
				continue
			}
			u, _ := rank(in, out)
			ways++
			if u <= twiceU {
				below++
			}
			if u >= twiceU {
				above++
			}
		}
		for deviation, want := range map[string]float64{Low: below / ways, High: above / ways,
			Either: min(2*min(below, above)/ways, 1)} {
			if got := compareSamples(canary, control, deviation); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s: %v, want %v", deviation, got, want)
			}
		}
	})
}

// Known p-values, exact ones of tables, and that the normal distribution continues them.
func TestKnownPValues(t *testing.T) {
	sequence := func(from, n int) (s []float64) {
		for i := range n {
			s = append(s, float64(from+2*i))
		}
		return s
	}
	for _, c := range []struct {
		canary, control []float64
		deviation       string
		want            float64
	}{
		{[]float64{4, 5, 6, 7}, []float64{1, 2, 3}, Either, 2.0 / 35},
		{[]float64{4, 5, 6, 7}, []float64{1, 2, 3}, High, 1.0 / 35},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, Either, .1},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, Either, 2.0 / 252},
		{[]float64{2}, []float64{1, 1}, Either, 2.0 / 3}, // the tails are not alike
		{[]float64{2}, []float64{1, 1}, High, 1.0 / 3},
	} {
		if got := compareSamples(c.canary, c.control, c.deviation); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, %v, %s: %v, want %v", c.canary, c.control, c.deviation, got, c.want)
		}
	}
	canary, control := sequence(16, 50), sequence(1, 50)
	twiceU, ties := rank(canary, control)
	for _, deviation := range []string{Either, High, Low} {
		exact := compareSamples(canary, control, deviation)
		normal := normalP(float64(twiceU)/2, 50, 50, ties, deviation)
		if math.Abs(exact-normal) > .03*exact {
			t.Errorf("%s: exact %v, normal %v", deviation, exact, normal)
		}
	}
}

// Every state survives a resume, whatever the strategy.
func TestStateOfLooksSurvivesAResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Gate{Strategy: rapid.SampledFrom(append(Strategies(), Checked)).Draw(t, "strategy"), ExpectedMax: number(5), FailureLimit: 3}
		number := rapid.Float64()
		var through, saved State
		for i := range rapid.IntRange(0, 40).Draw(t, "looks") {
			l := Look{At: start().Add(time.Duration(i) * time.Minute),
				Canary:  rapid.SliceOfN(number, 0, 5).Draw(t, "canary"),
				Control: rapid.SliceOfN(number, 0, 5).Draw(t, "control"),
				Check:   Check{Passed: rapid.Bool().Draw(t, "passed")},
				Problem: rapid.SampledFrom([]string{"", "", "", "HTTP 503"}).Draw(t, "problem")}
			through, saved = g.See(through, l), resumed(t, g.See(saved, l))
			if _, err := json.Marshal(g.Judge(through)); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(through, saved) {
			t.Fatalf("%+v\n%+v", through, saved)
		}
	})
}
