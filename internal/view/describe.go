package view

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// NoRequests says of a [Traffic] that it is unused.
const NoRequests = "the service receives no requests: no rule of the load balancer sends requests to its target groups"

// DescribeShares returns the weights for people: "web-primary 90, web-canary 10". It returns "" without a group.
func DescribeShares(all []sluice.Share) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, fmt.Sprintf("%s %d", sluice.TargetGroupName(s.Group), s.Weight))
	}
	return strings.Join(texts, ", ")
}

// DescribeRuleCommand returns the command that shows a rule by its ARN, or a listener whose default action takes its
// place.
func DescribeRuleCommand(arn string) string {
	if strings.Contains(arn, ":listener/") {
		return "aws elbv2 describe-listeners --listener-arns " + arn
	}
	return "aws elbv2 describe-rules --rule-arns " + arn
}
