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
			"    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}\n    - name: ANALYSIS\n      with:\n        duration: 1m\n" +
			"        metrics:\n          - " + c.metric + "\n" + c.later
		_, err := Make(app(t, pipeline), live(), Options{})
		if err == nil || !strings.Contains(err.Error(), "sluice.yaml:15: plan stage 2 ANALYSIS") ||
			!strings.Contains(err.Error(), "no canary gets requests then") || sluice.NextStep(err) != c.want {
			t.Errorf("%s: the error is %v, next %q; want next %q", name, err, sluice.NextStep(err), c.want)
		}
	}
}
