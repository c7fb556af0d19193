package verify

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
)

// checkListenerRules requires the rules that ECS writes in a strategy of its own. For a Network Load Balancer they are
// listeners (ECS API Reference, "AdvancedConfiguration"). AWS refuses others after the task definition is registered.
func (c *checker) checkListenerRules(ctx context.Context) {
	if c.app.Service == nil {
		return
	}
	for _, b := range c.app.Service.Input.LoadBalancers {
		if a := b.AdvancedConfiguration; a != nil {
			c.checkListenerRule(ctx, "productionListenerRule", aws.ToString(a.ProductionListenerRule))
			c.checkListenerRule(ctx, "testListenerRule", aws.ToString(a.TestListenerRule))
		}
	}
}

func (c *checker) checkListenerRule(ctx context.Context, member, arn string) {
	if arn == "" {
		return
	}
	c.at(arn, member)
	subject := member + ", " + sluice.ARNNames(nil).Shorten(arn)
	if c.judge(subject, c.aws.Existing.FindRule(ctx, arn), "it does not exist", "correct its ARN: "+findRule(arn)) {
		c.ok(subject, "")
	}
}

// findRule returns the command that lists what the ARN of a rule or of a listener may mean.
func findRule(arn string) string {
	a, err := parseARN(arn)
	parts := strings.Split(a.resource, "/")
	if err != nil || len(parts) != 6 || parts[0] != "listener-rule" {
		return "aws elbv2 describe-load-balancers"
	}
	listener := strings.TrimSuffix(strings.Replace(arn, ":listener-rule/", ":listener/", 1), "/"+parts[5])
	return "aws elbv2 describe-rules --listener-arn " + listener
}
