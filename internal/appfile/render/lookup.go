package render

import (
	"encoding/json"
	"fmt"

	"github.com/sluice-ecs/sluice/internal/appfile/tfstate"
)

// lookup is a function that reads a value by one text. Templates have it by its name, and Jsonnet by std.native.
type lookup struct {
	name  string
	param string
	read  func(key string) (any, error)
}

// lookupError is a lookup without a value.
type lookupError struct {
	function string
	err      error
	next     string
}

func (e lookupError) Error() string { return e.function + ": " + e.err.Error() }

func (e lookupError) Unwrap() error { return e.err }

// AddState adds the functions tfstate and tfstatef for a Terraform state. Their names begin with the prefix.
func (e *Environment) AddState(prefix string, state []byte) error {
	parsed, err := tfstate.Parse(state)
	if err != nil {
		return err
	}
	name := prefix + "tfstate"
	for _, l := range e.lookups {
		if l.name == name {
			return fmt.Errorf("the function %s is defined twice: give one of the plugins a func_prefix", name)
		}
	}
	e.lookups = append(e.lookups, lookup{name: name, param: "address",
		read: func(address string) (any, error) {
			value, err := parsed.Lookup(address)
			if err != nil {
				return nil, lookupError{name, err, "check the address: terraform state list prints them"}
			}
			return value, nil
		}})
	return nil
}

// textOf returns a value as a template writes it: a text as it is, and any other value as JSON.
func textOf(value any) (any, error) {
	if _, isText := value.(string); isText {
		return value, nil
	}
	data, err := json.Marshal(value)
	return string(data), err
}

// addLookups adds the lookups to the functions of a template. Each has a form with f, which takes a format and
// its arguments.
func (e Environment) addLookups(functions map[string]func(args []any) (any, error)) {
	for _, l := range e.lookups {
		read := func(key string) (any, error) {
			value, err := l.read(key)
			if err != nil {
				return nil, err
			}
			return textOf(value)
		}
		functions[l.name] = withTexts(l.name, 1, func(texts []string) (any, error) { return read(texts[0]) })
		functions[l.name+"f"] = func(args []any) (any, error) {
			format, ok := first(args).(string)
			if !ok {
				return nil, fmt.Errorf("%sf needs a format", l.name)
			}
			return read(fmt.Sprintf(format, args[1:]...))
		}
	}
}
