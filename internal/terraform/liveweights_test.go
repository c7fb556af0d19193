package terraform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

func TestChooseForward(t *testing.T) {
	type shares = []sluice.Share
	of := func(group string, weight int) sluice.Share { return sluice.Share{Group: group, Weight: weight} }
	for name, c := range map[string]struct {
		live    shares
		initial map[string]int64
		source  string
		want    string
	}{
		"nothing live": {nil, map[string]int64{"a": 100, "b": 0}, "initial", "[{a 100} {b 0}]"},
		"a running release": {shares{of("b", 20), of("a", 80)}, map[string]int64{"a": 100, "b": 0}, "live",
			"[{a 80} {b 20}]"},
		"without initial": {shares{of("b", 20), of("a", 80)}, nil, "live", "[{b 20} {a 80}]"},
		"a group is added": {shares{of("a", 1)}, map[string]int64{"a": 100, "b": 5}, "live",
			"[{a 1} {b 0}]"},
		"a group is replaced": {shares{of("old", 100), of("b", 0)}, map[string]int64{"a": 100, "b": 0}, "initial",
			"[{a 100} {b 0}]"},
		"an idle one is removed": {shares{of("a", 100), of("old", 0)}, map[string]int64{"a": 7}, "live", "[{a 100}]"},
	} {
		got, source := chooseForward(alb.Forward{Groups: c.live}, c.initial)
		if text := fmt.Sprint(got.Groups); source != c.source || text != c.want {
			t.Errorf("%s: %s %s, want %s %s", name, source, text, c.source, c.want)
		}
	}
}

// The weights are found by rule, by listener and by load balancer.
func TestLiveWeightsAreRead(t *testing.T) {
	t.Parallel()
	b := newBed(t, "canary")
	c := newCore(t, values{"endpoint": b.url})
	rule := b.addRule(map[string]int32{stableARN: 80, canaryARN: 20})
	for name, c1 := range map[string]struct {
		config values
		want   []string
	}{
		"rule":     {values{"rule_arn": rule}, []string{stableARN + "=80", canaryARN + "=20"}},
		"priority": {values{"listener_arn": listenerARN, "priority": 10}, []string{stableARN + "=80", canaryARN + "=20"}},
		"default":  {values{"listener_arn": listenerARN}, []string{stableARN + "=100", canaryARN + "=0"}},
		"port":     {values{"load_balancer_arn": balancerARN, "port": 80}, []string{stableARN + "=100", canaryARN + "=0"}},
	} {
		source, got, text := c.readWeights(c1.config)
		slices.Sort(got)
		slices.Sort(c1.want)
		if source != "live" || !slices.Equal(got, c1.want) || text != "" {
			t.Errorf("%s: %s %v %s", name, source, got, text)
		}
	}
}

func TestMissingRules(t *testing.T) {
	t.Parallel()
	b := newBed(t, "canary")
	c := newCore(t, values{"endpoint": b.url})
	missing := values{"listener_arn": listenerARN, "priority": 10}
	_, _, text := c.readWeights(missing)
	c.expectText(text, "ERROR: Cannot read the live weights", "no rule of this priority")
	_, _, text = c.readWeights(values{"rule_arn": strings.Replace(listenerARN, ":listener/", ":listener-rule/", 1) + "/1"})
	c.expectText(text, "ERROR: Cannot read the live weights")
	initial := map[string]any{stableARN: 100, canaryARN: 0}
	for _, config := range []values{missing, {"load_balancer_arn": balancerARN, "port": 81}} {
		source, got, text := c.readWeights(config.with(values{"initial_weights": initial}))
		if source != "initial" || !slices.Equal(got, []string{canaryARN + "=0", stableARN + "=100"}) {
			t.Errorf("%s %v %s", source, got, text)
		}
		c.expectText(text, "WARNING: The initial weights apply", "No such rule or listener exists", "resets the release")
	}
}

// A rule that gets another priority during a release is another rule: its initial weights would reset the release.
func TestInitialWeightsAreNotSilent(t *testing.T) {
	t.Parallel()
	b := newBed(t, "canary")
	c := newCore(t, values{"endpoint": b.url})
	b.addRule(map[string]int32{stableARN: 60, canaryARN: 40})
	config := values{"listener_arn": listenerARN, "priority": 10,
		"initial_weights": map[string]any{stableARN: 100, canaryARN: 0}}
	if source, _, text := c.readWeights(config); source != "live" || text != "" {
		t.Errorf("the rule of the release: %s %s", source, text)
	}
	source, _, text := c.readWeights(config.with(values{"priority": 20}))
	if c.expectText(text, "WARNING: The initial weights apply", "priority was changed"); source != "initial" {
		t.Errorf("another priority: %s", source)
	}
	source, _, text = c.readWeights(config.with(values{"initial_weights": map[string]any{stableARN: 100}}))
	if c.expectText(text, "WARNING: The initial weights apply", "or also to another one"); source != "initial" {
		t.Errorf("another group: %s", source)
	}
}

// A read that AWS denies is an error, also with initial weights: they would reset a running release.
func TestDeniedReadIsNoMissingRule(t *testing.T) {
	t.Parallel()
	b := newBed(t, "canary")
	c := newCore(t, values{"endpoint": b.url})
	b.addRule(map[string]int32{stableARN: 80, canaryARN: 20})
	if err := b.sim.Inject("denied *:*"); err != nil {
		t.Fatal(err)
	}
	source, _, text := c.readWeights(values{"listener_arn": listenerARN, "priority": 10,
		"initial_weights": map[string]any{stableARN: 100, canaryARN: 0}})
	c.expectText(text, "ERROR: Cannot read the live weights", "AccessDenied")
	if source != "" {
		t.Errorf("source %s", source)
	}
}

func TestLiveWeightsConfigurations(t *testing.T) {
	t.Parallel()
	c := newCore(t, values{"region": "us-east-1"})
	unknown, unknownNumber := tftypes.NewValue(tftypes.String, tftypes.UnknownValue),
		tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)
	for name, config := range map[string]values{
		"an unknown rule":     {"rule_arn": unknown, "listener_arn": "l", "priority": 3},
		"an unknown listener": {"listener_arn": unknown, "rule_arn": "r"},
		"all unknown":         {"rule_arn": unknown, "listener_arn": unknown, "load_balancer_arn": unknown, "port": 80},
		"an unknown port":     {"load_balancer_arn": "b", "port": unknownNumber},
		"an unknown priority": {"rule_arn": "r", "priority": unknownNumber},
	} {
		if text := c.validateWeights(config); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	for name, c1 := range map[string]struct {
		config values
		want   string
	}{
		"known and unknown": {values{"rule_arn": "r", "listener_arn": "l", "load_balancer_arn": unknown}, "Not exactly one rule or listener"},
		"nothing":           {values{}, "Not exactly one rule or listener"},
		"two":               {values{"rule_arn": "r", "listener_arn": "l"}, "Not exactly one rule or listener"},
		"no port":           {values{"load_balancer_arn": "b"}, "Port without load balancer"},
		"no priority":       {values{"rule_arn": "r", "priority": 1}, "Priority of a rule ARN"},
		"priority 0":        {values{"listener_arn": "l", "priority": 0}, "Not a priority"},
		"all zero":          {values{"listener_arn": "l", "initial_weights": map[string]any{"a": 0}}, "at least one weight"},
		"above 999":         {values{"listener_arn": "l", "initial_weights": map[string]any{"a": 1000}}, "from 0 to 999"},
		"below 0":           {values{"listener_arn": "l", "initial_weights": map[string]any{"a": -1}}, "from 0 to 999"},
		"port alone":        {values{"listener_arn": "l", "port": 80}, "Port without load balancer"},
		"rule by name":      {values{"rule_arn": "r", "listener_arn": "l", "priority": 3}, "Not exactly one"},
	} {
		if _, _, text := c.readWeights(c1.config); !strings.Contains(text, c1.want) {
			t.Errorf("%s: %q, want %q", name, text, c1.want)
		}
	}
}
