package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shiftRuns lets CodeDeploy move traffic in every way, and back, twenty times each.
func shiftRuns(t *testing.T) result {
	return lossless(t, "./internal/stage/bluegreen", "TestBlueGreenLosesNoRequest")
}

// lossless runs each way of a test of the engine twenty times.
func lossless(t *testing.T, pkg, name string) result {
	n := 20 * strings.Count(goTest(t, pkg, name, "-runs", "20"), "--- PASS: "+name+"/")
	return result{fmt.Sprintf("%d of %d, in %d ways", n, n, n/20), 0, n > 0}
}

var shiftFigure = regexp.MustCompile(`: (\d+) calls \(most \d+\), known (\S+) after`)

// shiftFigures are the calls and the lag of a deployment of 25 seconds.
func shiftFigures(t *testing.T) (calls, lag float64) {
	m := shiftFigure.FindStringSubmatch(goTest(t, "./internal/stage/bluegreen", "TestFigureCodeDeployCallsAndLag"))
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

func shiftCalls(t *testing.T) result { calls, _ := shiftFigures(t); return most(calls, 20, "calls") }

func shiftLag(t *testing.T) result { _, lag := shiftFigures(t); return most(lag, 2, "s") }

// goTest runs a test of the stages, which must pass, and returns its output.
func goTest(t *testing.T, pkg, name string, flags ...string) string {
	t.Helper()
	out, ok := tested(t, pkg, name, flags...)
	if !ok {
		t.Fatal(name + " fails")
	}
	return out
}
