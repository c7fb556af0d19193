package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// element is one element of what a range goes through.
type element struct{ key, value any }

// elementsOf returns the elements of a list, the members of an object by their names, or the numbers below a number.
func elementsOf(value any) ([]element, error) {
	var all []element
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			all = append(all, element{int64(i), item})
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, element{name, v[name]})
		}
	case int64:
		if v > maxSteps {
			return nil, fmt.Errorf("range %d has more than %d turns", v, maxSteps)
		}
		for i := range v {
			all = append(all, element{i, i})
		}
	default:
		return nil, fmt.Errorf("range needs a list, an object or a whole number, and %v is none", value)
	}
	return all, nil
}

// lengthOf returns the length of a text, a list or an object.
func lengthOf(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return int64(len(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return nil, fmt.Errorf("len needs text, a list or an object, and %v is none", value)
}

// indexOf returns the element of a list or the member of an object, by one index for each level.
func indexOf(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("index needs a list or an object")
	}
	value := args[0]
	for _, at := range args[1:] {
		switch v := value.(type) {
		case []any:
			i, isNumber := at.(int64)
			if !isNumber || i < 0 || i >= int64(len(v)) {
				return nil, fmt.Errorf("index: a list of %d has no element %v", len(v), at)
			}
			value = v[i]
		case map[string]any:
			name, _ := at.(string)
			if _, has := v[name]; !has {
				return nil, fmt.Errorf("index: the object has no member %v", at)
			}
			value = v[name]
		default:
			return nil, fmt.Errorf("index needs a list or an object, and %v is none", value)
		}
	}
	return value, nil
}

// sliceOf returns a part of a text or a list: from an index, or from one up to another.
func sliceOf(args []any) (any, error) {
	length, err := lengthOf(first(args))
	if err != nil || len(args) > 3 {
		return nil, errors.New("slice needs text or a list, and at most two indexes")
	}
	bounds := []int64{0, length.(int64)}
	for i, at := range args[1:] {
		n, isNumber := at.(int64)
		if !isNumber || n < 0 || n > length.(int64) {
			return nil, fmt.Errorf("slice: %v is not an index of a length of %d", at, length)
		}
		bounds[i] = n
	}
	if bounds[0] > bounds[1] {
		return nil, fmt.Errorf("slice: %d is above %d", bounds[0], bounds[1])
	}
	switch v := args[0].(type) {
	case string:
		return v[bounds[0]:bounds[1]], nil
	case []any:
		return v[bounds[0]:bounds[1]], nil
	}
	return nil, errors.New("slice needs text or a list")
}

// comparison returns a function that compares two texts or two numbers.
func comparison(holds func(order int) bool) func(args []any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("a comparison needs two values, and got %d", len(args))
		}
		a, isText := args[0].(string)
		b, isOtherText := args[1].(string)
		if isText && isOtherText {
			return holds(strings.Compare(a, b)), nil
		}
		x, isNumber := numberOf(args[0])
		y, isOtherNumber := numberOf(args[1])
		if !isNumber || !isOtherNumber {
			return nil, fmt.Errorf("%v and %v cannot be compared", args[0], args[1])
		}
		return holds(cmp.Compare(x, y)), nil
	}
}

func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
