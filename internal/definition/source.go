package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile is the maximum length of a file, in bytes. AWS accepts task definitions of 64 KiB
// ("Amazon ECS service quotas").
const maxFile = 256 << 10

// maxNodes limits the number of values after aliases are resolved.
const maxNodes = 100_000

// maxDepth limits how deep values may be nested.
const maxDepth = 100

// Source is a parsed file.
type Source struct {
	File string
	Root *Node // Null for an empty file

	lines  []string
	hidden []span
}

// Parse reads one YAML or JSON document. Its errors are [*Problem]s.
func Parse(file string, data []byte) (*Source, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	s := &Source{File: file, lines: splitLines(data)}
	if p := s.checkBytes(data); p != nil {
		return nil, p
	}
	var err error
	switch {
	case json.Valid(data):
		s.Root, err = s.readJSON(data)
	case isJSON(file) && hasComment(data):
		err = s.jsonProblem(data)
	default:
		if s.Root, err = s.readYAML(data); err != nil && isJSON(file) {
			err = s.jsonProblem(data)
		}
	}
	if err != nil {
		return nil, err
	}
	if tooLarge(s.Root) {
		return nil, s.Problem(1, 1, "the aliases of this file expand to more than %d values", maxNodes)
	}
	return s, nil
}

// isJSON reports whether a file should be JSON: by its name, or because it is the text of a flag.
func isJSON(file string) bool {
	return strings.EqualFold(path.Ext(file), ".json") || strings.HasPrefix(file, "--")
}

// checkBytes returns a problem that is visible before any grammar applies, or nil.
func (s *Source) checkBytes(data []byte) *Problem {
	if len(data) > maxFile {
		p := s.Problem(1, 1, "the file has %d bytes; a definition has at most %d", len(data), maxFile)
		p.Source = ""
		return p
	}
	for i, line := range s.lines {
		if !utf8.ValidString(line) {
			p := s.Problem(i+1, 1, "the line is not UTF-8 text")
			p.Source = ""
			return p
		}
		if column, word := findTemplate(line); column > 0 {
			return s.Problem(i+1, column, "piped replaces {{ .%s }} before it deploys the file; sluice "+
				"does not: deploy through piped, or name the secret under secrets in the task definition", word)
		}
		if column, function := findFunction(line); column > 0 {
			p := s.Problem(i+1, column, "{{ %s … }} is a template that was not rendered; sluice deploys files as they are",
				function)
			p.Next = "write the value, or render the file with the tool that the template is for"
			return p
		}
	}
	return nil
}

func splitLines(data []byte) []string {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	return strings.Split(text, "\n")
}

// Problem returns a problem at a place of the file. A place outside of the file is moved to the
// nearest one inside.
func (s *Source) Problem(line, column int, format string, args ...any) *Problem {
	line = min(max(line, 1), len(s.lines))
	text := []rune(s.lines[line-1])
	column = min(max(column, 1), len(text)+1)
	source, caret := s.shownLine(line, column, text)
	return &Problem{
		File: s.File, Line: line, Column: column,
		Source:  source,
		Message: fmt.Sprintf(format, args...),
		caret:   caret,
	}
}

// At returns a problem at a node.
func (s *Source) At(n *Node, format string, args ...any) *Problem {
	return s.Problem(n.Line, n.Column, format, args...)
}

// AtKey returns a problem at the key of an entry.
func (s *Source) AtKey(e Entry, format string, args ...any) *Problem {
	p := s.Problem(e.Line, e.Column, format, args...)
	p.isKey = true
	return p
}

// JoinProblems returns the problems in the order of the file as one error, or nil. Misspelled keys come first, because
// other problems may follow from them. A problem that does follow from one ([Problem.Lacks]) is left out.
func JoinProblems(problems []*Problem) error {
	sorted := slices.DeleteFunc(slices.Clone(problems), func(p *Problem) bool {
		return slices.ContainsFunc(problems, p.followsFrom)
	})
	rank := func(p *Problem) int {
		if p.isMisspelledKey() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sorted, func(a, b *Problem) int {
		return cmp.Or(rank(a)-rank(b), a.Line-b.Line, a.Column-b.Column)
	})
	errs := make([]error, len(sorted))
	for i, p := range sorted {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// FlattenErrors returns a tree of joined errors as one joined list.
func FlattenErrors(err error) error {
	var all []error
	var walk func(error)
	walk = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				walk(e)
			}
			return
		}
		all = append(all, err)
	}
	walk(err)
	return errors.Join(all...)
}

// tooLarge counts nodes in the order of a decoder and stops at maxNodes.
func tooLarge(root *Node) bool {
	left := maxNodes
	var walk func(n *Node)
	walk = func(n *Node) {
		if left--; left < 0 {
			return
		}
		for _, e := range n.Entries {
			walk(e.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	return left < 0
}
