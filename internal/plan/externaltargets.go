package plan

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// ExternalTarget is a target in one of the application's target groups that is not a task of the
// service.
type ExternalTarget struct {
	Group string `json:"group"` // name
	ID    string `json:"id"`    // IP address
	State string `json:"state"`
	// Owner is whose task of the cluster has the address: "service web", "task 0123abcd", or NoOwner. Empty: not known.
	Owner string `json:"owner,omitempty"`
}

// NoOwner is the owner of an address that no task of the cluster has.
const NoOwner = "none"

func (t ExternalTarget) String() string {
	text := fmt.Sprintf("%s in %s (%s)", t.ID, t.Group, t.State)
	if t.IsTask() {
		text += " of " + t.Owner
	}
	return text
}

// IsTask reports whether a task of the cluster has the address.
func (t ExternalTarget) IsTask() bool { return t.Owner != "" && t.Owner != NoOwner }

// ExternalInBoth returns the targets that two reads return.
func ExternalInBoth(a, b []ExternalTarget) (all []ExternalTarget) {
	for _, t := range b {
		if slices.ContainsFunc(a, func(x ExternalTarget) bool { return x.Group == t.Group && x.ID == t.ID }) {
			all = append(all, t)
		}
	}
	return all
}

// LeftoverSets returns the task sets that earlier deployments of the application left and that a
// deployment may remove.
func (l AWSState) LeftoverSets() (all []sluice.TaskSet) {
	for _, ts := range l.TaskSets {
		if IsLeftover(ts, l.Lost.Former) || slices.Contains(l.Left, ts.ID) && ts.Status == "ACTIVE" {
			all = append(all, ts)
		}
	}
	return all
}

// LeftoverPrevious returns the id of the task set that served before an interrupted deployment, if
// that deployment left it.
func (l AWSState) LeftoverPrevious() string {
	for _, ts := range l.TaskSets {
		if ts.ID == l.Lost.Former && IsLeftover(ts, ts.ID) {
			return ts.ID
		}
	}
	return ""
}

// IsRegisteredIn reports whether ECS registers the tasks of a task set in the registry.
func IsRegisteredIn(r Registry, sets []ecstypes.TaskSet, id string) bool {
	return slices.ContainsFunc(sets, func(set ecstypes.TaskSet) bool {
		return aws.ToString(set.Id) == id && len(set.ServiceRegistries) > 0 &&
			aws.ToString(set.ServiceRegistries[0].RegistryArn) == r.ARN
	})
}
