package alb

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/view"
)

// Rule is a listener rule with all its actions, as AWS returns them.
type Rule struct {
	sluice.Rule
	Actions    []elbtypes.Action
	conditions []view.Condition // none: a default action, or not read with its listener
	protocol   string           // of the listener; empty: not read with its listener
}

// FindRule returns the rule of an ARN, if it is among all.
func FindRule(all []Rule, arn string) (r Rule, ok bool) {
	i := slices.IndexFunc(all, func(r Rule) bool { return r.ARN == arn })
	if i < 0 {
		return r, false
	}
	return all[i], true
}

// forwardShares returns the target groups of the forward action, if there is one. It normalizes
// reads: AWS may return one group in TargetGroupArn, in ForwardConfig or in both.
func forwardShares(actions []elbtypes.Action) []sluice.Share {
	for _, a := range actions {
		if a.Type != elbtypes.ActionTypeEnumForward {
			continue
		}
		if a.ForwardConfig == nil || len(a.ForwardConfig.TargetGroups) == 0 {
			return []sluice.Share{{Group: aws.ToString(a.TargetGroupArn), Weight: 1}}
		}
		var out []sluice.Share
		for _, t := range a.ForwardConfig.TargetGroups {
			out = append(out, sluice.Share{Group: aws.ToString(t.TargetGroupArn), Weight: tupleWeight(t)})
		}
		return out
	}
	return nil
}

func tupleWeight(t elbtypes.TargetGroupTuple) int {
	if t.Weight == nil {
		return 1
	}
	return int(*t.Weight)
}

// forwardsToBoth reports whether the rule forwards to exactly the two groups.
func (r Rule) forwardsToBoth(primary, canary string) bool {
	_, p := r.Weight(primary)
	_, c := r.Weight(canary)
	return p && c && len(r.Forward) == 2
}

// forwardsOnlyTo reports whether the rule forwards to that group only.
func (r Rule) forwardsOnlyTo(group string) bool {
	return len(r.Forward) == 1 && r.Forward[0].Group == group
}

// percentWeights returns the shares of primary and canary in percent. They are not Valid if they
// are not whole percentages.
func (r Rule) percentWeights(primary, canary string) sluice.Weights {
	p, _ := r.Weight(primary)
	c, _ := r.Weight(canary)
	if p+c == 0 || p*100%(p+c) != 0 {
		return sluice.Weights{}
	}
	w, _ := sluice.NewWeights(p*100/(p+c), c*100/(p+c))
	return w
}

// forwardTo returns the actions with the forward action set to the groups and their weights. It
// keeps order, stickiness and every other action.
func forwardTo(actions []elbtypes.Action, groups []sluice.Share) []elbtypes.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if a.Type != elbtypes.ActionTypeEnumForward {
			out[i] = writableAction(a)
			continue
		}
		config := elbtypes.ForwardActionConfig{}
		if a.ForwardConfig != nil {
			config.TargetGroupStickinessConfig = a.ForwardConfig.TargetGroupStickinessConfig
		}
		for _, g := range groups {
			config.TargetGroups = append(config.TargetGroups, elbtypes.TargetGroupTuple{
				TargetGroupArn: aws.String(g.Group), Weight: aws.Int32(int32(g.Weight))})
		}
		out[i].TargetGroupArn, out[i].ForwardConfig = nil, &config
	}
	return out
}

// writableAction converts an action that was read to one that can be written. DescribeRules does
// not return the client secret of an OIDC action. A write without the secret must request that AWS
// keeps the existing one (ELBv2 API Reference, "AuthenticateOidcActionConfig").
func writableAction(a elbtypes.Action) elbtypes.Action {
	if a.AuthenticateOidcConfig != nil {
		c := *a.AuthenticateOidcConfig
		c.ClientSecret, c.UseExistingClientSecret = nil, aws.Bool(true)
		a.AuthenticateOidcConfig = &c
	}
	return a
}

// writableActions converts a list of actions that was read to one that can be written.
func writableActions(actions []elbtypes.Action) []elbtypes.Action {
	out := make([]elbtypes.Action, len(actions))
	for i, a := range actions {
		out[i] = writableAction(a)
	}
	return out
}

// Fingerprint returns a fingerprint of the effect of a list of actions. Two lists that AWS treats
// alike have the same fingerprint, however AWS returns them.
func Fingerprint(actions []elbtypes.Action) string {
	type plain struct {
		Type   elbtypes.ActionTypeEnum
		Shares []sluice.Share
		Sticky int32
		Rest   elbtypes.Action
	}
	var all []plain
	for _, a := range actions {
		p := plain{Type: a.Type, Rest: writableAction(a)}
		if a.Type == elbtypes.ActionTypeEnumForward {
			p.Shares, p.Sticky = forwardShares([]elbtypes.Action{a}), stickySeconds(a)
			slices.SortFunc(p.Shares, func(x, y sluice.Share) int { return compareGroups(x.Group, y.Group) })
			if len(p.Shares) == 1 {
				p.Shares[0].Weight = 1
			}
			p.Rest.TargetGroupArn, p.Rest.ForwardConfig = nil, nil
		}
		if p.Rest.Order == nil {
			p.Rest.Order = aws.Int32(int32(len(all) + 1))
		}
		all = append(all, p)
	}
	text, _ := json.Marshal(all) // plain values: cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func compareGroups(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// stickiness returns how long the forward action sends a client to the target group that it got first.
func stickiness(actions []elbtypes.Action) (longest time.Duration) {
	for _, a := range actions {
		longest = max(longest, time.Duration(stickySeconds(a))*time.Second)
	}
	return longest
}

func stickySeconds(a elbtypes.Action) int32 {
	if a.ForwardConfig == nil || a.ForwardConfig.TargetGroupStickinessConfig == nil {
		return 0
	}
	s := a.ForwardConfig.TargetGroupStickinessConfig
	if !aws.ToBool(s.Enabled) {
		return 0
	}
	return aws.ToInt32(s.DurationSeconds)
}
