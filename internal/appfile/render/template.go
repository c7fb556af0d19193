package render

import (
	"encoding/json"
	"errors"
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
// It has the grammar of Go's text/template, and of its actions values, variables, if, else and with. It does
// not import text/template: that package finds methods by name at run time, so the linker would keep every
// method of the AWS SDK, which adds ten megabytes to each program.
func (e Environment) executeTemplate(file, text string) ([]byte, error) {
	if !strings.Contains(text, "{{") {
		return []byte(text), nil
	}
	run := &execution{file: file, functions: e.functions(), variables: map[string]any{}}
	known := map[string]any{}
	for name := range run.functions {
		known[name] = true
	}
	run.tree = parse.New("text")
	if _, err := run.tree.Parse(text, "", "", map[string]*parse.Tree{}, known); err != nil {
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
	return "use env, must_env, json_escape, print, printf, eq, ne, not, and, or"
}

// execution is one evaluation of a template.
type execution struct {
	file      string
	tree      *parse.Tree
	functions map[string]func(args []any) (any, error)
	variables map[string]any
	dot       any // the value of a with
	out       strings.Builder
}

// run evaluates a list of actions and text.
func (e *execution) run(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := e.runNode(node); err != nil {
			return err
		}
	}
	return nil
}

func (e *execution) runNode(node parse.Node) error {
	switch n := node.(type) {
	case *parse.TextNode:
		return e.write(node, string(n.Text))
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		value, err := e.pipeline(n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		return e.write(node, fmt.Sprint(value))
	case *parse.IfNode:
		return e.branch(n.BranchNode)
	case *parse.WithNode:
		return e.branch(n.BranchNode)
	}
	word, _, _ := strings.Cut(strings.Trim(node.String(), "{} "), " ")
	return e.problem(node, fmt.Errorf("the template action %s is not supported: write the definition in Jsonnet", word))
}

// branch evaluates the part of an if or a with that its condition selects. The dot of a with is the value of
// its condition.
func (e *execution) branch(n parse.BranchNode) error {
	value, err := e.pipeline(n.Pipe)
	if err != nil {
		return err
	}
	if !isTrue(value) {
		return e.run(n.ElseList)
	}
	outer := e.dot
	if n.NodeType == parse.NodeWith {
		e.dot = value
	}
	err = e.run(n.List)
	e.dot = outer
	return err
}

func (e *execution) write(at parse.Node, text string) error {
	if e.out.Len()+len(text) > maxText {
		return e.problem(at, fmt.Errorf("the evaluated text has more than %d bytes", maxText))
	}
	e.out.WriteString(text)
	return nil
}

// pipeline returns the value of commands, each of which gets the value before it as its last argument.
func (e *execution) pipeline(p *parse.PipeNode) (any, error) {
	var piped []any
	for _, command := range p.Cmds {
		value, err := e.command(command, piped)
		if err != nil {
			return nil, err
		}
		piped = []any{value}
	}
	for _, v := range p.Decl {
		e.variables[v.Ident[0]] = piped[0]
	}
	return piped[0], nil
}

func (e *execution) command(c *parse.CommandNode, piped []any) (any, error) {
	name, isCall := c.Args[0].(*parse.IdentifierNode)
	if !isCall {
		if len(c.Args) > 1 || len(piped) > 0 {
			return nil, e.problem(c, fmt.Errorf("%s is not a function", c.Args[0]))
		}
		return e.value(c.Args[0])
	}
	var args []any
	for _, arg := range c.Args[1:] {
		value, err := e.value(arg)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	value, err := e.functions[name.Ident](append(args, piped...))
	if err != nil {
		return nil, e.problem(c, err)
	}
	return value, nil
}

// value returns the value of an argument.
func (e *execution) value(node parse.Node) (any, error) {
	switch n := node.(type) {
	case *parse.StringNode:
		return n.Text, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.NumberNode:
		if n.IsInt {
			return n.Int64, nil
		}
		return n.Float64, nil
	case *parse.PipeNode:
		return e.pipeline(n)
	case *parse.IdentifierNode:
		return e.command(&parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{n}}, nil)
	case *parse.VariableNode:
		if value, ok := e.variables[n.Ident[0]]; ok && len(n.Ident) == 1 {
			return value, nil
		}
	case *parse.DotNode:
		if e.dot != nil {
			return e.dot, nil
		}
	}
	return nil, e.problem(node, fmt.Errorf("%s has no value: a template gets its values from functions", node))
}

// problem returns an error at a part of the template.
func (e *execution) problem(at parse.Node, err error) error {
	place, _ := e.tree.ErrorContext(at)
	parts := strings.Split(place, ":")
	line, column := 1, 0
	if len(parts) >= 3 {
		line, _ = strconv.Atoi(parts[len(parts)-2])
		column, _ = strconv.Atoi(parts[len(parts)-1])
	}
	return problemOf(e.file, line, column+1, err, err.Error())
}

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
		"and": func(args []any) (any, error) { return choose(args, false), nil },
		"or":  func(args []any) (any, error) { return choose(args, true), nil },
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
	for _, other := range args[1:] {
		if args[0] == other {
			return true, nil
		}
	}
	return false, nil
}

// choose returns the first value that is true or not true as asked for, otherwise the last.
func choose(args []any, want bool) any {
	for _, value := range args {
		if isTrue(value) == want {
			return value
		}
	}
	if len(args) == 0 {
		return false
	}
	return args[len(args)-1]
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
