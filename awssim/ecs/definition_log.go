package ecs

import (
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// logOf is where the log driver awslogs sends a container's output; nil for any
// other driver, whose output goes nowhere here.
func logOf(c *ecstypes.LogConfiguration) *world.ContainerLog {
	if c == nil || c.LogDriver != ecstypes.LogDriverAwslogs {
		return nil
	}
	return &world.ContainerLog{
		Group: c.Options["awslogs-group"], Prefix: c.Options["awslogs-stream-prefix"], Region: c.Options["awslogs-region"],
		CreateGroup: strings.EqualFold(c.Options["awslogs-create-group"], "true"),
	}
}
