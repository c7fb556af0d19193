package alb

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/internal/view"
)

// conditionsOf returns the conditions of a rule. AWS returns the values of a host or path in an older place too.
func conditionsOf(all []elbtypes.RuleCondition) (out []view.Condition) {
	for _, c := range all {
		x := view.Condition{Field: aws.ToString(c.Field), Values: c.Values}
		switch {
		case c.PathPatternConfig != nil:
			x.Values, x.Regex = valuesOf(c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues)
		case c.HostHeaderConfig != nil:
			x.Values, x.Regex = valuesOf(c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues)
		case c.HttpHeaderConfig != nil:
			x.Header = aws.ToString(c.HttpHeaderConfig.HttpHeaderName)
			x.Values, x.Regex = valuesOf(c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues)
		case c.HttpRequestMethodConfig != nil:
			x.Values = c.HttpRequestMethodConfig.Values
		case c.SourceIpConfig != nil:
			x.Values = c.SourceIpConfig.Values
		case c.QueryStringConfig != nil:
			x.Values = nil
			for _, q := range c.QueryStringConfig.Values {
				x.Values = append(x.Values, aws.ToString(q.Key)+"="+aws.ToString(q.Value))
			}
		}
		out = append(out, x)
	}
	return out
}

// valuesOf returns the values of a condition. A condition has either patterns or regular expressions.
func valuesOf(patterns, expressions []string) (values []string, regex bool) {
	if len(expressions) > 0 {
		return slices.Clone(expressions), true
	}
	return slices.Clone(patterns), false
}
