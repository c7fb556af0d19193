package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

const (
	// maxSteps is the maximum number of actions and calls of one template.
	maxSteps = 200_000
	// maxDepth is the maximum number of templates that call each other.
	maxDepth = 100
)

// errBreak and errContinue end a turn of a range.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// execution is one evaluation of a template.
type execution struct {
	file      string
	tree      *parse.Tree
	trees     map[string]*parse.Tree // of define and block
	functions map[string]func(args []any) (any, error)
	variables []variable // the newest is the last
	dot       any        // the value of a with, a range or a template; nil: none
	out       strings.Builder
	steps     int
	depth     int
}

// variable is a variable of a template.
type variable struct {
	name  string
	value any
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
	if err := e.countStep(node); err != nil {
		return err
	}
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
	case *parse.RangeNode:
		return e.runRange(n)
	case *parse.TemplateNode:
		return e.runTemplate(n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	}
	word, _, _ := strings.Cut(strings.Trim(node.String(), "{} "), " ")
	return e.problem(node, fmt.Errorf("the template action %s is not supported: write the definition in Jsonnet", word))
}

// countStep returns an error if the template takes too long.
func (e *execution) countStep(at parse.Node) error {
	if e.steps++; e.steps > maxSteps {
		return e.problem(at, fmt.Errorf("the template takes more than %d steps: check its loops", maxSteps))
	}
	return nil
}

// branch evaluates the part of an if or a with that its condition selects. The dot of a with is the value of
// its condition. Variables of the condition end with the branch.
func (e *execution) branch(n parse.BranchNode) error {
	outer := len(e.variables)
	defer func() { e.variables = e.variables[:outer] }()
	value, err := e.pipeline(n.Pipe)
	if err != nil {
		return err
	}
	if !isTrue(value) {
		return e.run(n.ElseList)
	}
	if n.NodeType != parse.NodeWith {
		return e.run(n.List)
	}
	return e.withDot(value, func() error { return e.run(n.List) })
}

// withDot runs do with another dot.
func (e *execution) withDot(dot any, do func() error) error {
	outer := e.dot
	defer func() { e.dot = outer }()
	e.dot = dot
	return do()
}

// runRange evaluates a part once for each element of a list, each member of an object, or each number below one.
func (e *execution) runRange(n *parse.RangeNode) error {
	value, err := e.commands(n.Pipe)
	if err != nil {
		return err
	}
	all, err := elementsOf(value)
	if err != nil {
		return e.problem(n.Pipe, err)
	}
	if len(all) == 0 {
		return e.run(n.ElseList)
	}
	outer := len(e.variables)
	defer func() { e.variables = e.variables[:outer] }()
	for _, element := range all {
		if err := e.countStep(n); err != nil {
			return err
		}
		e.variables = e.variables[:outer]
		if err := e.setElement(n.Pipe, element); err != nil {
			return err
		}
		err := e.withDot(element.value, func() error { return e.run(n.List) })
		switch {
		case errors.Is(err, errBreak):
			return nil
		case err != nil && !errors.Is(err, errContinue):
			return err
		}
	}
	return nil
}

// setElement sets the variables of a range: the value, or the key and the value.
func (e *execution) setElement(p *parse.PipeNode, of element) error {
	values := []any{of.key, of.value}
	for i, v := range p.Decl {
		if err := e.setVariable(p, v.Ident[0], values[i+2-len(p.Decl)]); err != nil {
			return err
		}
	}
	return nil
}

// setVariable declares a variable, or changes it if the pipeline is an assignment.
func (e *execution) setVariable(p *parse.PipeNode, name string, value any) error {
	if !p.IsAssign {
		e.variables = append(e.variables, variable{name, value})
		return nil
	}
	for i := range slices.Backward(e.variables) {
		if e.variables[i].name == name {
			e.variables[i].value = value
			return nil
		}
	}
	return e.problem(p, fmt.Errorf("there is no variable %s", name))
}

// runTemplate evaluates a template of define or block. It sees no variables of its caller.
func (e *execution) runTemplate(n *parse.TemplateNode) error {
	tree := e.trees[n.Name]
	if tree == nil {
		return e.problem(n, fmt.Errorf("there is no template %q", n.Name))
	}
	if e.depth == maxDepth {
		return e.problem(n, fmt.Errorf("more than %d templates call each other", maxDepth))
	}
	var dot any
	if n.Pipe != nil {
		var err error
		if dot, err = e.pipeline(n.Pipe); err != nil {
			return err
		}
	}
	variables, caller := e.variables, e.tree
	e.variables, e.tree = nil, tree
	e.depth++
	defer func() {
		e.variables, e.tree = variables, caller
		e.depth--
	}()
	return e.withDot(dot, func() error { return e.run(tree.Root) })
}

func (e *execution) write(at parse.Node, text string) error {
	if e.out.Len()+len(text) > maxText {
		return e.problem(at, fmt.Errorf("the evaluated text has more than %d bytes", maxText))
	}
	e.out.WriteString(text)
	return nil
}

// pipeline returns the value of a pipeline, and sets its variables.
func (e *execution) pipeline(p *parse.PipeNode) (any, error) {
	value, err := e.commands(p)
	if err != nil {
		return nil, err
	}
	for _, v := range p.Decl {
		if err := e.setVariable(p, v.Ident[0], value); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// commands returns the value of commands, each of which gets the value before it as its last argument.
func (e *execution) commands(p *parse.PipeNode) (any, error) {
	var piped []any
	for _, command := range p.Cmds {
		value, err := e.command(command, piped)
		if err != nil {
			return nil, err
		}
		piped = []any{value}
	}
	return piped[0], nil
}

func (e *execution) command(c *parse.CommandNode, piped []any) (any, error) {
	if err := e.countStep(c); err != nil {
		return nil, err
	}
	name, isCall := c.Args[0].(*parse.IdentifierNode)
	if !isCall {
		if len(c.Args) > 1 || len(piped) > 0 {
			return nil, e.problem(c, fmt.Errorf("%s is not a function", c.Args[0]))
		}
		return e.value(c.Args[0])
	}
	if name.Ident == "and" || name.Ident == "or" {
		return e.choose(c, piped, name.Ident == "or")
	}
	args, err := e.values(c.Args[1:])
	if err != nil {
		return nil, err
	}
	value, err := e.functions[name.Ident](append(args, piped...))
	if err != nil {
		return nil, e.problem(c, err)
	}
	return value, nil
}

// choose returns the first argument that is true or not true as asked for, otherwise the last. It evaluates no
// argument after that.
func (e *execution) choose(c *parse.CommandNode, piped []any, want bool) (value any, err error) {
	if len(c.Args)-1+len(piped) == 0 {
		return nil, e.problem(c, fmt.Errorf("%s needs an argument", c.Args[0]))
	}
	for _, arg := range c.Args[1:] {
		if value, err = e.value(arg); err != nil || isTrue(value) == want {
			return value, err
		}
	}
	if len(piped) > 0 {
		value = piped[0]
	}
	return value, nil
}

func (e *execution) values(nodes []parse.Node) ([]any, error) {
	var all []any
	for _, node := range nodes {
		value, err := e.value(node)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
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
		if value, ok := e.variable(n.Ident[0]); ok && len(n.Ident) == 1 {
			return value, nil
		}
	case *parse.DotNode:
		if e.dot != nil {
			return e.dot, nil
		}
	}
	return nil, e.problem(node, fmt.Errorf("%s has no value: a template gets its values from functions", node))
}

// variable returns the value of the newest variable of a name.
func (e *execution) variable(name string) (any, bool) {
	for _, v := range slices.Backward(e.variables) {
		if v.name == name {
			return v.value, true
		}
	}
	return nil, false
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
