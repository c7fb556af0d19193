package elbv2

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxConditionValues = 5   // per rule
	maxConditionLength = 128 // characters of a value
	maxWildcards       = 6   // per rule
	maxNameLength      = 40  // of methods and of the names of headers
)

// newConditions checks the conditions of a rule and converts them for the world.
func newConditions(in []elbtypes.RuleCondition) ([]world.Condition, error) {
	if len(in) == 0 {
		return nil, validationError("A condition must be specified")
	}
	var out []world.Condition
	seen, values, wildcards := map[string]bool{}, 0, 0
	for _, c := range in {
		x, err := newCondition(c)
		if err != nil {
			return nil, err
		}
		if once := x.Field != "http-header" && x.Field != "query-string"; once && seen[x.Field] {
			return nil, validationError("A rule can only have one '%s' condition", x.Field)
		}
		seen[x.Field] = true
		values += len(x.Values) + len(x.Regex) + len(x.Query)
		wildcards += countWildcards(x)
		out = append(out, x)
	}
	if wildcards > maxWildcards {
		return nil, validationError("A rule can only have '%d' condition wildcards", maxWildcards)
	}
	if values > maxConditionValues {
		return nil, validationError("A rule can only have '%d' condition values", maxConditionValues)
	}
	return out, nil
}

func countWildcards(c world.Condition) (n int) {
	count := func(s string) { n += strings.Count(s, "*") + strings.Count(s, "?") }
	for _, v := range c.Values {
		count(v)
	}
	for _, q := range c.Query {
		count(q.Key)
		count(q.Value)
	}
	return n
}

func newCondition(c elbtypes.RuleCondition) (world.Condition, error) {
	x := world.Condition{Field: val(c.Field), Header: headerName(c), Values: slices.Clone(c.Values),
		Regex: slices.Clone(c.RegexValues)}
	values, regex, query := configuredValues(c)
	if len(x.Values)+len(x.Regex) > 0 && len(values)+len(regex)+len(query) > 0 {
		return x, validationError("You cannot specify both values and a configuration for condition '%s'", x.Field)
	}
	if err := checkOlderForm(c); err != nil {
		return x, err
	}
	x.Values, x.Regex = append(x.Values, values...), append(x.Regex, regex...)
	for _, q := range query {
		x.Query = append(x.Query, world.QueryPair{Key: val(q.Key), Value: val(q.Value)})
	}
	return x, checkCondition(x)
}

// checkOlderForm rejects what the older form of a condition, values without a configuration, cannot
// express: it has only one host name or one path.
func checkOlderForm(c elbtypes.RuleCondition) error {
	field := val(c.Field)
	name, configured := configurationOf(c)
	switch {
	case !isField(field):
		return nil
	case field == "host-header" || field == "path-pattern":
		if len(c.Values) > 1 {
			return validationError("The '%s' field contains too many values; the limit is '1'", field)
		}
	case len(c.Values) > 0:
		return validationError("The 'Values' field is not compatible with '%s'", field)
	case !configured && len(c.RegexValues) == 0:
		return validationError("A '%s' must be specified with '%s'", name, field)
	}
	return nil
}

// configurationOf returns the name of the configuration that belongs to the field, and whether the
// condition has it.
func configurationOf(c elbtypes.RuleCondition) (name string, has bool) {
	switch val(c.Field) {
	case "host-header":
		return "HostHeaderConfig", c.HostHeaderConfig != nil
	case "path-pattern":
		return "PathPatternConfig", c.PathPatternConfig != nil
	case "http-header":
		return "HttpHeaderConfig", c.HttpHeaderConfig != nil
	case "http-request-method":
		return "HttpRequestMethodConfig", c.HttpRequestMethodConfig != nil
	case "source-ip":
		return "SourceIpConfig", c.SourceIpConfig != nil
	case "query-string":
		return "QueryStringConfig", c.QueryStringConfig != nil
	}
	return "", false
}

func headerName(c elbtypes.RuleCondition) string {
	if c.HttpHeaderConfig == nil {
		return ""
	}
	return val(c.HttpHeaderConfig.HttpHeaderName)
}

// configuredValues returns the values of the configuration that belongs to the field. It ignores
// other configurations.
func configuredValues(c elbtypes.RuleCondition) (values, regex []string, query []elbtypes.QueryStringKeyValuePair) {
	switch field := val(c.Field); {
	case field == "host-header" && c.HostHeaderConfig != nil:
		return c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues, nil
	case field == "path-pattern" && c.PathPatternConfig != nil:
		return c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues, nil
	case field == "http-header" && c.HttpHeaderConfig != nil:
		return c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues, nil
	case field == "http-request-method" && c.HttpRequestMethodConfig != nil:
		return c.HttpRequestMethodConfig.Values, nil, nil
	case field == "source-ip" && c.SourceIpConfig != nil:
		return c.SourceIpConfig.Values, nil, nil
	case field == "query-string" && c.QueryStringConfig != nil:
		return nil, nil, c.QueryStringConfig.Values
	}
	return nil, nil, nil
}

var conditionFields = []string{"path-pattern", "host-header", "http-header", "http-request-method", "query-string",
	"source-ip"}

func isField(name string) bool { return slices.Contains(conditionFields, name) }

func checkCondition(c world.Condition) error {
	switch {
	case !isField(c.Field):
		return validationError("Condition field '%s' must be one of '[path-pattern, host-header, http-header, "+
			"http-request-method, query-string, source-ip]'", c.Field)
	case len(c.Values)+len(c.Regex)+len(c.Query) == 0:
		return noValue(c.Field)
	case len(c.Header) > maxNameLength:
		return validationError("The 'HttpHeaderName' value is too long; the limit is '%d'", maxNameLength)
	case c.Field == "http-header" && (c.Header == "" || strings.ContainsAny(c.Header, "*?")):
		return validationError("The HTTP header name '%s' must have 1 to 40 characters and no wildcards", c.Header)
	case len(c.Regex) > 0 && c.Field != "host-header" && c.Field != "path-pattern" && c.Field != "http-header":
		return validationError("Regex values are not supported for condition '%s'", c.Field)
	}
	for _, v := range c.Values {
		if err := checkValue(c.Field, v); err != nil {
			return err
		}
	}
	for _, v := range c.Regex {
		if len(v) > maxConditionLength {
			return tooLong(c.Field)
		}
		if _, err := regexp.Compile(v); err != nil || !hasUpTo128(v) {
			return validationError("The regex value '%s' of condition '%s' is not valid", v, c.Field)
		}
	}
	for _, q := range c.Query {
		switch {
		case len(q.Key) > maxConditionLength:
			return tooLong("Key")
		case len(q.Value) > maxConditionLength:
			return tooLong("Value")
		case q.Value == "":
			return validationError("A 'Value' must be specified in 'QueryStringKeyValuePair'")
		}
	}
	return nil
}

func noValue(field string) error {
	if field == "host-header" || field == "path-pattern" {
		return validationError("A condition value must be specified")
	}
	return validationError("A '%s' value must be specified", field)
}

// checkValue rejects a value that the field cannot have.
func checkValue(field, v string) error {
	_, notRange := netip.ParsePrefix(v)
	switch {
	case len(v) > maxConditionLength:
		return tooLong(field)
	case !hasAllowedCharacters(field, v):
		return validationError("The value '%s' of condition '%s' contains characters that are not allowed", v, field)
	case field == "http-request-method" && len(v) > maxNameLength:
		return validationError("The '%s' value is too long; the limit is '%d'", field, maxNameLength)
	case field == "http-request-method" && strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "":
		return validationError("The '%s' value is invalid; the allowed characters are A-Z, hyphen and underscore", field)
	case v == "", field == "source-ip" && notRange != nil:
		return validationError("The value '%s' of condition '%s' is not valid", v, field)
	}
	return nil
}

func hasUpTo128(s string) bool { return s != "" && len(s) <= maxConditionLength }

// tooLong refuses a long value of a field, or of a member of a condition.
func tooLong(name string) error {
	return validationError("The '%s' value is too long; the limit is '%d'", name, maxConditionLength)
}

// allowedCharacters are the characters of host names and paths in conditions, besides letters and
// digits (ALB user guide, "Condition types for listener rules").
var allowedCharacters = map[string]string{"host-header": "-.*?", "path-pattern": "_-.$/~\"'@:+&;*?"}

func hasAllowedCharacters(field, value string) bool {
	more, limited := allowedCharacters[field]
	return !limited || strings.Trim(value, more+"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// shapeConditions returns conditions in the form in which AWS returns them: host and path also in
// the older form.
func shapeConditions(in []world.Condition) []elbtypes.RuleCondition {
	out := []elbtypes.RuleCondition{}
	for _, c := range in {
		x := elbtypes.RuleCondition{Field: ptr(c.Field)}
		values, regex := slices.Clone(c.Values), slices.Clone(c.Regex)
		switch c.Field {
		case "host-header":
			x.Values, x.HostHeaderConfig = slices.Clone(c.Values), &elbtypes.HostHeaderConditionConfig{Values: values,
				RegexValues: regex}
		case "path-pattern":
			x.Values, x.PathPatternConfig = slices.Clone(c.Values), &elbtypes.PathPatternConditionConfig{Values: values,
				RegexValues: regex}
		case "http-header":
			x.HttpHeaderConfig = &elbtypes.HttpHeaderConditionConfig{HttpHeaderName: ptr(c.Header), Values: values,
				RegexValues: regex}
		case "http-request-method":
			x.HttpRequestMethodConfig = &elbtypes.HttpRequestMethodConditionConfig{Values: values}
		case "source-ip":
			x.SourceIpConfig = &elbtypes.SourceIpConditionConfig{Values: values}
		case "query-string":
			x.QueryStringConfig = &elbtypes.QueryStringConditionConfig{}
			for _, q := range c.Query {
				x.QueryStringConfig.Values = append(x.QueryStringConfig.Values,
					elbtypes.QueryStringKeyValuePair{Key: optionalText(q.Key), Value: ptr(q.Value)})
			}
		}
		out = append(out, x)
	}
	return out
}
