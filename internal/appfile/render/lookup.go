package render

import (
	"encoding/json"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/tfstate"
)

// lookup is a function that reads a value. Templates have it by its name, and Jsonnet by std.native.
type lookup struct {
	name   string
	params []string // in Jsonnet, which needs all of them
	least  int      // how many arguments a template needs
	// maxArgs is how many arguments a template may have; 0: as many as Jsonnet has.
	maxArgs int
	read    func(args []any) (any, error)
	// isFormatted reports whether templates have a form of it with f, which takes a format and its arguments.
	isFormatted bool
	onlyJsonnet bool
}

// lookupError is a lookup without a value.
type lookupError struct {
	function string
	err      error
	next     string
}

func (e lookupError) Error() string { return e.function + ": " + e.err.Error() }

func (e lookupError) Unwrap() error { return e.err }

// StartPlugins removes the functions of plugins that were added before, and adds those that ecspresso's files have
// without a plugin: ssm and secretsmanager_arn. They read from the Region.
func (e *Environment) StartPlugins(region string) {
	e.lookups, e.isStarted = nil, true
	if e.remote == nil || e.region != region {
		e.region, e.remote, e.parameters = region, nil, nil
	}
	e.addParameters("")
	e.addSecrets("")
}

// AddPlugin adds the functions of the plugin ssm, secretsmanager or cloudformation. Their names begin with the prefix.
func (e *Environment) AddPlugin(name, prefix string) {
	switch name {
	case "ssm":
		e.addParameters(prefix)
	case "secretsmanager":
		e.addSecrets(prefix)
	case "cloudformation":
		e.addStacks(prefix)
	}
}

// add adds a function, unless there is one of that name.
func (e *Environment) add(l lookup) {
	if !e.hasLookup(l.name) {
		e.lookups = append(e.lookups, l)
	}
}

func (e *Environment) hasLookup(name string) bool {
	for _, l := range e.lookups {
		if l.name == name {
			return true
		}
	}
	return false
}

// AddState adds the functions tfstate and tfstatef for a Terraform state. Their names begin with the prefix.
func (e *Environment) AddState(prefix string, state []byte) error {
	parsed, err := tfstate.Parse(state)
	if err != nil {
		return err
	}
	name := prefix + "tfstate"
	if e.hasLookup(name) {
		return fmt.Errorf("the function %s is defined twice: give one of the plugins a func_prefix", name)
	}
	e.add(lookup{name: name, params: []string{"address"}, least: 1, isFormatted: true,
		read: func(args []any) (any, error) {
			address, err := textsOf(name, args)
			if err != nil {
				return nil, err
			}
			value, err := parsed.Lookup(address[0])
			if err != nil {
				return nil, lookupError{name, err, "check the address: terraform state list prints them"}
			}
			return value, nil
		}})
	return nil
}

// text checks the number of arguments, and returns the value as a template writes it: a text as it is, and any other
// value as JSON.
func (l lookup) text(args ...any) (string, error) {
	if len(args) < l.least || len(args) > max(l.maxArgs, len(l.params)) {
		return "", fmt.Errorf("%s takes %s, and got %d", l.name, sluice.Plural(l.least, "argument"), len(args))
	}
	value, err := l.read(args)
	if text, isText := value.(string); isText || err != nil {
		return text, err
	}
	data, err := json.Marshal(value)
	return string(data), err
}
