package definition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// readYAML reads one YAML document.
func (s *Source) readYAML(data []byte) (root *Node, err error) {
	// The parser of go-yaml 1.19.2 panics on some malformed input.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, s.Problem(1, 1, "the file is not valid YAML: %v", p)
		}
	}()
	text := strings.Join(s.lines, "\n")
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, s.syntaxProblem(err)
	}
	return s.readDocument(file)
}

// syntaxProblem returns the parser's error at its place.
func (s *Source) syntaxProblem(err error) *Problem {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		pos := at.GetToken().Position
		for line := pos.Line; line <= min(pos.Line+1, len(s.lines)); line++ {
			indent := len(s.lines[line-1]) - len(strings.TrimLeft(s.lines[line-1], " \t"))
			if tab := strings.IndexByte(s.lines[line-1][:indent], '\t'); tab >= 0 {
				p := s.Problem(line, tab+1, "malformed YAML: the line is indented with a tab")
				p.Next = "use spaces in place of the tab"
				return p
			}
		}
		if p := s.bracketProblem("YAML", pos.Line); p != nil {
			return p
		}
		p := s.Problem(pos.Line, pos.Column, "malformed YAML: %s", at.GetMessage())
		p.Next = "check this line and the next one: keys of one map begin in the same column; text with \": \" is in quotes"
		return p
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return s.Problem(1, 1, "malformed YAML: %s", line)
}

// readDocument reads the one document of the file. It ignores comments and empty documents.
func (s *Source) readDocument(file *ast.File) (*Node, error) {
	r := &yamlReader{src: s, anchors: map[string]*Node{}}
	root := &Node{Line: 1, Column: 1}
	found := false
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		if found {
			pos := nodePlace(doc.Body)
			return nil, s.Problem(pos.line, pos.column,
				"a second YAML document begins here; a file must contain only one")
		}
		found = true
		n, err := r.readNode(doc.Body, 0)
		if err != nil {
			return nil, err
		}
		root = n
	}
	return root, nil
}

// yamlReader turns the parser's tree into nodes.
type yamlReader struct {
	src     *Source
	anchors map[string]*Node
}

func (r *yamlReader) problemAt(n ast.Node, format string, args ...any) error {
	at := nodePlace(n)
	return r.src.Problem(at.line, at.column, format, args...)
}

func (r *yamlReader) readNode(n ast.Node, depth int) (*Node, error) {
	if n == nil {
		return &Node{Line: 1, Column: 1}, nil
	}
	if depth > maxDepth {
		return nil, r.problemAt(n, "values are nested more than %d levels deep", maxDepth)
	}
	at := nodePlace(n)
	out := &Node{Line: at.line, Column: at.column}
	switch v := n.(type) {
	case *ast.MappingNode:
		return out, r.readMapping(out, v.Values, depth)
	case *ast.MappingValueNode:
		return out, r.readMapping(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		return out, r.readSequence(out, v, depth)
	case *ast.AnchorNode:
		return r.readAnchor(v, depth)
	case *ast.AliasNode:
		return r.resolveAlias(v)
	case *ast.TagNode:
		return r.readTagged(v, depth)
	}
	return out, r.readScalar(out, n)
}

func (r *yamlReader) readScalar(out *Node, n ast.Node) error {
	switch v := n.(type) {
	case *ast.NullNode, *ast.CommentGroupNode, *ast.CommentNode:
		out.Kind = Null
	case *ast.StringNode:
		out.Kind, out.Text = Text, v.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = Text, v.Value.Value
	case *ast.BoolNode:
		out.Kind, out.Text = Bool, fmt.Sprint(v.Value)
	case *ast.IntegerNode:
		out.Kind, out.Text, out.number = Number, v.Token.Value, v.Value
	case *ast.FloatNode:
		out.Kind, out.Text, out.number = Number, v.Token.Value, v.Value
	case *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = Text, n.GetToken().Value
	default:
		return r.problemAt(n, "YAML's %s is not allowed in this file", n.Type())
	}
	return nil
}

func (r *yamlReader) readMapping(out *Node, values []*ast.MappingValueNode, depth int) error {
	out.Kind = Map
	var merged []Entry
	for _, v := range values {
		value, err := r.readNode(v.Value, depth+1)
		if err != nil {
			return err
		}
		if v.Key.IsMergeKey() {
			from, err := r.mergedEntries(v, value)
			if err != nil {
				return err
			}
			merged = append(merged, from...)
			continue
		}
		entry, err := r.readEntry(v, value)
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, entry)
	}
	for _, e := range merged {
		if out.Get(e.Key) == nil {
			out.Entries = append(out.Entries, e)
		}
	}
	return nil
}

// mergedEntries returns the entries that `<<:` adds; the first of a list wins.
func (r *yamlReader) mergedEntries(v *ast.MappingValueNode, value *Node) ([]Entry, error) {
	from := []*Node{value}
	if value.Kind == List {
		from = value.Items
	}
	var entries []Entry
	for _, n := range from {
		if n.Kind != Map {
			return nil, r.problemAt(v.Key, "<< merges maps, and this is %s", n.Kind)
		}
		entries = append(entries, n.Entries...)
	}
	return entries, nil
}

func (r *yamlReader) readEntry(v *ast.MappingValueNode, value *Node) (Entry, error) {
	key, err := r.readNode(v.Key, 0)
	if err != nil {
		return Entry{}, err
	}
	if key.Kind == Map || key.Kind == List || key.Kind == Null {
		return Entry{}, r.problemAt(v.Key, "a key is text, and this is %s", key.Kind)
	}
	if value.Kind == Null && value.Line == 1 && value.Column == 1 {
		value.Line, value.Column = key.Line, key.Column
	}
	return Entry{Key: key.Text, Line: key.Line, Column: key.Column, Value: value}, nil
}

func (r *yamlReader) readSequence(out *Node, v *ast.SequenceNode, depth int) error {
	out.Kind = List
	for _, item := range v.Values {
		n, err := r.readNode(item, depth+1)
		if err != nil {
			return err
		}
		out.Items = append(out.Items, n)
	}
	return nil
}

// readAnchor registers the anchor after its value, so that the anchor cannot contain itself.
func (r *yamlReader) readAnchor(v *ast.AnchorNode, depth int) (*Node, error) {
	n, err := r.readNode(v.Value, depth+1)
	if err != nil {
		return nil, err
	}
	r.anchors[v.Name.GetToken().Value] = n
	return n, nil
}

func (r *yamlReader) resolveAlias(v *ast.AliasNode) (*Node, error) {
	name := v.Value.GetToken().Value
	origin, ok := r.anchors[name]
	if !ok {
		return nil, r.problemAt(v, "anchor &%s is not defined before this alias", name)
	}
	n, at := *origin, nodePlace(v)
	n.Line, n.Column, n.origin = at.line, at.column, origin
	return &n, nil
}

// readTagged accepts YAML's own tags. Only !!str changes a value; the others state the type that a
// plain scalar has anyway.
func (r *yamlReader) readTagged(v *ast.TagNode, depth int) (*Node, error) {
	name := v.Start.Value
	n, err := r.readNode(v.Value, depth+1)
	if err != nil {
		return nil, err
	}
	switch name {
	case "!!str":
		if n.Kind == Number || n.Kind == Bool {
			n.Kind, n.number = Text, nil
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
	default:
		return nil, r.problemAt(v, "the YAML tag %s is not supported", name)
	}
	return n, nil
}

// nodePlace returns where a node begins. For a block map the parser returns the first colon; the
// place is that of the first key.
func nodePlace(n ast.Node) place {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return nodePlace(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return nodePlace(v.Key)
	}
	return tokenPlace(n.GetToken())
}

func tokenPlace(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 1}
	}
	return place{t.Position.Line, t.Position.Column}
}
