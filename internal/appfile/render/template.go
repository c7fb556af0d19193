package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/sluice-ecs/sluice/internal/definition"
)

const (
	// maxText is the maximum length of an evaluated text in bytes. It is above that of a definition file,
	// which [definition.Parse] checks.
	maxText = 1 << 20
	// maxSteps is the maximum number of checks of one template: see addChecks.
	maxSteps = 200_000
	// maxDepth is the maximum number of templates that call each other.
	maxDepth = 100
)

const noValue = "there is no such value: a template gets its values from functions"

// templateError is the form of an error of package text/template: its line and column, and what is wrong.
var templateError = regexp.MustCompile(`(?s)^template: [^:]*:(\d+):(?:(\d+):)? (?:executing ".*?" at <.*?>: )?(.*)$`)

// executeTemplate evaluates the template of a text. It returns a text without one as it is.
func (e Environment) executeTemplate(file, text string) ([]byte, error) {
	if !strings.Contains(text, "{{") {
		return []byte(text), nil
	}
	t, err := template.New("text").Funcs(e.functions()).Parse(text)
	if err != nil {
		return nil, e.templateProblem(file, err)
	}
	for _, each := range t.Templates() {
		addChecks(each.Root, each.Root.Pos)
	}
	run := &execution{}
	t.Funcs(template.FuncMap{"check": run.check, "enter": run.enter, "leave": run.leave})
	if err := t.Execute(&run.out, nil); err != nil {
		return nil, e.templateProblem(file, err)
	}
	return []byte(run.out.String()), nil
}

// execution is one evaluation of a template. addChecks puts calls of its methods into the parsed template. The text
// itself cannot call them, as they are not known when it is parsed.
type execution struct {
	out          strings.Builder
	steps, depth int
}

// check returns the value that a template is about to write, and an error if it has none, or if the template takes
// too long or writes too much.
func (e *execution) check(values ...any) (any, error) {
	e.steps++
	switch {
	case e.steps > maxSteps:
		return nil, fmt.Errorf("the template takes more than %d steps: check its loops", maxSteps)
	case e.out.Len() > maxText:
		return nil, fmt.Errorf("the evaluated text has more than %d bytes", maxText)
	case len(values) == 0:
		return "", nil
	case values[0] == nil:
		return nil, errors.New(noValue)
	}
	return values[0], nil
}

// enter begins a template of define or block.
func (e *execution) enter() (string, error) {
	if e.depth++; e.depth > maxDepth {
		return "", fmt.Errorf("more than %d templates call each other", maxDepth)
	}
	return "", nil
}

func (e *execution) leave() string {
	e.depth--
	return ""
}

// addChecks adds a check at the start of a list, one after each of its parts, and one of each value that is written. It
// puts templates that are called between enter and leave.
func addChecks(list *parse.ListNode, at parse.Pos) {
	if list == nil {
		return
	}
	nodes := []parse.Node{actionOf("check", at)}
	for _, node := range list.Nodes {
		after := "check"
		switch n := node.(type) {
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, callOf("check", n.Pos))
			}
		case *parse.TemplateNode:
			nodes, after = append(nodes, actionOf("enter", n.Pos)), "leave"
		case *parse.IfNode:
			addBranchChecks(n.BranchNode)
		case *parse.WithNode:
			addBranchChecks(n.BranchNode)
		case *parse.RangeNode:
			addBranchChecks(n.BranchNode)
		}
		nodes = append(nodes, node, actionOf(after, node.Position()))
	}
	list.Nodes = nodes
}

func addBranchChecks(n parse.BranchNode) {
	addChecks(n.List, n.Pos)
	addChecks(n.ElseList, n.Pos)
}

// callOf returns a call of a function. at is the position of its errors.
func callOf(function string, at parse.Pos) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at,
		Args: []parse.Node{parse.NewIdentifier(function).SetPos(at)}}
}

func actionOf(function string, at parse.Pos) *parse.ActionNode {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: at,
		Pipe: &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{callOf(function, at)}}}
}

// functions returns the functions of sluice by name, beside those of text/template.
func (e Environment) functions() template.FuncMap {
	all := template.FuncMap{"env": e.env, "must_env": e.mustEnv, "json_escape": escapeJSON,
		"printf": func(format string, args ...any) (string, error) { return limited(fmt.Sprintf(format, args...)) }}
	for name, text := range map[string]func(...any) string{"print": fmt.Sprint, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper} {
		all[name] = func(args ...any) (string, error) { return limited(text(args...)) }
	}
	for _, l := range e.lookups {
		if l.onlyJsonnet {
			continue
		}
		all[l.name] = l.text
		if l.isFormatted {
			all[l.name+"f"] = func(format string, args ...any) (string, error) { return l.text(fmt.Sprintf(format, args...)) }
		}
	}
	return all
}

// escapeJSON returns a text as it is written between the quotes of a JSON string.
func escapeJSON(s string) (string, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return limited(string(data[1 : len(data)-1]))
}

// limited returns a text that a function made, unless it is longer than a whole evaluated text may be: a variable that is
// doubled in a loop takes all memory in a few steps.
func limited(text string) (string, error) {
	if len(text) > maxText {
		return "", fmt.Errorf("a value has more than %d bytes", maxText)
	}
	return text, nil
}

// templateProblem returns an error of package text/template as a problem of a place. The error of a function keeps its
// own words.
func (e Environment) templateProblem(file string, err error) *definition.Problem {
	parts := templateError.FindStringSubmatch(err.Error())
	if parts == nil {
		return problemOf(file, 1, 1, err, err.Error())
	}
	line, _ := strconv.Atoi(parts[1])
	column, _ := strconv.Atoi(parts[2])
	p := problemOf(file, line, column+1, err, parts[3])
	var executing template.ExecError
	if !errors.As(err, &executing) {
		p.Message = "the template is not valid: " + p.Message
	} else if cause := errors.Unwrap(executing.Err); cause != nil {
		p.Message = cause.Error()
	}
	if strings.HasPrefix(parts[3], "nil data;") {
		p.Message = noValue
	}
	if name, ok := unknownFunction(parts[3]); ok {
		p.Message = fmt.Sprintf("the template function %s is not known", name)
		p.Next = adviceOn(name, e.isStarted)
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
	return "use env, must_env, json_escape, or a function of Go's text/template, such as printf, eq, or, index"
}
