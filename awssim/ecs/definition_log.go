package ecs

import (
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// logOf returns the log configuration of a container with the log driver awslogs, or nil. The
// output of any other driver is dropped.
func logOf(c *ecstypes.LogConfiguration) *world.ContainerLog {
	if c == nil || c.LogDriver != ecstypes.LogDriverAwslogs {
		return nil
	}
	return &world.ContainerLog{
		Group: c.Options["awslogs-group"], Prefix: c.Options["awslogs-stream-prefix"],
		Region:      c.Options["awslogs-region"],
		CreateGroup: strings.EqualFold(c.Options["awslogs-create-group"], "true"),
	}
}
