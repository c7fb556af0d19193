package view

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Condition is a condition of a rule of an Application Load Balancer. A request must meet all conditions of the rule, and
// one of the values of each.
type Condition struct {
	Field  string   `json:"field"`            // "path-pattern", "host-header", …
	Header string   `json:"header,omitempty"` // name, of an http-header condition
	Values []string `json:"values"`           // patterns with * and ?, or networks of a source-ip condition
	// Regex: the values are regular expressions, which a whole path, host or header must match.
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

// isUniversal reports whether every request meets the condition. Every request names its host, and nearly every client
// itself.
func (c Condition) isUniversal() bool {
	named := c.Field == "http-header" && (strings.EqualFold(c.Header, "host") || strings.EqualFold(c.Header, "user-agent"))
	return slices.ContainsFunc(c.Values, func(v string) bool {
		switch {
		case c.Field == "source-ip":
			return coversNetwork(c.Values, "0.0.0.0/0")
		case c.Field != "path-pattern" && c.Field != "host-header" && !named:
			return false
		case c.Regex:
			v = strings.TrimSuffix(strings.TrimPrefix(v, "^"), "$")
			return v == ".*" || v == ".+" || v == "/.*" && c.Field == "path-pattern"
		}
		return v == "*" || v == "/*" && c.Field == "path-pattern"
	})
}

// covers reports whether each request that meets the other condition meets this one.
func (c Condition) covers(other Condition) bool {
	if c.Field != other.Field || !strings.EqualFold(c.Header, other.Header) || other.Regex && !c.Regex {
		return false
	}
	for _, v := range other.Values {
		if !c.coversValue(v, other.Regex) {
			return false
		}
	}
	return true
}

// coversValue reports whether each request that meets a condition with the value v, perhaps a regular expression, meets
// this one.
func (c Condition) coversValue(v string, regex bool) bool {
	switch {
	case c.Field == "source-ip":
		return coversNetwork(c.Values, v)
	case c.Regex && !regex && strings.ContainsAny(v, "*?"):
		return false
	}
	return slices.ContainsFunc(c.Values, func(p string) bool {
		if c.Regex && !regex {
			e, err := regexp.Compile("^(?:" + p + ")$")
			return err == nil && e.MatchString(v)
		}
		return c.coversPattern(p, v)
	})
}

// coversPattern reports whether each text that the pattern v matches is one that the pattern p matches.
func (c Condition) coversPattern(p, v string) bool {
	if c.Field == "host-header" {
		p, v = strings.ToLower(p), strings.ToLower(v)
	}
	if p == v || c.Regex || c.Field == "query-string" || c.Field == "http-request-method" {
		return p == v
	}
	// A * of the value stands for any text: only a * of the pattern matches it, as any other character.
	return !strings.Contains(v, "?") && matchesPattern(p, v)
}

// coversNetwork reports whether each address of a network is in one of the others.
func coversNetwork(others []string, network string) bool {
	n, err := netip.ParsePrefix(network)
	if err != nil {
		return slices.Contains(others, network)
	}
	var all []netip.Prefix
	for _, o := range others {
		if p, err := netip.ParsePrefix(o); err == nil {
			all = append(all, p.Masked())
		}
	}
	return containsNetwork(all, n.Masked())
}

func containsNetwork(all []netip.Prefix, n netip.Prefix) bool {
	if slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Bits() <= n.Bits() && p.Contains(n.Addr()) }) {
		return true
	}
	if !slices.ContainsFunc(all, func(p netip.Prefix) bool { return n.Contains(p.Addr()) }) {
		return false
	}
	first, second := halves(n)
	return containsNetwork(all, first) && containsNetwork(all, second)
}

// halves returns the two networks of half the size that a network consists of.
func halves(n netip.Prefix) (first, second netip.Prefix) {
	bytes := n.Addr().AsSlice()
	bytes[n.Bits()/8] |= 0x80 >> (n.Bits() % 8)
	upper, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(n.Addr(), n.Bits()+1), netip.PrefixFrom(upper, n.Bits()+1)
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
