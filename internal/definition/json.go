package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readJSON reads valid JSON. The YAML reader is not used, because YAML accepts neither JSON's tabs
// nor all of its escapes.
func (s *Source) readJSON(data []byte) (*Node, error) {
	r := &jsonReader{src: s, data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	return r.readValue(0)
}

// jsonProblem returns the first place at which the file is not JSON.
func (s *Source) jsonProblem(data []byte) *Problem {
	var v json.RawMessage
	var at *json.SyntaxError
	if err := json.Unmarshal(data, &v); !errors.As(err, &at) {
		return s.Problem(1, 1, "malformed JSON: %v", err)
	}
	r := &jsonReader{src: s, data: data, line: 1}
	begin := min(max(at.Offset-1, 0), int64(len(data)))
	where := r.placeAt(begin)
	if isComment(data[begin:]) {
		return s.Problem(where.line, where.column, "JSON has no comments; remove it")
	}
	if begin := endsEarly(data, at.Error()); begin >= 0 {
		where = (&jsonReader{src: s, data: data, line: 1}).placeAt(begin)
		return s.Problem(where.line, where.column, "malformed JSON: it does not begin with {")
	}
	if lacksBracket(data, at.Error()) {
		if p := s.bracketProblem("JSON", where.line); p != nil {
			return p
		}
	}
	return s.Problem(where.line, where.column, "malformed JSON: %s", plainSyntax(at.Error()))
}

// endsEarly returns where a document begins that is one value other than an object and goes on after it; -1: it is none.
func endsEarly(data []byte, message string) int64 {
	begin := int64(len(data) - len(bytes.TrimLeft(data, " \t\r\n\ufeff")))
	if !strings.Contains(message, "after top-level value") || data[begin] == '{' {
		return -1
	}
	return begin
}

// lacksBracket reports whether a message of Go's parser of JSON may mean that a bracket is not closed.
func lacksBracket(data []byte, message string) bool {
	text := bytes.TrimSpace(data)
	return strings.Contains(message, "after array element") || strings.Contains(message, "after object key:value pair") ||
		strings.Contains(message, "unexpected end of JSON input") && !bytes.HasSuffix(text, []byte(":")) &&
			!bytes.HasSuffix(text, []byte(","))
}

// hasComment reports whether a comment is the first place at which a text is not JSON. YAML would read it as a key.
func hasComment(data []byte) bool {
	var v json.RawMessage
	var at *json.SyntaxError
	return errors.As(json.Unmarshal(data, &v), &at) && at.Offset > 0 && isComment(data[at.Offset-1:])
}

func isComment(text []byte) bool {
	return bytes.HasPrefix(text, []byte("//")) || bytes.HasPrefix(text, []byte("/*"))
}

// plainSyntax says what a message of Go's parser of JSON means.
func plainSyntax(message string) string {
	for _, of := range [][2]string{
		{"after object key:value pair", "a comma or } is missing before this"},
		{"after array element", "a comma or ] is missing before this"},
		{"after object key", "a colon is missing before this"},
		{"looking for beginning of object key string", "a key in double quotes is missing before this"},
		{"looking for beginning of value", "a value is missing before this"},
		{"after top-level value", "the document ends before this"},
		{"unexpected end of JSON input", "the file ends, and a closing } or ] or a value is missing"},
	} {
		if strings.Contains(message, of[0]) {
			return of[1]
		}
	}
	return message
}

type jsonReader struct {
	src  *Source
	data []byte
	dec  *json.Decoder

	seen      int64 // offset up to which line and lineStart are counted
	line      int
	lineStart int64
}

// nextToken returns the next token and its place.
func (r *jsonReader) nextToken() (json.Token, place, error) {
	from := r.dec.InputOffset()
	for from < int64(len(r.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[from]) >= 0 {
		from++
	}
	tok, err := r.dec.Token()
	return tok, r.placeAt(from), err
}

func (r *jsonReader) placeAt(offset int64) place {
	for ; r.seen < offset; r.seen++ {
		if r.data[r.seen] == '\n' {
			r.line++
			r.lineStart = r.seen + 1
		}
	}
	return place{r.line, utf8.RuneCount(r.data[r.lineStart:offset]) + 1}
}

func (r *jsonReader) readValue(depth int) (*Node, error) {
	tok, at, err := r.nextToken()
	if err != nil {
		return nil, r.src.Problem(at.line, at.column, "%v", err)
	}
	if depth > maxDepth {
		return nil, r.src.Problem(at.line, at.column, "values are nested more than %d levels deep", maxDepth)
	}
	n := &Node{Line: at.line, Column: at.column}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return n, r.readObject(n, depth)
		}
		return n, r.readArray(n, depth)
	case string:
		n.Kind, n.Text = Text, v
	case json.Number:
		n.setNumber(v.String())
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(v)
	}
	return n, nil
}

func (r *jsonReader) readObject(n *Node, depth int) error {
	n.Kind = Map
	for r.dec.More() {
		tok, at, err := r.nextToken()
		if err != nil {
			return r.src.Problem(at.line, at.column, "%v", err)
		}
		key, _ := tok.(string)
		value, err := r.readValue(depth + 1)
		if err != nil {
			return err
		}
		n.Entries = append(n.Entries, Entry{Key: key, Line: at.line, Column: at.column, Value: value})
	}
	_, _, err := r.nextToken()
	return err
}

func (r *jsonReader) readArray(n *Node, depth int) error {
	n.Kind = List
	for r.dec.More() {
		item, err := r.readValue(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, _, err := r.nextToken()
	return err
}

func (n *Node) setNumber(text string) {
	n.Kind, n.Text = Number, text
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		n.number = i
	} else if f, err := strconv.ParseFloat(text, 64); err == nil {
		n.number = f
	}
}
