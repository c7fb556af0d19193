package mode

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// A gate in a stage before the canary gets requests is refused with advice that fits: a gate of a signal has no range.
func TestGatesBeforeTheTraffic(t *testing.T) {
	const move = "move the stage between ECS_TRAFFIC_ROUTING with a share for the canary and ECS_PRIMARY_ROLLOUT"
	const add = "add ECS_TRAFFIC_ROUTING with a share for the canary before the stage"
	const signal = "{signal: errors, worse: 2}"
	const query = `{provider: p, query: 'up{v="{{ .Variant }}"}', strategy: CANARY_PRIMARY}`
	for name, c := range map[string]struct{ metric, later, want string }{
		"a signal":                    {signal, "    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}\n", move},
		"a signal and no traffic":     {signal, "", add},
		"a comparison":                {query, "    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}\n", move + ", or use the strategy THRESHOLD"},
		"a comparison and no traffic": {query, "", add + ", or use the strategy THRESHOLD"},
	} {
		pipeline := "analysisProviders: [{name: p, type: PROMETHEUS, config: {address: https://metrics.example}}]\npipeline:\n  stages:\n" +
			"    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n    - name: ANALYSIS\n      with:\n        duration: 20m\n" +
			"        metrics:\n          - " + c.metric + "\n" + c.later
		_, err := Make(app(t, pipeline), live(), Options{})
		if err == nil || !strings.Contains(err.Error(), "sluice.yaml:15: plan stage 2 ANALYSIS") ||
			!strings.Contains(err.Error(), "no canary gets requests then") || sluice.NextStep(err) != c.want {
			t.Errorf("%s: the error is %v, next %q; want next %q", name, err, sluice.NextStep(err), c.want)
		}
	}
}

// Gates of the whole pipeline are read by stages that wait while the canary gets requests, and refused without one:
// other stages in which it gets requests read no gate.
func TestGatesThatNoStageReads(t *testing.T) {
	for stages, isRead := range map[string]bool{
		"ROUTE 20, PRIMARY":                     false,
		"ROUTE 20, ROUTE 50, PRIMARY":           false,
		"ROUTE 20, CANARY, PRIMARY":             false,
		"WAIT, ROUTE 20, PRIMARY":               false,
		"ROUTE 20, PRIMARY, WAIT":               false,
		"ROUTE 20, ROUTE 0, WAIT, PRIMARY":      false,
		"ROUTE 20, CLEAN, WAIT, PRIMARY":        false,
		"ROUTE 20, PRIMARY, APPROVAL, ROUTE 0":  false,
		"ROUTE 20, WAIT, PRIMARY":               true,
		"ROUTE 20, APPROVAL, PRIMARY":           true,
		"ROUTE 20, WAIT, ROUTE 50, PRIMARY":     true,
		"ROUTE 20, ROUTE 50, APPROVAL, PRIMARY": true,
	} {
		pipeline := "gates: [{signal: errors, max: 1%}]\npipeline:\n  stages:\n    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n"
		for name := range strings.SplitSeq(stages, ", ") {
			name, share, _ := strings.Cut(name, " ")
			pipeline += "    - " + map[string]string{"ROUTE": "{name: ECS_TRAFFIC_ROUTING, with: {canary: " + share + "}}",
				"CANARY": "{name: ECS_CANARY_ROLLOUT, with: {scale: 100}}", "PRIMARY": "{name: ECS_PRIMARY_ROLLOUT}",
				"CLEAN": "{name: ECS_CANARY_CLEAN}", "WAIT": "{name: WAIT, with: {duration: 10m}}",
				"APPROVAL": "{name: WAIT_APPROVAL}"}[name] + "\n"
		}
		_, err := Make(app(t, pipeline), live(), Options{})
		if isRead && err != nil || !isRead && (err == nil || !strings.Contains(err.Error(), "gate errors is never evaluated")) {
			t.Errorf("%s: the error is %v; want the gate read: %t", stages, err, isRead)
		}
	}
}

// Gates of the whole pipeline that cannot have a value before the canary is promoted are refused at their line, and those
// that may have none are warned about.
func TestGatesOfThePipelineNeedTime(t *testing.T) {
	const route, wait = "{name: ECS_TRAFFIC_ROUTING, with: {canary: 50}}", "{name: WAIT, with: {duration: 2m}}"
	const refused = "sluice.yaml:11: plan the gates of the pipeline (prod/web): gate errors cannot have a value before 4m0s, " +
		"and the stages that wait while the canary gets requests take 2m0s"
	const warned = "sluice.yaml:11: gate errors may have no value at the end: it has the first one after 4m0s to 5m0s, and judges for 4m0s"
	for name, c := range map[string]struct {
		stages          []string
		refused, warned string
	}{
		"too short":            {[]string{wait}, refused, ""},
		"may be short":         {[]string{wait, wait}, "", warned},
		"long enough":          {[]string{wait, wait, wait}, "", ""},
		"a shift between":      {[]string{wait, route}, refused, ""},
		"waits around a shift": {[]string{wait, route, wait}, "", warned},
		"an approval":          {[]string{wait, "{name: WAIT_APPROVAL}"}, "", ""},
	} {
		pipeline := "gates: [{signal: errors, max: 1%}]\npipeline:\n  stages:\n    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n" +
			"    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}\n    - " + strings.Join(c.stages, "\n    - ") + "\n"
		p, err := Make(app(t, pipeline), live(), Options{})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: the error is %v; want %q", name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := strings.Join(p.Warnings, "\n"); c.warned == "" && strings.Contains(text, "no value") || !strings.Contains(text, c.warned) {
			t.Errorf("%s: the warnings are %s; want %q", name, text, c.warned)
		}
	}
}
