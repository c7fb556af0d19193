package elbv2_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func TestSingleForwardIsNormalised(t *testing.T) {
	b := newBench(t)
	lb, web, canary := b.balancer("edge"), b.group("web"), b.group("canary")
	l := b.listen(lb, 80, to(web))
	rule := b.rule(l, 10, weighted([]string{web, canary}, 100, 0))

	out, err := b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{ListenerArn: &l})
	b.ok(err)
	if len(out.Rules) != 2 || *out.Rules[0].RuleArn != rule || *out.Rules[0].Priority != "10" ||
		*out.Rules[1].Priority != "default" || !*out.Rules[1].IsDefault {
		t.Fatalf("rules: %+v", out.Rules)
	}
	one := out.Rules[1].Actions[0]
	if aws.ToString(one.TargetGroupArn) != web || *one.Order != 1 || *one.ForwardConfig.TargetGroups[0].Weight != 1 ||
		*one.ForwardConfig.TargetGroupStickinessConfig.Enabled {
		t.Errorf("single group: %+v %+v", one, one.ForwardConfig)
	}
	two := out.Rules[0].Actions[0]
	if two.TargetGroupArn != nil || *two.ForwardConfig.TargetGroups[0].Weight != 100 ||
		*two.ForwardConfig.TargetGroups[1].Weight != 0 {
		t.Errorf("two groups: %+v", two)
	}
	c := out.Rules[0].Conditions[0]
	if !slices.Equal(c.Values, []string{"/*"}) || !slices.Equal(c.PathPatternConfig.Values, []string{"/*"}) {
		t.Errorf("condition: %+v", c)
	}
}

func TestModifyRuleReplacesWhatIsGiven(t *testing.T) {
	b := newBench(t)
	lb, web, canary := b.balancer("edge"), b.group("web"), b.group("canary")
	rule := b.rule(b.listen(lb, 80, to(web)), 10, weighted([]string{web, canary}, 100, 0))
	out, err := b.ModifyRule(b.ctx,
		&awselb.ModifyRuleInput{RuleArn: &rule, Actions: []elbtypes.Action{weighted([]string{web, canary}, 90, 10)}})
	b.ok(err)
	if r := out.Rules[0]; *r.Actions[0].ForwardConfig.TargetGroups[1].Weight != 10 || len(r.Conditions) != 1 {
		t.Errorf("%+v", r)
	}
	shares := b.law.Table(key, lb).Weights(rule)
	if shares[0].Share != 0.9 || shares[1].Share != 0.1 {
		t.Errorf("the nodes route by %v", shares)
	}
}

// A target group without a weight has weight 1.
func TestAWeightLeftOutIsOne(t *testing.T) {
	b := newBench(t)
	lb, web, canary := b.balancer("edge"), b.group("web"), b.group("canary")
	rule := b.rule(b.listen(lb, 80, to(web)), 10, weighted([]string{web, canary}, 100, 0))
	action := weighted([]string{web, canary}, 3, 0)
	action.ForwardConfig.TargetGroups[1].Weight = nil
	out, err := b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: &rule, Actions: []elbtypes.Action{action}})
	b.ok(err)
	if w := out.Rules[0].Actions[0].ForwardConfig.TargetGroups; *w[0].Weight != 3 || *w[1].Weight != 1 {
		t.Errorf("%+v", w)
	}
	if shares := b.law.Table(key, lb).Weights(rule); shares[0].Share != 0.75 {
		t.Errorf("the nodes route by %v", shares)
	}
}

func TestRuleRefusals(t *testing.T) {
	b := newBench(t)
	lb, other, web, canary, theirs := b.balancer("edge"), b.balancer("other"), b.group("web"), b.group("canary"),
		b.group("theirs")
	l := b.listen(lb, 80, to(web))
	b.listen(other, 80, to(theirs))
	rule := b.rule(l, 10, to(web))
	second := b.rule(l, 20, to(web))
	rules, err := b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{ListenerArn: &l})
	b.ok(err)
	standard := rules.Rules[2].RuleArn

	modify := func(a ...elbtypes.Action) error {
		_, err := b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: &rule, Actions: a})
		return err
	}
	b.refused(modify(to(theirs)), "TargetGroupAssociationLimit",
		"The following target groups cannot be associated with more than one load balancer: "+theirs)
	b.refused(modify(weighted([]string{web, canary}, 1000, 0)), "ValidationError", "between 0 and 999")
	b.refused(modify(to(strings.Replace(web, "/web/", "/none/", 1))), "TargetGroupNotFound", "not found")
	b.refused(modify(weighted([]string{web, web}, 1, 1)), "InvalidLoadBalancerAction", "more than once")
	both := weighted([]string{web, canary}, 1, 1)
	both.TargetGroupArn = &web
	b.refused(modify(both), "InvalidLoadBalancerAction", "same single target group")
	b.refused(modify(elbtypes.Action{Type: "authenticate-oidc", Order: aws.Int32(1)}), "InvalidLoadBalancerAction",
		"last action")

	_, err = b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: standard, Actions: []elbtypes.Action{to(web)}})
	b.refused(err, "OperationNotPermitted", "cannot be modified")
	_, err = b.DeleteRule(b.ctx, &awselb.DeleteRuleInput{RuleArn: standard})
	b.refused(err, "OperationNotPermitted", "cannot be deleted")
	_, err = b.CreateRule(b.ctx, &awselb.CreateRuleInput{ListenerArn: &l, Priority: aws.Int32(10),
		Conditions: path("/x"), Actions: []elbtypes.Action{to(web)}})
	b.refused(err, "PriorityInUse", "Priority '10' is currently in use")
	var typed *elbtypes.PriorityInUseException
	if !errors.As(err, &typed) {
		t.Errorf("not typed: %v", err)
	}
	_, err = b.SetRulePriorities(b.ctx,
		&awselb.SetRulePrioritiesInput{RulePriorities: []elbtypes.RulePriorityPair{{RuleArn: &rule,
			Priority: aws.Int32(20)}}})
	b.refused(err, "PriorityInUse", "20")
	_, err = b.SetRulePriorities(b.ctx, &awselb.SetRulePrioritiesInput{RulePriorities: []elbtypes.RulePriorityPair{
		{RuleArn: &rule, Priority: aws.Int32(20)}, {RuleArn: &second, Priority: aws.Int32(10)}}})
	b.ok(err)
	gone := rule[:len(rule)-1] + "z"
	_, err = b.DeleteRule(b.ctx, &awselb.DeleteRuleInput{RuleArn: &gone})
	b.refused(err, "RuleNotFound", "One or more rules not found")
	_, err = b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{RuleArns: []string{"nonsense"}})
	b.refused(err, "ValidationError", "'nonsense' is not a valid listener rule ARN")
}

func TestStickinessCombinations(t *testing.T) {
	b := newBench(t)
	lb, web, canary := b.balancer("edge"), b.group("web"), b.group("canary")
	rule := b.rule(b.listen(lb, 80, to(web)), 10, weighted([]string{web, canary}, 1, 1))
	enable := func() error {
		_, err := b.ModifyTargetGroupAttributes(b.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &web,
			Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("stickiness.enabled"),
				Value: aws.String("true")}}})
		return err
	}
	b.refused(enable(), "InvalidConfigurationRequest",
		"This target group appears behind a rule with group stickiness disabled ("+rule+"). "+
			"You must enable group stickiness before enabling target stickiness")
	sticky := weighted([]string{web, canary}, 1, 1)
	sticky.ForwardConfig.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(true)}
	modify := func(a elbtypes.Action) error {
		_, err := b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: &rule, Actions: []elbtypes.Action{a}})
		return err
	}
	b.refused(modify(sticky), "ValidationError", "duration")
	sticky.ForwardConfig.TargetGroupStickinessConfig.DurationSeconds = aws.Int32(60)
	b.ok(modify(sticky))
	b.ok(enable())
	b.refused(modify(weighted([]string{web, canary}, 1, 1)), "InvalidConfigurationRequest",
		"You must enable group stickiness on a rule if you enabled target stickiness on one of its target groups")
}

// The client secret of an OIDC action is never shown; a change of the rule must
// say that the old one stays.
func TestOIDCSecret(t *testing.T) {
	b := newBench(t)
	lb, web, canary := b.balancer("edge"), b.group("web"), b.group("canary")
	out, err := b.CreateListener(b.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &lb, Port: aws.Int32(443),
		Protocol: "HTTPS",
		Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(
			"arn:aws:acm:eu-west-1:123456789012:certificate/1")}}, DefaultActions: []elbtypes.Action{to(web)}})
	b.ok(err)
	oidc := elbtypes.Action{Type: "authenticate-oidc", Order: aws.Int32(1),
		AuthenticateOidcConfig: &elbtypes.AuthenticateOidcActionConfig{
			Issuer: aws.String("https://i"), AuthorizationEndpoint: aws.String("https://a"),
			TokenEndpoint:    aws.String("https://t"),
			UserInfoEndpoint: aws.String("https://u"), ClientId: aws.String("id"), ClientSecret: aws.String("hush")}}
	forward := func(a elbtypes.Action) elbtypes.Action { a.Order = aws.Int32(2); return a }
	rule := b.rule(*out.Listeners[0].ListenerArn, 10, oidc, forward(to(web)))

	read, err := b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{RuleArns: []string{rule}})
	b.ok(err)
	back := read.Rules[0].Actions
	if c := back[0].AuthenticateOidcConfig; c.ClientSecret != nil || *c.Scope != "openid" ||
		*c.SessionTimeout != 604800 {
		t.Errorf("%+v", c)
	}
	back[1] = forward(weighted([]string{web, canary}, 90, 10))
	_, err = b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: &rule, Actions: back})
	b.refused(err, "InvalidLoadBalancerAction", "client secret must be specified")
	back[0].AuthenticateOidcConfig.UseExistingClientSecret = aws.Bool(true)
	for range 2 {
		_, err = b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: &rule, Actions: back})
		b.ok(err)
	}
}

func TestRulesArePaged(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	l := b.listen(lb, 80, to(web))
	for i := range int32(9) {
		b.rule(l, 10+i, to(web))
	}
	var got []string
	in := &awselb.DescribeRulesInput{ListenerArn: &l, PageSize: aws.Int32(4)}
	pages := 0
	for {
		out, err := b.DescribeRules(b.ctx, in)
		b.ok(err)
		pages++
		for _, r := range out.Rules {
			got = append(got, *r.Priority)
		}
		if in.Marker = out.NextMarker; in.Marker == nil {
			break
		}
	}
	if want := "10 11 12 13 14 15 16 17 18 default"; strings.Join(got, " ") != want || pages != 3 {
		t.Errorf("%d pages: %v", pages, got)
	}
	_, err := b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{ListenerArn: &l, PageSize: aws.Int32(401)})
	b.refused(err, "ValidationError", "less than or equal to 400")
	_, err = b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{ListenerArn: &l, Marker: aws.String("?")})
	b.refused(err, "ValidationError", "Marker")
}

func TestRuleQuota(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	l := b.listen(lb, 80, to(web))
	for i := range int32(100) {
		b.rule(l, 1+i, to(web))
	}
	_, err := b.CreateRule(b.ctx, &awselb.CreateRuleInput{ListenerArn: &l, Priority: aws.Int32(500),
		Conditions: path("/x"), Actions: []elbtypes.Action{to(web)}})
	b.refused(err, "TooManyRules", "")
}

func TestConditionRefusals(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	l := b.listen(lb, 80, to(web))
	for _, c := range []struct {
		conditions []elbtypes.RuleCondition
		text       string
	}{
		{append(path("/a"), path("/b")...), "only have one 'path-pattern'"},
		{[]elbtypes.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elbtypes.PathPatternConditionConfig{
			Values: []string{"1", "2", "3", "4", "5", "6"}}}}, "A rule can only have '5' condition values"},
		{[]elbtypes.RuleCondition{{Field: aws.String("source-ip"),
			SourceIpConfig: &elbtypes.SourceIpConditionConfig{Values: []string{"10.0.0.1"}}}}, "not valid"},
		{[]elbtypes.RuleCondition{{Field: aws.String("http-header"),
			HttpHeaderConfig: &elbtypes.HttpHeaderConditionConfig{
				HttpHeaderName: aws.String(strings.Repeat("x", 41)), Values: []string{"y"}}}}, "the limit is '40'"},
		{path("/" + strings.Repeat("x", 128)), "The 'path-pattern' value is too long; the limit is '128'"},
		{[]elbtypes.RuleCondition{{Field: aws.String("host-header"), Values: []string{strings.Repeat("x", 129)}}},
			"The 'host-header' value is too long; the limit is '128'"},
		{[]elbtypes.RuleCondition{{Field: aws.String("host-header"), Values: []string{"shop_1.test"}}},
			"The value 'shop_1.test' of condition 'host-header' contains characters that are not allowed"},
		{path("/a b"), "The value '/a b' of condition 'path-pattern' contains characters that are not allowed"},
		{[]elbtypes.RuleCondition{{Field: aws.String("colour"), Values: []string{"red"}}}, "must be one of"},
	} {
		_, err := b.CreateRule(b.ctx, &awselb.CreateRuleInput{ListenerArn: &l, Priority: aws.Int32(1),
			Conditions: c.conditions, Actions: []elbtypes.Action{to(web)}})
		b.refused(err, "ValidationError", c.text)
	}
}

func TestTransformsAreKept(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	l := b.listen(lb, 80, to(web))
	tr := []elbtypes.RuleTransform{{Type: "url-rewrite", UrlRewriteConfig: &elbtypes.UrlRewriteConfig{
		Rewrites: []elbtypes.RewriteConfig{{Regex: aws.String("^/a"), Replace: aws.String("/b")}}}}}
	out, err := b.CreateRule(b.ctx, &awselb.CreateRuleInput{ListenerArn: &l, Priority: aws.Int32(1),
		Conditions: path("/x"), Actions: []elbtypes.Action{to(web)}, Transforms: tr})
	b.ok(err)
	rule := out.Rules[0].RuleArn
	mod, err := b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: rule, Conditions: path("/y")})
	b.ok(err)
	if len(mod.Rules[0].Transforms) != 1 || *mod.Rules[0].Transforms[0].UrlRewriteConfig.Rewrites[0].Replace != "/b" {
		t.Errorf("%+v", mod.Rules[0].Transforms)
	}
	mod, err = b.ModifyRule(b.ctx, &awselb.ModifyRuleInput{RuleArn: rule, ResetTransforms: aws.Bool(true)})
	b.ok(err)
	if len(mod.Rules[0].Transforms) != 0 {
		t.Errorf("after the reset: %+v", mod.Rules[0].Transforms)
	}
}
