package metrics

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// pointText returns points as "12:00 1, 12:01 2".
func pointText(all []Point) string {
	var out []string
	for _, p := range all {
		out = append(out, fmt.Sprintf("%s %v", p.At.Format("15:04"), p.Value))
	}
	return strings.Join(out, ", ")
}

func windowText(all []analysis.Window) string {
	var out []string
	for _, w := range all {
		out = append(out, fmt.Sprintf("%s c %d/%d p %d/%d", w.From.Format("15:04"), w.Canary.Bad, w.Canary.All,
			w.Primary.Bad, w.Primary.All))
	}
	return strings.Join(out, ", ")
}

func pointsAt(values ...float64) Points {
	p := Points{}
	for i := 0; i < len(values); i += 2 {
		p[at(int(values[i]))] = values[i+1]
	}
	return p
}

func TestCloseWindows(t *testing.T) {
	none := Points{}
	for name, c := range map[string]struct {
		canary, primary Pair
		reported        Points
		want            string
	}{
		"both": {Pair{pointsAt(1, 2), pointsAt(1, 10)}, Pair{pointsAt(1, 3), pointsAt(1, 90)}, none,
			"12:01 c 2/10 p 3/90"},
		"no canary":  {Pair{none, none}, Pair{none, pointsAt(1, 90)}, none, "12:01 c 0/0 p 0/90"},
		"no primary": {Pair{none, pointsAt(1, 9)}, Pair{none, none}, none, "12:01 c 0/9 p 0/0"},
		"neither, but others of the load balancer": {Pair{none, none}, Pair{none, none}, pointsAt(1, 5),
			"12:01 c 0/0 p 0/0"},
		"not reported": {Pair{none, none}, Pair{none, none}, none, ""},
		"a gap": {Pair{none, pointsAt(1, 1, 3, 3)}, Pair{none, pointsAt(1, 1, 3, 3)}, none,
			"12:01 c 0/1 p 0/1, 12:03 c 0/3 p 0/3"},
		"bad is reported before all": {Pair{pointsAt(1, 4), pointsAt(1, 3)}, Pair{none, none}, none,
			"12:01 c 4/4 p 0/0"},
		"fractions and nonsense": {Pair{pointsAt(1, 1.6), pointsAt(1, 9.4)}, Pair{pointsAt(1, -3), pointsAt(1, math.NaN())},
			none, "12:01 c 2/9 p 0/0"},
		"outside": {Pair{none, pointsAt(0, 1, 4, 1)}, Pair{none, none}, none, ""},
	} {
		// The span begins within a minute and ends within one: neither is whole.
		span := Span{at(0).Add(time.Second), at(4).Add(30 * time.Second)}
		if got := windowText(CloseWindows(span, time.Minute, c.canary, c.primary, c.reported)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := windowText(CloseWindows(Span{at(3), at(21)}, 5*time.Minute, Pair{none, pointsAt(0, 1, 5, 2, 15, 3, 20, 4)},
		Pair{none, none}, none)); got != "12:05 c 0/2 p 0/0, 12:15 c 0/3 p 0/0" {
		t.Error(got)
	}
}

// A minute closes three minutes after its end, to the second.
func TestCloseTime(t *testing.T) {
	for now, want := range map[time.Time]time.Time{
		at(4):                       at(1),
		at(4).Add(-time.Nanosecond): at(0),
		at(4).Add(59 * time.Second): at(1),
	} {
		if got := CloseTime(now, time.Minute); !got.Equal(want) {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
	if got := CloseTime(at(12), 5*time.Minute); !got.Equal(at(5)) {
		t.Errorf("five minutes: %s", got)
	}
}

// A signal asks for the bad requests of both groups, and for all of them.
func TestSignalQueries(t *testing.T) {
	g, _ := GroupsOf(listener, primary, canary)
	for slower, bad := range map[time.Duration]string{
		0:                      "HTTPCode_Target_5XX_Count Sum",
		500 * time.Millisecond: "TargetResponseTime TC(0.5:)",
		time.Second:            "TargetResponseTime TC(1:)",
		time.Millisecond:       "TargetResponseTime TC(0.001:)",
	} {
		s := appfile.Signal{SlowerThan: slower}
		var got []string
		for _, q := range g.signalQueries(s) {
			got = append(got, strings.ReplaceAll(q.text, "\x00", " "))
			if !statistics.MatchString(*q.parts[0].MetricStat.Stat) {
				t.Errorf("%s is no statistic", *q.parts[0].MetricStat.Stat)
			}
		}
		const lb, of = "AWS/ApplicationELB ", " LoadBalancer=app/web/0123456789abcdef"
		const c = " TargetGroup=targetgroup/web-canary/fedcba9876543210"
		const p = " TargetGroup=targetgroup/web-primary/0123456789abcdef"
		want := []string{lb + "RequestCount Sum" + of, lb + bad + of + c, lb + "RequestCount Sum" + of + c,
			lb + bad + of + p, lb + "RequestCount Sum" + of + p}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("slower than %s:\n%s\nwant\n%s", slower, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
