package sluice

import "testing"

func TestARNsAreShort(t *testing.T) {
	const elb, ecs = "arn:aws:elasticloadbalancing:us-east-1:123456789012:", "arn:aws:ecs:us-east-1:123456789012:"
	names := ARNNames{}
	names.AddRule(elb+"listener-rule/app/web/0123456789abcdef/1111111111111111/2222222222222222", "rule 10 of port 443")
	names.AddRule(elb+"listener/net/edge/0123456789abcdef/3333333333333333", "default action of port 80")
	for _, c := range []struct{ in, want string }{
		{"no name of a resource", "no name of a resource"},
		{elb + "listener/app/web/0123456789abcdef/1111111111111111: done", "listener web:443: done"},
		{elb + "listener-rule/app/web/0123456789abcdef/1111111111111111/2222222222222222", "rule 10 of port 443"},
		{"check the rule 10 of port 443 (" + elb + "listener-rule/app/web/0123456789abcdef/1111111111111111/2222222222222222): why",
			"check the rule 10 of port 443: why"},
		{"check the rule 10 of port 443 (" + elb + "listener-rule/app/other/0/1/2): why",
			"check the rule 10 of port 443 (listener rule of other): why"},
		{elb + "listener/net/edge/0123456789abcdef/3333333333333333", "listener edge:80"},
		{elb + "listener/app/other/0123456789abcdef/1111111111111111", "listener of other"},
		{elb + "listener-rule/app/other/0/1/2", "listener rule of other"},
		{elb + "loadbalancer/app/web/0123456789abcdef", "load balancer web"},
		{"the group (" + elb + "targetgroup/web-canary/0123456789abcdef) is new",
			"the group (target group web-canary) is new"},
		{ecs + "task-set/prod/web/ecs-svc/1234567890123456789", "task set ecs-svc/1234567890123456789"},
		{ecs + "task-definition/web:2", "task definition web:2"},
		{ecs + "service/prod/web", "service prod/web"},
		{ecs + "task/prod/0123456789abcdef", "task 0123456789abcdef"},
		{"(target-group " + elb + "targetgroup/web/0123456789abcdef)", "(target-group web)"},
		{"of task definition " + ecs + "task-definition/web:2", "of task definition web:2"},
		{"the group is " + elb + "targetgroup/a/0 or " + elb + "targetgroup/b/1.",
			"the group is target group a or target group b."},
		{"arn:aws:iam::123456789012:role/team/deployer", "role team/deployer"},
		{"arn:aws-cn:codedeploy:cn-north-1:123456789012:deploymentgroup:app/group", "deployment group app/group"},
		{"arn:aws:sns:us-east-1:123456789012:topic", "arn:aws:sns:us-east-1:123456789012:topic"},
		{"run aws elbv2 describe-rules --listener-arn " + elb + "listener/app/web/0/1", "run aws elbv2 describe-rules " +
			"--listener-arn " + elb + "listener/app/web/0/1"},
	} {
		if got := names.Shorten(c.in); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	if got := ARNNames(nil).Shorten(elb + "targetgroup/web/0"); got != "target group web" {
		t.Errorf("no names: %s", got)
	}
}
