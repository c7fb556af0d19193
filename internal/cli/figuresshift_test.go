package cli

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shiftRuns lets CodeDeploy move traffic in every way, and back, twenty times each.
func shiftRuns(t *testing.T) result {
	out := goTest(t, "TestBlueGreenLosesNoRequest", "-runs", "20")
	n := 20 * strings.Count(out, "--- PASS: TestBlueGreenLosesNoRequest/")
	return result{fmt.Sprintf("%d of %d, in %d ways", n, n, n/20), 0, n > 0}
}

var shiftFigure = regexp.MustCompile(`: (\d+) calls \(most \d+\), known (\S+) after`)

// shiftFigures are the calls and the lag of a deployment of 25 seconds.
func shiftFigures(t *testing.T) (calls, lag float64) {
	m := shiftFigure.FindStringSubmatch(goTest(t, "TestFigureCodeDeployCallsAndLag"))
	if m == nil {
		t.Fatal("the test tells no figures")
	}
	calls, err := strconv.ParseFloat(m[1], 64)
	late, err2 := time.ParseDuration(m[2])
	if err != nil || err2 != nil {
		t.Fatal(m)
	}
	return calls, late.Seconds()
}

func shiftCalls(t *testing.T) result { calls, _ := shiftFigures(t); return most(calls, 12, "calls") }

func shiftLag(t *testing.T) result { _, lag := shiftFigures(t); return most(lag, 2, "s") }

// goTest runs a test of the engine and returns what it says.
func goTest(t *testing.T, name string, flags ...string) string {
	t.Helper()
	c := exec.Command("go", append([]string{"test", "./internal/engine", "-count=1", "-v", "-run", "^" + name + "$"}, flags...)...)
	c.Dir = "../.."
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
