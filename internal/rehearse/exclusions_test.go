package rehearse

import "testing"

func TestLeavesCanary(t *testing.T) {
	const start, end, replace = "ECS_CANARY_ROLLOUT scale=50", "ECS_CANARY_CLEAN", "ECS_PRIMARY_ROLLOUT"
	for name, c := range map[string]struct {
		pipeline []string
		want     bool
	}{
		"no pipeline":           {nil, false},
		"no canary":             {[]string{replace}, false},
		"cleaned":               {[]string{start, replace, end}, false},
		"not cleaned":           {[]string{start, replace}, true},
		"the second is left":    {[]string{start, end, start, replace}, true},
		"the second is cleaned": {[]string{start, end, start, replace, end}, false},
	} {
		if got := (Case{Pipeline: c.pipeline}).LeavesCanary(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
