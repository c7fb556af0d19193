package appfile

import (
	"regexp"
	"strings"
)

// queryArgs are the parameters of the queries of one gate, which are written as in PipeCD: {{ .App.Name }}.
type queryArgs struct {
	app         string            // .App.Name; empty: not known
	custom      map[string]string // .AppCustomArgs
	variant     string            // .Variant
	variantArgs map[string]string // .VariantArgs
}

// parameter matches one parameter of a query.
var parameter = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)

// hideParameters returns a query with * in place of each parameter.
func hideParameters(text string) string { return parameter.ReplaceAllString(text, "*") }

// expand replaces the parameters of a query. unknown has those that a does not know.
func (a queryArgs) expand(text string) (expanded string, unknown []string) {
	expanded = parameter.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.TrimSpace(strings.Trim(found, "{}- \t\n"))
		value, ok := a.lookUp(name)
		if !ok {
			unknown = append(unknown, name)
		}
		return value
	})
	return expanded, unknown
}

func (a queryArgs) lookUp(name string) (value string, ok bool) {
	switch {
	case name == ".Variant":
		return a.variant, true
	case name == ".App.Name":
		return a.app, a.app != ""
	}
	if key, is := strings.CutPrefix(name, ".VariantArgs."); is {
		value, ok = a.variantArgs[key]
	} else if key, is := strings.CutPrefix(name, ".AppCustomArgs."); is {
		value, ok = a.custom[key]
	}
	return value, ok
}
