package definition

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// bracketProblem returns the problem of a bracket that is opened in or before a line at which the text is malformed, and is
// never closed, or closed by the other kind. It returns nil if there is none.
func (s *Source) bracketProblem(of string, line int) *Problem {
	open := s.unclosedBracket()
	if open == nil || open.Position.Line > line {
		return nil
	}
	closing := map[token.Type]string{token.SequenceStartType: "]", token.MappingStartType: "}"}[open.Type]
	p := s.Problem(open.Position.Line, open.Position.Column, "malformed %s: the %s that is opened here is not closed", of, open.Value)
	p.Next = "add " + closing
	if line > open.Position.Line {
		p.Next += fmt.Sprintf(" before line %d", line)
	}
	return p
}

// unclosedBracket returns the last bracket of the text that is not closed, or is closed by the other kind; nil: there is none.
func (s *Source) unclosedBracket() *token.Token {
	var open token.Tokens
	for _, t := range lexer.Tokenize(strings.Join(s.lines, "\n")) {
		begins := token.Type(0)
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open.Add(t)
			continue
		case token.SequenceEndType:
			begins = token.SequenceStartType
		case token.MappingEndType:
			begins = token.MappingStartType
		default:
			continue
		}
		switch last := len(open) - 1; {
		case last < 0:
			return nil // one is closed that is not open
		case open[last].Type != begins:
			return open[last]
		default:
			open = open[:last]
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}
