package view

import (
	"net/netip"
	"slices"
	"strings"
)

// overlap reports whether a request exists that meets all conditions of both rules. It reports false if that is not known.
func overlap(some, others []Condition) bool {
	for _, list := range [][]Condition{some, others} {
		for i, c := range list {
			if slices.ContainsFunc(list[i+1:], c.restricts) {
				return false // two conditions of one rule are not combined
			}
		}
	}
	for _, c := range some {
		if slices.ContainsFunc(others, func(o Condition) bool { return c.restricts(o) && !c.overlaps(o) }) {
			return false
		}
	}
	return true
}

// restricts reports whether both conditions are about the same part of a request. One request may have several parameters.
func (c Condition) restricts(other Condition) bool {
	return c.Field != "query-string" && c.part() == other.part()
}

// part names the part of a request that a condition is about.
func (c Condition) part() string {
	if c.Field == "http-header" && strings.EqualFold(c.Header, "host") {
		return "host-header"
	}
	return strings.ToLower(strings.TrimSuffix(c.Field+" "+c.Header, " "))
}

// overlaps reports whether a part of a request exists that meets both conditions on it. It reports false if that is not
// known, as for most regular expressions.
func (c Condition) overlaps(other Condition) bool {
	if c.isUniversal() || other.isUniversal() {
		return true
	}
	for _, v := range c.Values {
		for _, o := range other.Values {
			if c.sharesValue(v, other, o) {
				return true
			}
		}
	}
	return false
}

// sharesValue reports whether a value of the condition and one of another have a text, or an address, in common.
func (c Condition) sharesValue(v string, other Condition, o string) bool {
	switch {
	case c.Regex && other.Regex:
		return v == o
	case c.Regex:
		return c.coversValue(o, false)
	case other.Regex:
		return other.coversValue(v, false)
	case c.Field == "source-ip":
		n, err := netip.ParsePrefix(v)
		m, errOther := netip.ParsePrefix(o)
		return err == nil && errOther == nil && n.Overlaps(m)
	case c.Field == "http-request-method":
		return v == o
	case c.part() == "host-header":
		v, o = strings.ToLower(v), strings.ToLower(o)
	}
	return patternsOverlap(v, o)
}

// patternsOverlap reports whether a text exists that both patterns match: * any text, ? one character.
func patternsOverlap(p, q string) bool {
	// ends[j] tells it of the rest of p and q[j:].
	ends := make([]bool, len(q)+1)
	for i := len(p); i >= 0; i-- {
		rest := make([]bool, len(q)+1)
		for j := len(q); j >= 0; j-- {
			switch {
			case i == len(p) && j == len(q):
				rest[j] = true
			case i < len(p) && p[i] == '*':
				rest[j] = ends[j] || j < len(q) && rest[j+1]
			case j < len(q) && q[j] == '*':
				rest[j] = rest[j+1] || i < len(p) && ends[j]
			case i < len(p) && j < len(q):
				rest[j] = (p[i] == '?' || q[j] == '?' || p[i] == q[j]) && ends[j+1]
			}
		}
		ends = rest
	}
	return ends[0]
}
