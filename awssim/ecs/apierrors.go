package ecs

import (
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func invalidParameter(format string, args ...any) error {
	return world.Refuse("InvalidParameterException", format, args...)
}

func clientError(format string, args ...any) error {
	return world.Refuse("ClientException", format, args...)
}

// maxServiceTasks is how many tasks a service may have ("Amazon ECS service quotas").
const maxServiceTasks = 5000

func errTooManyTasks() error {
	return invalidParameter("Desired count can not be more than %d, the quota of tasks per service.", maxServiceTasks)
}

// notSimulated is the error for a request that AWS would accept and the simulator does not support.
func notSimulated(what string) error {
	return world.Refuse("UnsupportedFeatureException", "%s: not simulated.", what)
}

func missingFailure(arn string) ecstypes.Failure {
	return ecstypes.Failure{Arn: &arn, Reason: ptr("MISSING")}
}

// lastSegment returns the text after the last slash of an ARN, or the whole name.
func lastSegment(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

func isARN(id string) bool { return strings.HasPrefix(id, "arn:") }

// regionOf returns the Region in an ARN.
func regionOf(arn string) string { return strings.SplitN(arn, ":", 5)[3] }

// resourcePart returns the part of an ARN after account and Region.
func resourcePart(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	return parts[len(parts)-1]
}
