package alb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// CreateCommand returns the commands that create a target group like this one, with another name. Settings that AWS
// sets by itself are left out.
func (c GroupCopy) CreateCommand(name string) string {
	g := c.read
	text := fmt.Sprintf("aws elbv2 create-target-group --name %s --protocol %s --port %d --target-type %s --vpc-id %s", name,
		g.Protocol, aws.ToInt32(g.Port), g.TargetType, aws.ToString(g.VpcId))
	for _, o := range createOptions(g) {
		if o.value != "" && o.value != o.byDefault {
			text += " --" + o.name + " " + o.value
		}
	}
	if delay := c.Attributes[delayAttribute]; delay != "" && delay != strconv.Itoa(defaultDelay) {
		text += fmt.Sprintf(" && aws elbv2 modify-target-group-attributes --target-group-arn $(aws elbv2 describe-target-groups "+
			"--names %s --query 'TargetGroups[0].TargetGroupArn' --output text) --attributes Key=%s,Value=%s", name,
			delayAttribute, delay)
	}
	return text
}

// createOption is an option of the command that creates a target group. AWS's default is empty if it differs between
// protocols, or if AWS's documents name several.
type createOption struct{ name, value, byDefault string }

// createOptions returns the settings of a target group with AWS's defaults (ELB API Reference, CreateTargetGroup).
func createOptions(g elbtypes.TargetGroup) []createOption {
	seconds := func(n *int32) string { return strconv.Itoa(int(aws.ToInt32(n))) }
	all := []createOption{
		{"protocol-version", aws.ToString(g.ProtocolVersion), "HTTP1"},
		{"ip-address-type", string(g.IpAddressType), "ipv4"},
		{"health-check-port", aws.ToString(g.HealthCheckPort), "traffic-port"},
		{"health-check-path", aws.ToString(g.HealthCheckPath), ""},
		{"health-check-interval-seconds", seconds(g.HealthCheckIntervalSeconds), "30"},
	}
	check, timeout, healthy, unhealthy, matcher := "", "", "", "", ""
	if g.Protocol == elbtypes.ProtocolEnumHttp || g.Protocol == elbtypes.ProtocolEnumHttps {
		check, timeout, healthy, unhealthy, matcher = "HTTP", "5", "5", "2", "HttpCode=200"
	}
	return append(all, createOption{"health-check-protocol", string(g.HealthCheckProtocol), check},
		createOption{"health-check-timeout-seconds", seconds(g.HealthCheckTimeoutSeconds), timeout},
		createOption{"healthy-threshold-count", seconds(g.HealthyThresholdCount), healthy},
		createOption{"unhealthy-threshold-count", seconds(g.UnhealthyThresholdCount), unhealthy},
		createOption{"matcher", matcherOption(g.Matcher), matcher})
}

// matcherOption returns the codes of a health check as the AWS CLI reads them: a list has quotes.
func matcherOption(m *elbtypes.Matcher) string {
	if m == nil {
		return ""
	}
	key, codes := "HttpCode", aws.ToString(m.HttpCode)
	if codes == "" {
		key, codes = "GrpcCode", aws.ToString(m.GrpcCode)
	}
	switch {
	case codes == "":
		return ""
	case strings.Contains(codes, ","):
		return "'" + key + `="` + codes + `"'`
	}
	return key + "=" + codes
}
