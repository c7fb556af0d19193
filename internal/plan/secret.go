package plan

import (
	"encoding/json"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Kept is the plan as a journal may keep it: without the values of environments
// and of the options of drivers, which may be secret. A plan that lost any is
// Redacted and cannot register its task definition; [Plan.Supply] makes it whole
// again.
func (p *Plan) Kept() *Plan {
	kept := *p
	var lost bool
	if kept.Task, lost = withoutSecrets(p.Task); lost {
		kept.Redacted = true
	}
	return &kept
}

// Supply gives a redacted plan its task definition back. It refuses one that is
// not the one that was planned.
func (p *Plan) Supply(task *definition.Task) bool {
	if definition.Digest(task) != p.Digest {
		return false
	}
	whole, err := task.JSON()
	if err != nil {
		return false
	}
	p.Task, p.Redacted = whole, false
	return true
}

// Registered reports whether the revision was there when the plan was made, so
// that nothing needs registering.
func (p *Plan) Registered() bool { return strings.Contains(p.To, ":") }

// withoutSecrets empties the strings under the keys whose values may be secret.
func withoutSecrets(data json.RawMessage) (json.RawMessage, bool) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, true
	}
	lost := false
	empty(v, false, &lost)
	if !lost {
		return data, false
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, true
	}
	return out, true
}

// empty walks to the values that may be secret; names of variables stay.
func empty(v any, secret bool, lost *bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if text, ok := x.(string); ok && secret && k != "name" && text != "" {
				v[k], *lost = "", true
				continue
			}
			empty(x, secret || k == "environment" || k == "options" || k == "driverOpts", lost)
		}
	case []any:
		for _, x := range v {
			empty(x, secret, lost)
		}
	}
}
