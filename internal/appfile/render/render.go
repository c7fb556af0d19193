// Package render evaluates files that are programs: Jsonnet, and templates with the functions env, must_env
// and json_escape, as users of ecspresso write them.
//
// It reads only files of the folder that it is given, environment variables by name, and for lookups the values that
// its [Remote] reads. It does not write files.
//
// Start reading at [Environment.Evaluate].
package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Environment evaluates files, with what they may take from the process that reads them.
type Environment struct {
	// Lookup returns an environment variable that is set and not empty. Nil: there is none.
	Lookup func(name string) (value string, ok bool)
	// Variables returns a variable of a sluice.yaml that is set and not empty. Nil: there is none.
	Variables func(name string) (value string, ok bool)
	// Chosen is the environment of a sluice.yaml; empty: none is chosen.
	Chosen string
	// Dir is the absolute path of the folder of the application file; empty: it is not known.
	Dir string
	// Root opens the folder that the key root of a sluice.yaml names: see OpenRoot. Nil: there is none.
	Root func(root string) (files fs.FS, folder string, err error)
	// ExtStr and ExtCode are the external variables of Jsonnet: text, and Jsonnet code.
	ExtStr, ExtCode map[string]string

	// Bound calls evaluate, which evaluates one Jsonnet file. It returns an error, such as a [MemoryError], if it does not
	// wait for its end. Nil: there is no bound.
	Bound func(evaluate func()) error

	// Open opens a Region of AWS for lookups, at the first one; empty: the Region that the environment gives. Nil:
	// there are no lookups in AWS.
	Open func(region string) (Remote, error)

	lookups    []lookup
	isStarted  bool // see StartPlugins
	region     string
	remote     Remote // nil: not open yet
	parameters map[string][2]string
	secrets    []string
}

// LookupEnv returns an environment variable that is set and not empty.
func (e Environment) LookupEnv(name string) (value string, ok bool) {
	if e.Lookup == nil {
		return "", false
	}
	return e.Lookup(name)
}

// Variable returns a variable of a sluice.yaml that is set and not empty.
func (e Environment) Variable(name string) (value string, ok bool) {
	if e.Variables == nil {
		return "", false
	}
	return e.Variables(name)
}

// Folder returns the absolute path of the folder of the application file, or "".
func (e Environment) Folder() string { return e.Dir }

// EnvironmentName returns the environment of a sluice.yaml that was chosen, or "".
func (e Environment) EnvironmentName() string { return e.Chosen }

// OpenRoot returns the folder that the key root of a sluice.yaml names, and the name in it of the folder of that file.
func (e Environment) OpenRoot(root string) (files fs.FS, folder string, err error) {
	if e.Root == nil {
		return nil, "", errors.New("files outside the folder are not read here")
	}
	return e.Root(root)
}

// MemoryError is an evaluation that needs more memory than Limit, in bytes.
type MemoryError struct{ Limit uint64 }

func (e MemoryError) Error() string {
	return fmt.Sprintf("the Jsonnet needs more than %d MB of memory", e.Limit>>20)
}

func (e Environment) bound(evaluate func()) error {
	if e.Bound == nil {
		evaluate()
		return nil
	}
	return e.Bound(evaluate)
}

// Evaluate returns the text of a file: Jsonnet is evaluated if its name says so, then a template. Jsonnet
// imports from files. shown is how problems name the text: the lines of a template remain where they are, and
// those of Jsonnet do not. Its error is a [*definition.Problem].
func (e Environment) Evaluate(files fs.FS, name string, data []byte) (shown string, text []byte, err error) {
	shown = name
	if path.Ext(name) == ".jsonnet" {
		if shown, data, err = e.EvaluateJsonnet(files, name, data); err != nil {
			return "", nil, err
		}
	}
	text, err = e.executeTemplate(shown, string(data))
	return shown, text, err
}

// EvaluateJsonnet is the part of [Environment.Evaluate] that evaluates Jsonnet.
func (e Environment) EvaluateJsonnet(files fs.FS, name string, data []byte) (shown string, text []byte, err error) {
	evaluated, err := e.evaluateJsonnet(files, name, string(data))
	return name + " (evaluated)", []byte(evaluated), err
}

// unsetError is a variable that a file asks for and that is not set.
type unsetError struct{ function, name string }

func (e unsetError) Error() string {
	return fmt.Sprintf("%s: the environment variable %s is not set, or is empty", e.function, e.name)
}

// next returns what to do about the error of a function.
func next(err error) string {
	var unset unsetError
	var failed lookupError
	var external jsonnet.RuntimeError
	switch {
	case errors.As(err, new(MemoryError)):
		return "make the lists and the text that it builds smaller, above all those of std.makeArray and std.repeat"
	case errors.As(err, &failed):
		return failed.next
	case errors.As(err, &external):
		if name, found := strings.CutPrefix(withoutMark(external.Msg), "Undefined external variable: "); found {
			return fmt.Sprintf("give it a value: --ext-str %s=VALUE, or --ext-code for a value that is not text", name)
		}
		return ""
	case !errors.As(err, &unset):
		return ""
	case unset.function == "env":
		return fmt.Sprintf("set %s, or give env a default", unset.name)
	}
	return fmt.Sprintf("set %s, or put it into a file that --envfile names", unset.name)
}

// mustEnv returns a variable that has to be set.
func (e Environment) mustEnv(name string) (string, error) {
	if v, ok := e.LookupEnv(name); ok {
		return v, nil
	}
	return "", unsetError{"must_env", name}
}

// env returns the first variable that is set. The last argument of several is the default.
func (e Environment) env(names ...string) (string, error) {
	if len(names) == 0 {
		return "", errors.New("env needs the name of a variable")
	}
	for i, name := range names {
		if i > 0 && i == len(names)-1 {
			return name, nil
		}
		if v, err := e.mustEnv(name); err == nil {
			return v, nil
		}
	}
	return "", unsetError{"env", names[0]}
}

// problemOf returns an error of an evaluation as a problem of a place. A column of 0 is unknown.
func problemOf(file string, line, column int, err error, message string) *definition.Problem {
	return &definition.Problem{File: file, Line: max(line, 1), Column: max(column, 1),
		Message: strings.TrimSpace(message), Next: next(err)}
}
