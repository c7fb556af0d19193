package simtest

import (
	"flag"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

var (
	everyOutage = flag.Bool("outages", false,
		"interrupt AWS's answers at 40 points of each deployment, not at a sample of them")
	outageKinds = flag.String("outage", "", "a regular expression: other outages are passed over")
)

// outageFlows are the deployments that AWS's answers are taken from.
var outageFlows = []string{"canary", "rolling", "canary by name", "CodeDeploy, a share first"}

var outageLengths = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}

// outagePoints is how many calls of a deployment an outage begins at.
const outagePoints = 40

// An outage of AWS's endpoint, or a proxy that answers in its place, is no failure of
// a deployment: each one reaches the end that was asked for, or pauses and reaches it
// when it is resumed. No request is lost.
func TestOutages(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	only := regexp.MustCompile(*outageKinds)
	total, failed, paused := 0, 0, 0
	var requests, lost float64
	for _, name := range outageFlows {
		c := flowCalled(t, name)
		undisturbed := Run(c)
		if undisturbed.Outcome != sluice.Succeeded {
			t.Fatalf("%s: %s with %d calls: %s", name, undisturbed.Outcome, undisturbed.Calls, undisturbed.Cause)
		}
		for n, line := range outageLines(undisturbed.Calls) {
			if !only.MatchString(line) || !*everyOutage && n%131 != 0 {
				continue
			}
			x := c
			x.Faults = []string{line}
			x.Codec = n%5 == 0
			r := Run(x)
			total, requests, lost = total+1, requests+r.Requests, lost+r.Failed
			if r.Paused {
				paused++
			}
			if r.Outcome != sluice.Succeeded || r.Failed > 0 || len(r.Violations) > 0 {
				failed++
				t.Errorf("%s under %q: %s: %s; %g requests lost; %s\n%s", name, line, r.Outcome, r.Cause, r.Failed,
					strings.Join(r.Violations, "; "), tail(r.Log, 40))
			}
			if failed > 20 {
				t.Fatal("and so on")
			}
		}
	}
	t.Logf("%d deployments interrupted: %d ended as asked for, %d of them after a pause and resume; %.0f of %.0f "+
		"requests lost", total, total-failed, paused, lost, requests)
}

func flowCalled(t *testing.T, name string) rehearse.Case {
	t.Helper()
	for _, f := range Flows() {
		if f.Name == name {
			return f.Case
		}
	}
	t.Fatalf("there is no flow %q", name)
	return rehearse.Case{}
}

// outageLines are all outages of a deployment that makes so many calls.
func outageLines(calls int) (all []string) {
	kinds := append([]string{}, fault.Outages...)
	sort.Strings(kinds)
	for point := range outagePoints {
		for _, kind := range kinds {
			for _, lasts := range outageLengths {
				all = append(all, fmt.Sprintf("outage *:* as=%s skip=%d for=%s", kind, 1+point*(calls-1)/outagePoints,
					lasts))
			}
		}
	}
	return all
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// An outage that is shorter than the time for which calls are retried pauses no deployment, whichever read of a stage
// it hits: those that AWS's own deployments are followed by, and those after the last stage, are retried as long.
func TestShortOutagePausesNoDeployment(t *testing.T) {
	count := 0
	for _, name := range outageFlows {
		c := flowCalled(t, name)
		calls := Run(c).Calls
		for n := 1; n < calls; n++ {
			if count++; !*everyOutage && n < calls-3 && count%37 != 0 {
				continue
			}
			x := c
			x.Faults = []string{fmt.Sprintf("outage *:* as=refused skip=%d for=2m", n)}
			if r := Run(x); r.Outcome != sluice.Succeeded || r.Paused {
				t.Errorf("%s under %q: %s, paused %t: %s\n%s", name, x.Faults, r.Outcome, r.Paused, r.Cause, tail(r.Log, 20))
			}
		}
	}
}
