package loadbalancer

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// matcher is one prepared condition of a rule. Its values are alternatives.
type matcher struct {
	field  string
	header string // canonical
	globs  []glob
	regex  []*regexp.Regexp
	nets   []netip.Prefix
	query  []queryGlob
}

type queryGlob struct {
	anyKey bool
	key    glob
	value  glob
}

// matcherOf prepares a condition. Values that cannot be parsed match no request; the API handler
// refuses them before.
func matcherOf(c world.Condition) matcher {
	m := matcher{field: c.Field, header: http.CanonicalHeaderKey(c.Header)}
	for _, v := range c.Regex {
		if re, err := regexp.Compile(v); err == nil {
			m.regex = append(m.regex, re)
		}
	}
	if c.Field == "source-ip" {
		for _, v := range c.Values {
			if p, err := netip.ParsePrefix(v); err == nil {
				m.nets = append(m.nets, p.Masked())
			}
		}
		return m
	}
	fold := c.Field != "path-pattern" && c.Field != "http-request-method"
	for _, v := range c.Values {
		m.globs = append(m.globs, newGlob(v, fold))
	}
	for _, q := range c.Query {
		m.query = append(m.query, queryGlob{q.Key == "", newGlob(q.Key, true), newGlob(q.Value, true)})
	}
	return m
}

func (m *matcher) matchesRequest(r *Request) bool {
	switch m.field {
	case "host-header":
		host, _ := splitHost(r.Host)
		return m.matchesText(host)
	case "path-pattern":
		return m.matchesText(r.Path)
	case "http-request-method":
		return m.matchesText(r.Method)
	case "source-ip":
		return m.matchesAddress(r.SourceIP)
	case "http-header":
		for _, v := range r.Header[m.header] {
			if m.matchesText(v) {
				return true
			}
		}
		return false
	case "query-string":
		return m.matchesQuery(r.RawQuery)
	}
	return false
}

func (m *matcher) matchesText(s string) bool {
	for i := range m.globs {
		if m.globs[i].match(s) {
			return true
		}
	}
	for _, re := range m.regex {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

func (m *matcher) matchesAddress(a netip.Addr) bool {
	for _, p := range m.nets {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func (m *matcher) matchesQuery(raw string) bool {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		k, v, _ := strings.Cut(pair, "=")
		k, v = unescapeQuery(k), unescapeQuery(v)
		for i := range m.query {
			q := &m.query[i]
			if (q.anyKey || q.key.match(k)) && q.value.match(v) {
				return true
			}
		}
	}
	return false
}

func unescapeQuery(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// glob is a pattern: * matches any characters, ? matches one, and \ removes the meaning of the next
// character.
type glob struct {
	pattern string
	plain   bool // no wildcard: equality is enough
	fold    bool // letter case does not matter
}

func newGlob(pattern string, fold bool) glob {
	return glob{pattern, !strings.ContainsAny(pattern, `*?\`), fold}
}

func (g *glob) match(s string) bool {
	switch {
	case g.plain && g.fold:
		return strings.EqualFold(g.pattern, s)
	case g.plain:
		return g.pattern == s
	}
	return g.matchWildcards(s)
}

// matchWildcards matches with one backtracking point: the last * and the text that it has consumed.
func (g *glob) matchWildcards(s string) bool {
	p, i, star, eaten := 0, 0, -1, 0
	for i < len(s) {
		c, width, wild := g.elementAt(p)
		switch {
		case c == '*' && wild:
			star, eaten, p = p, i, p+1
			continue
		case width > 0 && (wild || sameLetter(c, s[i], g.fold)):
			p, i = p+width, i+1
			continue
		case star < 0:
			return false
		}
		eaten++
		p, i = star+1, eaten
	}
	for p < len(g.pattern) && g.pattern[p] == '*' {
		p++
	}
	return p == len(g.pattern)
}

// elementAt returns the pattern's element at p: its character, its width (0 at the end) and whether
// it is a wildcard.
func (g *glob) elementAt(p int) (c byte, width int, wild bool) {
	if p >= len(g.pattern) {
		return 0, 0, false
	}
	c = g.pattern[p]
	if c == '\\' && p+1 < len(g.pattern) {
		return g.pattern[p+1], 2, false
	}
	return c, 1, c == '*' || c == '?'
}

func sameLetter(a, b byte, fold bool) bool {
	return a == b || fold && lowerByte(a) == lowerByte(b)
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
