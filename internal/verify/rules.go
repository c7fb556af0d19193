package verify

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// checkListenerRules requires the rules that ECS writes in a strategy of its own. For a Network Load Balancer they are
// listeners (ECS API Reference, "AdvancedConfiguration"). AWS refuses others after the task definition is registered.
func (c *checker) checkListenerRules(ctx context.Context) {
	if c.app.Service == nil {
		return
	}
	for _, b := range c.app.Service.Input.LoadBalancers {
		if a := b.AdvancedConfiguration; a != nil {
			group := aws.ToString(b.TargetGroupArn)
			c.checkListenerRule(ctx, "productionListenerRule", aws.ToString(a.ProductionListenerRule), group)
			c.checkListenerRule(ctx, "testListenerRule", aws.ToString(a.TestListenerRule), group)
		}
	}
}

func (c *checker) checkListenerRule(ctx context.Context, member, arn, group string) {
	if arn == "" {
		return
	}
	c.at(arn, member)
	subject := member + ", " + sluice.ARNNames(nil).Shorten(arn)
	err := c.aws.Existing.FindRule(ctx, arn)
	switch {
	case !c.judge(subject, err, "it does not exist", "correct its ARN: "+findRule(arn)):
	case strings.Contains(arn, ":listener/app/"):
		c.refuseListener(ctx, subject, arn, group)
	default:
		c.ok(subject, "")
	}
}

// refuseListener names the rules of a listener that is named where a rule is needed.
func (c *checker) refuseListener(ctx context.Context, subject, listener, group string) {
	detail, next := "an Application Load Balancer needs a listener rule here", "name a rule of it that forwards to the target "+
		"group: aws elbv2 describe-rules --listener-arn "+listener
	if rules := alb.RulesTo(ctx, c.aws.Existing.ELB, listener, group); len(rules) > 0 {
		detail += "; that listener has rule " + strings.Join(rules, ", ")
		next = "write the ARN of the rule"
	}
	c.fail(subject, detail, next)
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
