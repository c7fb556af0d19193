package view

import (
	"slices"
	"strings"
)

// Condition is a condition of a rule of an Application Load Balancer. A request must meet all conditions of the rule, and
// one of the values of each.
type Condition struct {
	Field  string   `json:"field"`            // "path-pattern", "host-header", …
	Header string   `json:"header,omitempty"` // name, of an http-header condition
	Values []string `json:"values"`           // patterns with * and ?, or networks of a source-ip condition
	// Regex: the values are regular expressions, of which nothing is known but their text.
	Regex bool `json:"regex,omitempty"`
}

// matchesAll reports whether a rule with the first conditions matches each request that one with the others matches. It
// reports false if that is not known.
func matchesAll(first, others []Condition) bool {
	for _, c := range first {
		if !c.isUniversal() && !slices.ContainsFunc(others, c.covers) {
			return false
		}
	}
	return true
}

// alternatives returns the conditions with one value each, in every combination: a request meets all if it meets one
// of the alternatives.
func alternatives(all []Condition) [][]Condition {
	found := [][]Condition{nil}
	for _, c := range all {
		var longer [][]Condition
		for i := range max(1, len(c.Values)) {
			one := c
			one.Values = c.Values[min(i, len(c.Values)):min(i+1, len(c.Values))]
			for _, f := range found {
				longer = append(longer, append(slices.Clone(f), one))
			}
		}
		found = longer
	}
	return found
}

// isUniversal reports whether every request meets the condition.
func (c Condition) isUniversal() bool {
	return !c.Regex && slices.ContainsFunc(c.Values, func(v string) bool {
		switch c.Field {
		case "path-pattern":
			return v == "*" || v == "/*"
		case "host-header":
			return v == "*"
		case "source-ip":
			return v == "0.0.0.0/0"
		}
		return false
	})
}

// covers reports whether each request that meets the other condition meets this one.
func (c Condition) covers(other Condition) bool {
	if c.Field != other.Field || !strings.EqualFold(c.Header, other.Header) || c.Regex != other.Regex {
		return false
	}
	for _, v := range other.Values {
		if !slices.ContainsFunc(c.Values, func(p string) bool { return c.coversValue(p, v) }) {
			return false
		}
	}
	return true
}

// coversValue reports whether each text that the value v matches is one that the pattern p matches.
func (c Condition) coversValue(p, v string) bool {
	if c.Field == "host-header" {
		p, v = strings.ToLower(p), strings.ToLower(v)
	}
	if p == v || c.Regex || c.Field == "source-ip" || c.Field == "query-string" || c.Field == "http-request-method" {
		return p == v
	}
	// A * of the value stands for any text: only a * of the pattern matches it, as any other character.
	return !strings.Contains(v, "?") && matchesPattern(p, v)
}

// matchesPattern reports whether a pattern matches a whole text: * any text, ? one character. A * of the text is matched
// by * only.
func matchesPattern(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return matchesPattern(pattern[1:], text) || text != "" && matchesPattern(pattern, text[1:])
	case text == "" || text[0] == '*':
		return false
	}
	return (pattern[0] == '?' || pattern[0] == text[0]) && matchesPattern(pattern[1:], text[1:])
}

// describeConditions returns the conditions of a rule for people: "path /api/*, host a.example.com".
func describeConditions(all []Condition) string {
	var texts []string
	for _, c := range all {
		name := map[string]string{"path-pattern": "path", "host-header": "host", "http-header": "header " + c.Header,
			"http-request-method": "method", "query-string": "query", "source-ip": "source IP"}[c.Field]
		texts = append(texts, name+" "+strings.Join(c.Values, " or "))
	}
	return strings.Join(texts, ", ")
}
