package fault_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/awssim/fault"
)

func TestLinesPrintBack(t *testing.T) {
	for _, line := range []string{
		"throttle ecs:CreateTaskSet times=3",
		"5xx ecs:DescribeServices p=0.1 for=30s",
		"lost-reply ecs:CreateTaskSet times=1",
		"no-send elasticloadbalancing:ModifyRule times=1",
		"stale ecs:DescribeServices by=5s",
		"latency ecs:* by=300ms",
		"latency *:Describe* by=300ms",
		"slow-start web by=30s",
		"no-capacity prod after=2m for=1m",
		"zone-lost us-east-1a",
		"task-crash web count=1 exit=137",
		"task-crash web count=2 exit=0 after=1h",
		"task-crash web count=1 revision=2 exit=1",
		"expired-credentials times=1",
		"outage *:* as=page skip=40 for=30s",
		"denied ecs:DeleteTaskSet skip=1 times=1",
		"invalid elasticloadbalancing:ModifyRule times=1",
		"5xx ecs:UpdateService skip=2",
		"outage ecs:* as=refused times=3",
		"failed-operation servicediscovery:RegisterInstance times=1",
	} {
		f, err := fault.Parse(line)
		if err != nil || f.String() != line {
			t.Errorf("%s: %v, %v", line, f, err)
		}
	}
}

func TestEveryParsedFaultPrintsBack(t *testing.T) {
	kinds := []string{"throttle ecs:Create*", "5xx sts:*", "stale ecs:* by=1s", "slow-start web by=90s",
		"no-capacity *",
		"zone-lost us-east-1b", "task-crash web", "expired-credentials"}
	options := []string{"times=2", "count=3", "exit=0", "exit=9", "p=0.25", "p=1", "after=90m", "after=1.5s", "for=1h",
		"for=61s", "for=1h1m"}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(kinds).Draw(t, "kind")
		for _, o := range rapid.SliceOfDistinct(rapid.SampledFrom(options), rapid.ID[string]).Draw(t, "options") {
			line += " " + o
		}
		f, err := fault.Parse(line)
		if err != nil {
			t.Skip() // an option that the kind does not take, or twice
		}
		again, err := fault.Parse(f.String())
		if err != nil || again != f || again.String() != f.String() {
			t.Fatalf("%q parsed to %+v, printed as %q, parsed to %+v, %v", line, f, f, again, err)
		}
	})
}

func TestBadLinesNameTheWordAndWhatIsKnown(t *testing.T) {
	for line, want := range map[string]string{
		"": "the line is empty; known are 5xx, denied, expired-credentials, " +
			"failed-operation, invalid, latency",
		"throtle ecs:CreateTaskSet":         `"throtle" is not a kind of fault; known are 5xx,`,
		"throttle":                          "throttle: names no operation",
		"throttle times=3":                  "throttle: names no operation",
		"slow-start by=3s":                  "slow-start: names no service",
		"throttle CreateTaskSet":            `"CreateTaskSet" is not an operation such as ecs:CreateTaskSet`,
		"throttle elbv2:ModifyRule":         `"elbv2" is not a service; known are application-autoscaling, cloudformation, cloudwatch`,
		"throttle ecs:CreateTaskSet tims=3": `option "tims" is not known here; known are times, p, after, for`,
		"zone-lost us-east-1a times=3":      `option "times" is not known here; known are after, for`,
		"throttle ecs:* 3":                  `"3" is not an option such as times=`,
		"throttle ecs:* times=0":            `option times: "0" is not an integer from 1`,
		"throttle ecs:* times=1 times=2":    "option times is given twice",
		"5xx ecs:* p=1.5":                   `option p: "1.5" is not a probability above 0 and up to 1`,
		"outage ecs:* as=fire":              `option as: "fire" is none of refused, closed,`,
		"latency ecs:*":                     "latency: needs by=",
		"latency ecs:* by=300":              `option by: "300" is not a duration`,
		"task-crash web exit=256":           `option exit: "256" is not an integer from 0 to 255`,
	} {
		_, err := fault.Parse(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		on, service, operation string
		want                   bool
	}{
		{"ecs:CreateTaskSet", "ecs", "CreateTaskSet", true},
		{"ecs:CreateTaskSet", "ecs", "CreateTaskSets", false},
		{"ecs:*", "ecs", "DescribeServices", true},
		{"ecs:*", "sts", "GetCallerIdentity", false},
		{"*:Describe*s", "elasticloadbalancing", "DescribeRules", true},
		{"*:Describe*s", "elasticloadbalancing", "DescribeTargetHealth", false},
		{"*:*Task*Set*", "ecs", "UpdateServicePrimaryTaskSet", true},
	} {
		f := fault.Fault{Kind: fault.Throttle, On: c.on, For: time.Second}
		if got := f.Matches(c.service, c.operation); got != c.want {
			t.Errorf("%s on %s:%s: %v", c.on, c.service, c.operation, got)
		}
	}
}
