package render

import (
	"encoding/json"
	"errors"
	"fmt"
)

// functions returns the functions of a template by name.
func (e Environment) functions() map[string]func(args []any) (any, error) {
	all := map[string]func(args []any) (any, error){
		"env":         withTexts("env", -1, func(names []string) (any, error) { return e.env(names...) }),
		"must_env":    withTexts("must_env", 1, func(names []string) (any, error) { return e.mustEnv(names[0]) }),
		"json_escape": withTexts("json_escape", 1, func(texts []string) (any, error) { return escapeJSON(texts[0]) }),
		"print":       func(args []any) (any, error) { return fmt.Sprint(args...), nil },
		"printf": func(args []any) (any, error) {
			format, ok := first(args).(string)
			if !ok {
				return nil, errors.New("printf needs a format")
			}
			return fmt.Sprintf(format, args[1:]...), nil
		},
		"not": func(args []any) (any, error) { return !isTrue(first(args)), nil },
		"eq":  func(args []any) (any, error) { return isEqual(args) },
		"ne": func(args []any) (any, error) {
			same, err := isEqual(args)
			return !same, err
		},
		"println": func(args []any) (any, error) { return fmt.Sprintln(args...), nil },
		"lt":      comparison(func(c int) bool { return c < 0 }),
		"le":      comparison(func(c int) bool { return c <= 0 }),
		"gt":      comparison(func(c int) bool { return c > 0 }),
		"ge":      comparison(func(c int) bool { return c >= 0 }),
		"len":     func(args []any) (any, error) { return lengthOf(first(args)) },
		"index":   indexOf,
		"slice":   sliceOf,
	}
	e.addLookups(all)
	return all
}

// withTexts returns a function that takes a number of texts, or any number if it is -1.
func withTexts(name string, count int, do func(texts []string) (any, error)) func(args []any) (any, error) {
	return func(args []any) (any, error) {
		if count >= 0 && len(args) != count {
			return nil, fmt.Errorf("%s takes %d argument, and got %d", name, count, len(args))
		}
		texts, err := textsOf(name, args)
		if err != nil {
			return nil, err
		}
		return do(texts)
	}
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

// isEqual reports whether the first value is equal to one of the others.
func isEqual(args []any) (bool, error) {
	if len(args) < 2 {
		return false, errors.New("a comparison needs two values")
	}
	for _, other := range args {
		if !isPlain(other) {
			return false, fmt.Errorf("%v cannot be compared", other)
		}
	}
	for _, other := range args[1:] {
		if args[0] == other {
			return true, nil
		}
	}
	return false, nil
}

// isPlain reports whether a value is text, a number or a boolean.
func isPlain(value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// isTrue reports whether a value is neither empty, zero nor false.
func isTrue(value any) bool {
	switch v := value.(type) {
	case string:
		return v != ""
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// escapeJSON returns a text as it is written between the quotes of a JSON string.
func escapeJSON(s string) (string, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return string(data[1 : len(data)-1]), nil
}
