// Package query fills the parameters of a gate's queries, which are written as in PipeCD: {{ .App.Name }}.
package query

import (
	"regexp"
	"strings"
)

// Args are the parameters of the queries of one gate.
type Args struct {
	App         string            // .App.Name; empty: not known
	Custom      map[string]string // .AppCustomArgs
	Variant     string            // .Variant
	VariantArgs map[string]string // .VariantArgs
}

// parameter matches one parameter of a query.
var parameter = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)

// HideParameters returns a query with * in place of each parameter.
func HideParameters(text string) string { return parameter.ReplaceAllString(text, "*") }

// Expand replaces the parameters of a query. unknown has those that a does not know.
func (a Args) Expand(text string) (expanded string, unknown []string) {
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

func (a Args) lookUp(name string) (value string, ok bool) {
	switch {
	case name == ".Variant":
		return a.Variant, true
	case name == ".App.Name":
		return a.App, a.App != ""
	}
	if key, is := strings.CutPrefix(name, ".VariantArgs."); is {
		value, ok = a.VariantArgs[key]
	} else if key, is := strings.CutPrefix(name, ".AppCustomArgs."); is {
		value, ok = a.Custom[key]
	}
	return value, ok
}
