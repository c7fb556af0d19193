package servicediscovery

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Quotas (Cloud Map Developer Guide, "Quotas").
const (
	maxNamespaces         = 50
	maxNamespaceInstances = 2000
	maxInstances          = 1000
	maxAttributes         = 30
	maxTags               = 50
)

func invalidInput(format string, args ...any) error {
	return world.Refuse("InvalidInput", format, args...)
}

func constraintViolation(value any, member, must string) error {
	if value == nil {
		return invalidInput("1 validation error detected: Value null at '%s' failed to satisfy constraint: %s", member,
			must)
	}
	return invalidInput("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: %s", value,
		member, must)
}

func checkGiven(s *string, member string) error {
	if s == nil || *s == "" {
		return constraintViolation(nil, member, "Member must not be null")
	}
	return nil
}

func checkLength(s *string, member string, most int) error {
	if len(val(s)) > most {
		return constraintViolation(*s, member, "Member must have length less than or equal to "+itoa(most))
	}
	return nil
}

func checkPattern(s *string, member string, pattern *regexp.Regexp) error {
	if err := checkGiven(s, member); err != nil {
		return err
	}
	if !pattern.MatchString(*s) {
		return constraintViolation(*s, member, "Member must satisfy regular expression pattern: "+pattern.String())
	}
	return nil
}

func checkOneOf[T ~string](v T, member string, known []T) error {
	if slices.Contains(known, v) {
		return nil
	}
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	return constraintViolation(string(v), member, "Member must satisfy enum value set: ["+strings.Join(names, ", ")+"]")
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pageOf returns one page of a list; limit is the maximum and default size.
func pageOf[T any](items []T, token *string, max *int32, limit int, id func(T) string) ([]T, *string, error) {
	if max != nil && (*max < 1 || int(*max) > limit) {
		return nil, nil, constraintViolation(*max, "maxResults", "Member must have value between 1 and "+itoa(limit))
	}
	page, next, err := wire.Page(items, token, int(val(max)), limit, limit, id)
	if err != nil {
		return nil, nil, invalidInput("Invalid NextToken")
	}
	return page, next, nil
}

// filter is one condition of a list call.
type filter struct {
	name, condition string
	values          []string
}

// accepts reports whether a value meets the condition; EQ is the default.
func (f filter) accepts(value string) bool {
	if f.condition == "BEGINS_WITH" {
		return slices.ContainsFunc(f.values, func(v string) bool { return strings.HasPrefix(value, v) })
	}
	return slices.Contains(f.values, value)
}

// checkKnown refuses a condition that the list does not support. known maps filter names to their
// conditions.
func (f filter) checkKnown(known map[string]string) error {
	conditions, ok := known[f.name]
	switch {
	case !ok:
		return invalidInput("Filter name %q is not supported", f.name)
	case len(f.values) == 0:
		return invalidInput("Filter %q has no values", f.name)
	case f.condition != "" && !slices.Contains(strings.Fields(conditions), f.condition):
		return invalidInput("Condition %s is not supported for filter %s", f.condition, f.name)
	case len(f.values) > 1 && (f.condition == "" || f.condition == "EQ" || f.condition == "BEGINS_WITH"):
		return invalidInput("Filter %s takes one value", f.name)
	}
	return nil
}
