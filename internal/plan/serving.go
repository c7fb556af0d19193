package plan

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
)

// Serving is the PRIMARY task set or deployment when the plan is made, with its task counts.
type Serving struct {
	ID       string `json:"id"`       // of the task set or the deployment
	Revision string `json:"revision"` // family:revision
	Desired  int    `json:"desired"`
	Running  int    `json:"running"`
	Pending  int    `json:"pending,omitempty"`
}

// FindServing returns the PRIMARY task set, otherwise the PRIMARY deployment. It returns nil if
// there is neither.
func (l AWSState) FindServing() *Serving {
	if ts := l.PrimarySet(); ts != nil {
		return &Serving{ID: ts.ID, Revision: ts.Revision, Desired: ts.Desired, Running: ts.Running, Pending: ts.Pending}
	}
	if l.Service == nil || l.ServiceStatus() != "ACTIVE" {
		return nil
	}
	for _, d := range l.Service.Deployments {
		if aws.ToString(d.Status) == "PRIMARY" {
			return &Serving{ID: aws.ToString(d.Id), Revision: sluice.RevisionOf(aws.ToString(d.TaskDefinition)),
				Desired: int(d.DesiredCount), Running: int(d.RunningCount), Pending: int(d.PendingCount)}
		}
	}
	return nil
}
