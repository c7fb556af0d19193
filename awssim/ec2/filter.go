package ec2

import (
	"errors"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// filterValues returns the values of a resource under a filter's name; ok is false for names that
// its kind does not support.
type filterValues func(name string) (values []string, ok bool)

// matchesFilters reports whether a resource matches all filters.
func matchesFilters(filters []Filter, tags []Tag, of filterValues) (bool, error) {
	for _, f := range filters {
		if f.Name == "" || len(f.Values) == 0 {
			return false, world.Refuse("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		}
		values, ok := tagValues(f.Name, tags)
		if !ok {
			values, ok = of(f.Name)
		}
		if !ok {
			return false, world.Refuse("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		}
		if !anyMatches(values, f.Values) {
			return false, nil
		}
	}
	return true, nil
}

func tagValues(name string, tags []Tag) (values []string, ok bool) {
	key, byKey := strings.CutPrefix(name, "tag:")
	if !byKey && name != "tag-key" {
		return nil, false
	}
	for _, t := range tags {
		switch {
		case !byKey:
			values = append(values, t.Key)
		case t.Key == key:
			values = append(values, t.valueText())
		}
	}
	return values, true
}

func anyMatches(values, patterns []string) bool {
	for _, v := range values {
		for _, p := range patterns {
			if matchesPattern(v, p) {
				return true
			}
		}
	}
	return false
}

// matchesPattern compares with a pattern: * matches any text, ? one character.
func matchesPattern(s, pattern string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			for i := 0; i <= len(s); i++ {
				if matchesPattern(s[i:], strings.TrimLeft(pattern, "*")) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
		}
		s, pattern = s[1:], pattern[1:]
	}
	return s == ""
}

// pageOf returns one page. A list without MaxResults has up to 1,000 items.
func pageOf[T any](items []T, ids int, max *int32, token *string, id func(T) string) ([]T, *string, error) {
	n := 0
	switch {
	case max != nil && ids > 0:
		return nil, nil, world.Refuse("InvalidParameterCombination",
			"The parameter MaxResults cannot be used with a list of ids")
	case max != nil && (*max < 5 || *max > 1000):
		return nil, nil,
			world.Refuse("InvalidParameterValue",
				"Value ( %d ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.", *max)
	case max != nil:
		n = int(*max)
	}
	page, next, err := wire.Page(items, token, n, 1000, 1000, id)
	if errors.Is(err, wire.ErrToken) {
		return nil, nil, world.Refuse("InvalidPaginationToken", "The pagination token is invalid")
	}
	return page, next, err
}

func missingParameter(parameter string) error {
	return world.Refuse("MissingParameter", "The request must contain the parameter %s", parameter)
}

// selectRows returns the rows with the given ids, or all; it refuses an unknown id.
func selectRows[T any](o *world.Ordered[T], ids []string, unknown func(id string) error) ([]T, error) {
	if len(ids) == 0 {
		return o.Values(), nil
	}
	want := map[string]bool{}
	for _, id := range ids {
		if _, ok := o.Get(id); !ok {
			return nil, unknown(id)
		}
		want[id] = true
	}
	var rows []T
	for id, row := range o.All() {
		if want[id] {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func booleanValue(b bool) []string {
	if b {
		return []string{"true"}
	}
	return []string{"false"}
}
