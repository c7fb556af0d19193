package plan

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// PastDeployment is one service deployment of the history that ECS keeps for 90 days.
type PastDeployment struct {
	ARN, Status string
	CreatedAt   time.Time
	Revision    *ecstypes.ServiceRevision // that it deploys; nil: AWS does not return it any more
	Content     string                    // digest of its task definition; empty: not read
}

// RevisionName returns family:revision; empty: it is not known.
func (p PastDeployment) RevisionName() string {
	if p.Revision == nil {
		return ""
	}
	return sluice.RevisionOf(aws.ToString(p.Revision.TaskDefinition))
}

// PastShift is a deployment of CodeDeploy's history that has ended.
type PastShift struct {
	Revision  string // family:revision
	Content   string // digest of its task definition; empty: not read
	Succeeded bool
	Returns   bool // sluice deployed it to roll back
}
