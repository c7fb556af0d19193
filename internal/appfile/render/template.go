package render

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"
)

// maxText is the maximum length of an evaluated text in bytes. It is above that of a definition file,
// which [definition.Parse] checks.
const maxText = 1 << 20

// parseError is the form of an error of package text/template/parse: its line.
var parseError = regexp.MustCompile(`^template: [^:]*:(\d+):(?:\d+:)? ((?s).*)$`)

// executeTemplate evaluates the template of a text. It returns a text without one as it is.
//
// It has the grammar and the actions of Go's text/template, without methods and fields of values. It does not import
// text/template: that package finds methods by name at run time, so the linker would keep every method of the AWS
// SDK, which adds ten megabytes to each program.
func (e Environment) executeTemplate(file, text string) ([]byte, error) {
	if !strings.Contains(text, "{{") {
		return []byte(text), nil
	}
	run := &execution{file: file, functions: e.functions(), trees: map[string]*parse.Tree{}}
	known := map[string]any{"and": true, "or": true}
	for name := range run.functions {
		known[name] = true
	}
	run.tree = parse.New("text")
	if _, err := run.tree.Parse(text, "", "", run.trees, known); err != nil {
		return nil, parseProblem(file, err, e.isStarted)
	}
	if err := run.run(run.tree.Root); err != nil {
		return nil, err
	}
	return []byte(run.out.String()), nil
}

// parseProblem returns an error of the parser with its line. inDefinition is as in adviceOn.
func parseProblem(file string, err error, inDefinition bool) error {
	line, message := 1, err.Error()
	if parts := parseError.FindStringSubmatch(message); parts != nil {
		line, _ = strconv.Atoi(parts[1])
		message = parts[2]
	}
	p := problemOf(file, line, 1, err, "the template is not valid: "+message)
	if name, ok := unknownFunction(message); ok {
		p.Message = fmt.Sprintf("the template function %s is not known", name)
		p.Next = adviceOn(name, inDefinition)
	}
	return p
}

// unknownFunction returns the function that a template calls and that does not exist.
func unknownFunction(message string) (string, bool) {
	quoted, ok := strings.CutPrefix(message, "function ")
	name, _, isQuoted := strings.Cut(strings.TrimPrefix(quoted, `"`), `"`)
	return name, ok && isQuoted && strings.HasSuffix(message, "not defined")
}

// adviceOn returns what to do about a function that is not known. inDefinition reports whether the text may have
// lookups: the configuration itself has none.
func adviceOn(function string, inDefinition bool) string {
	plugins := map[string]string{"tfstate": "tfstate", "tfstatef": "tfstate", "cfn_output": "cloudformation",
		"cfn_export": "cloudformation", "ssm": "ssm", "secretsmanager_arn": "secretsmanager"}
	switch plugin := plugins[function]; {
	case plugin != "" && inDefinition:
		return "add the plugin " + plugin + " to the configuration"
	case plugin != "":
		return "use " + function + " in the definitions: the configuration itself has no lookups"
	case function == "ssm_list":
		return "use ssm with an index as its second argument: ssm_list is for Jsonnet"
	case function == "caller_identity":
		return "set an environment variable to the value, and read it with must_env: sluice has no such lookup"
	}
	return "use env, must_env, json_escape, print, printf, println, eq, ne, lt, le, gt, ge, not, and, or, len, index, slice"
}
