package ecs

import (
	"cmp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// NoticeOf returns how long the slowest health check of the essential containers takes to call a container unhealthy
// that fails. It is 0 if none of them has a check, or td is nil. What a check leaves out has AWS's defaults: 3 retries,
// every 30 seconds, with a timeout of 5 seconds.
func NoticeOf(td *ecstypes.TaskDefinition) (notice time.Duration) {
	if td == nil {
		return 0
	}
	for _, c := range td.ContainerDefinitions {
		if h := c.HealthCheck; h != nil && (c.Essential == nil || *c.Essential) {
			retries, every, limit := cmp.Or(aws.ToInt32(h.Retries), 3), cmp.Or(aws.ToInt32(h.Interval), 30),
				cmp.Or(aws.ToInt32(h.Timeout), 5)
			notice = max(notice, time.Duration(retries*every+limit)*time.Second)
		}
	}
	return notice
}
