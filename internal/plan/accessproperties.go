package plan

import (
	"slices"

	"github.com/sluice-ecs/sluice"
)

// accessProperties is what an access type means for the code outside of plan/mode.
type accessProperties struct {
	access          sluice.Access
	hasTargetGroups bool // requests reach the variants through a target group each
	countsShares    bool // a share is the number of tasks registered under a name
}

// accessTable has a row for each access type.
var accessTable = []accessProperties{
	{access: sluice.ELB, hasTargetGroups: true},
	{access: sluice.ServiceDiscovery, countsShares: true},
	{access: sluice.NoAccess},
}

// AccessTypes returns all access types, in the order of the table.
func AccessTypes() (all []sluice.Access) {
	for _, row := range accessTable {
		all = append(all, row.access)
	}
	return all
}

func accessPropertiesOf(a sluice.Access) accessProperties {
	if i := slices.IndexFunc(accessTable, func(row accessProperties) bool { return row.access == a }); i >= 0 {
		return accessTable[i]
	}
	return accessProperties{access: a}
}

// HasTargetGroups reports whether requests of the access type reach the variants through a target
// group each.
func HasTargetGroups(a sluice.Access) bool { return accessPropertiesOf(a).hasTargetGroups }

// CountsShares reports whether a share of the traffic is the number of tasks registered under a
// name. The registry of the plan is known then.
func (p *Plan) CountsShares() bool {
	return accessPropertiesOf(p.Access).countsShares && p.Registry != nil
}
