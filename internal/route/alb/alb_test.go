package alb

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/view"
)

const (
	lb      = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	primary = lb + "targetgroup/web-primary/0123456789abcdef"
	canary  = lb + "targetgroup/web-canary/0123456789abcdef"
	third   = lb + "targetgroup/api/0123456789abcdef"
)

func tuple(arn string, weight int32) elbtypes.TargetGroupTuple {
	return elbtypes.TargetGroupTuple{TargetGroupArn: aws.String(arn), Weight: aws.Int32(weight)}
}

func forward(groups ...elbtypes.TargetGroupTuple) elbtypes.Action {
	return elbtypes.Action{Type: elbtypes.ActionTypeEnumForward,
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: groups}}
}

func rule(name string, actions ...elbtypes.Action) Rule {
	return Rule{Rule: sluice.Rule{ARN: name, Priority: name, Port: 80, Forward: forwardShares(actions)},
		Actions: actions}
}

func names(rules []Rule) string {
	var all []string
	for _, r := range rules {
		all = append(all, r.ARN)
	}
	return strings.Join(all, " ")
}

func TestChoose(t *testing.T) {
	pair := rule("pair", forward(tuple(primary, 90), tuple(canary, 10)))
	turned := rule("turned", forward(tuple(canary, 0), tuple(primary, 1)))
	alone := rule("alone", forward(tuple(primary, 1)))
	test := rule("test", forward(tuple(canary, 1)))
	other := rule("other", forward(tuple(third, 1)))
	three := rule("three", forward(tuple(primary, 1), tuple(canary, 1), tuple(third, 1)))
	def := rule("default", three.Actions...)
	def.Listener = "listener"
	idle := rule("idle", forward(tuple(primary, 0), tuple(canary, 0), tuple(third, 1)))
	shared := rule("shared", forward(tuple(primary, 80), tuple(third, 20)))
	leftover := rule("leftover", forward(tuple(primary, 80), tuple(canary, 20), tuple(third, 0)))
	const withCanary = `[{"ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"` + primary +
		`","Weight":80},{"TargetGroupArn":"` + canary + `","Weight":0}]},"Type":"forward"}]`
	const bothAtOne = `[{"ForwardConfig":{"TargetGroups":[{"TargetGroupArn":"` + primary + `","Weight":1},{"TargetGroupArn":"` +
		canary + `","Weight":1}]},"Type":"forward"}]`
	for name, c := range map[string]struct {
		rules           []Rule
		named           []string
		steered, extend string
		err, next       string
	}{
		"rules with exactly our two":           {rules: []Rule{other, pair, turned, three}, steered: "pair turned"},
		"the primary alone, if there is none":  {rules: []Rule{other, alone, test}, extend: "alone"},
		"the primary alone is left beside one": {rules: []Rule{alone, pair}, steered: "pair"},
		"a test listener is never touched":     {rules: []Rule{test, pair}, steered: "pair"},
		"three groups are not ours": {rules: []Rule{other, three},
			err: "its requests also go to api 1",
			next: "Or take from api 33.3 % of its requests: aws elbv2 modify-rule --rule-arn three --actions '" +
				bothAtOne + "'"},
		"two groups, one of them not ours": {rules: []Rule{shared}, err: "its requests also go to api 20",
			next: "Or take from api 20 % of its requests: aws elbv2 modify-rule --rule-arn shared --actions '" +
				withCanary + "'"},
		"a third group without weight": {rules: []Rule{leftover}, err: "its requests also go to api 0",
			next: "remove the other groups from the rule: aws elbv2 modify-rule"},
		"a listener is named": {rules: []Rule{def}, named: []string{"listener"}, err: "this is a listener, not a rule",
			next: "name the default rule of the listener under listenerRules: default"},
		"three groups on the default rule": {rules: []Rule{def},
			err:  "use the default rule of port 80 (default): the rule forwards to 3 target groups",
			next: "aws elbv2 modify-listener --listener-arn listener --default-actions '" + bothAtOne + "'"},
		"of three groups only the third serves": {rules: []Rule{idle}, err: "no listener rule forwards", next: "add both"},
		"nothing at all":                        {err: "no listener rule forwards"},
		"only what is named": {rules: []Rule{pair, turned}, named: []string{"turned"},
			steered: "turned"},
		"named and alone is extended": {rules: []Rule{pair, alone}, named: []string{"alone"}, extend: "alone"},
		"named but not there": {rules: []Rule{pair}, named: []string{"gone"},
			err: "no listener of the load balancer"},
		"named but somebody else's": {rules: []Rule{other}, named: []string{"other"},
			err: "the rule forwards to 1 target group"},
		"named with three groups": {rules: []Rule{three}, named: []string{"three"},
			err: "the rule forwards to 3 target groups", next: "aws elbv2 modify-rule --rule-arn three"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ChooseRules(c.rules, TargetGroups{Primary: primary, Canary: canary, RuleARNs: c.named})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || sluice.NextStep(err) == "" ||
					!strings.Contains(sluice.NextStep(err), c.next) {
					t.Fatalf("error %v (next %q), want %q and what to do", err, sluice.NextStep(err), c.err)
				}
				return
			}
			if err != nil || names(got.Steered) != c.steered || names(got.Extend) != c.extend {
				t.Errorf("steered %q, extend %q (%v); want %q, %q", names(got.Steered), names(got.Extend), err,
					c.steered, c.extend)
			}
		})
	}
}

func TestRewritingKeepsEverythingButTheWeights(t *testing.T) {
	oidc := elbtypes.Action{Type: elbtypes.ActionTypeEnumAuthenticateOidc, Order: aws.Int32(1),
		AuthenticateOidcConfig: &elbtypes.AuthenticateOidcActionConfig{ClientId: aws.String("id"),
			Issuer: aws.String("https://issuer.example")}}
	fwd := forward(tuple(canary, 0), tuple(primary, 100))
	fwd.Order = aws.Int32(2)
	fwd.ForwardConfig.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(true),
		DurationSeconds: aws.Int32(600)}
	d := Driver{Groups: TargetGroups{Primary: primary, Canary: canary}}
	got := writableActions(d.weightedActions(rule("r", oidc, fwd), sluice.CanaryShare(30)))

	if c := got[0].AuthenticateOidcConfig; !aws.ToBool(c.UseExistingClientSecret) || aws.ToString(c.ClientId) != "id" ||
		aws.ToInt32(got[0].Order) != 1 {
		t.Errorf("the OIDC action became %+v", *c)
	}
	if oidc.AuthenticateOidcConfig.UseExistingClientSecret != nil {
		t.Error("the action that was read was changed")
	}
	f := got[1].ForwardConfig
	if len(f.TargetGroups) != 2 || *f.TargetGroups[0].TargetGroupArn != canary || *f.TargetGroups[0].Weight != 30 ||
		*f.TargetGroups[1].Weight != 70 {
		t.Errorf("groups %s", view.DescribeShares(forwardShares(got)))
	}
	if !aws.ToBool(f.TargetGroupStickinessConfig.Enabled) || *f.TargetGroupStickinessConfig.DurationSeconds != 600 ||
		*got[1].Order != 2 {
		t.Error("stickiness or order was lost")
	}
}

func TestPrintsAreEqualForWhatAWSTreatsAlike(t *testing.T) {
	short := []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(primary)}}
	long := []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, Order: aws.Int32(1),
		TargetGroupArn: aws.String(primary),
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{tuple(primary, 1)},
			TargetGroupStickinessConfig: &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(false)}}}}
	if Fingerprint(short) != Fingerprint(long) {
		t.Error("one group, written short and read back long, has two prints")
	}
	a, b := []elbtypes.Action{forward(tuple(primary, 90), tuple(canary, 10))},
		[]elbtypes.Action{forward(tuple(canary, 10), tuple(primary, 90))}
	if Fingerprint(a) != Fingerprint(b) {
		t.Error("the order of groups changes the print")
	}
	sticky := func(seconds int32) []elbtypes.Action {
		f := forward(tuple(primary, 90), tuple(canary, 10))
		f.ForwardConfig.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(true),
			DurationSeconds: aws.Int32(seconds)}
		return []elbtypes.Action{f}
	}
	if Fingerprint(sticky(60)) == Fingerprint(sticky(600)) {
		t.Error("another time of stickiness has the same print")
	}
	for name, other := range map[string][]elbtypes.Action{
		"stickiness": sticky(60),
		"weights":    {forward(tuple(primary, 80), tuple(canary, 20))},
		"groups":     {forward(tuple(primary, 90), tuple(third, 10))},
		"actions": {{Type: elbtypes.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}},
	} {
		if Fingerprint(other) == Fingerprint(a) {
			t.Errorf("other %s have the same print", name)
		}
	}
}

func TestRulesSurviveBeingSaved(t *testing.T) {
	fwd := forward(tuple(primary, 100), tuple(canary, 0))
	was := rule("r", fwd)
	data, err := json.Marshal([]Rule{was})
	if err != nil {
		t.Fatal(err)
	}
	var back []Rule
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if Fingerprint(back[0].Actions) != Fingerprint(was.Actions) || back[0].ARN != was.ARN || len(back[0].Forward) != 2 {
		t.Errorf("came back as %s", data)
	}
}

func TestWeightsAreWholePercentagesOrNotValid(t *testing.T) {
	for _, c := range []struct {
		p, c int32
		want string
	}{{100, 0, "primary 100 / canary 0"}, {1, 1, "primary 50 / canary 50"}, {999, 0, "primary 100 / canary 0"},
		{9, 1, "primary 90 / canary 10"}} {
		if got := rule("r", forward(tuple(primary, c.p), tuple(canary, c.c))).percentWeights(primary,
			canary); got.String() != c.want {
			t.Errorf("%d:%d is %s, want %s", c.p, c.c, got, c.want)
		}
	}
	for _, c := range [][2]int32{{0, 0}, {2, 1}} {
		if rule("r", forward(tuple(primary, c[0]), tuple(canary, c[1]))).percentWeights(primary, canary).Valid() {
			t.Errorf("%v is taken for whole percentages", c)
		}
	}
}
