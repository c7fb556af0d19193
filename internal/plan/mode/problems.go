package mode

import (
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// refuseProblems rejects a deployment that AWS would refuse after the first write.
func refuseProblems(live plan.AWSState) error {
	for _, x := range live.Problems {
		if x.Level == plan.Refuses {
			return &sluice.Error{Op: "plan", Resource: x.Resource, Kind: sluice.Conflict, Err: errors.New(x.Text), Next: x.Next}
		}
	}
	return nil
}

// warnProblems adds the other problems: warnings, and notes for what could not be checked.
func warnProblems(p *plan.Plan, live plan.AWSState) {
	for _, x := range live.Problems {
		switch {
		case x.Level == plan.Unread:
			p.Notes = append(p.Notes, "not checked: "+x.Resource+": "+x.Text)
		case x.Next != "":
			addWarning(p, "%s: %s. Next: %s", x.Resource, x.Text, x.Next)
		default:
			addWarning(p, "%s: %s", x.Resource, x.Text)
		}
	}
}
