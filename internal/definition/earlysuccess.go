package definition

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// EarlySuccessProblem returns why AWS refuses early success criteria of a service whose minimumHealthyPercent is least,
// and what to do about it. It returns "" if AWS accepts them, or if there are none.
func EarlySuccessProblem(c *ecstypes.DeploymentConfiguration, least int32) (problem, next string) {
	if c == nil || c.EarlySuccessCriteria == nil || !c.EarlySuccessCriteria.Enable {
		return "", ""
	}
	early := aws.ToInt32(cmp.Or(c.EarlySuccessCriteria.HealthyPercent, &least))
	if early >= least {
		return "", ""
	}
	return fmt.Sprintf("earlySuccessCriteria.healthyPercent is %d and minimumHealthyPercent is %d: AWS refuses it", early,
		least), fmt.Sprintf("set healthyPercent to %d or more, or lower minimumHealthyPercent", least)
}
