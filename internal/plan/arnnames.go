package plan

import (
	"slices"

	"github.com/sluice-ecs/sluice"
)

// ARNNames returns the names of the plan's listener rules and their listeners.
func (p *Plan) ARNNames() sluice.ARNNames {
	names := sluice.ARNNames{}
	for _, s := range append(slices.Clone(p.Stages), p.Rollback) {
		for _, r := range s.Routes {
			names.AddRule(r.Rule, r.Name)
		}
	}
	return names
}
