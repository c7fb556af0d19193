package policy

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Version is the version of the policy language (IAM User Guide, "IAM JSON policy
// elements: Version").
const Version = "2012-10-17"

// Document is an IAM policy, in the shape of AWS's JSON.
type Document struct {
	Version   string
	Statement []Statement
}

// Statement allows each of its actions on each of its resources.
type Statement struct {
	Sid      string
	Effect   string
	Action   []string // sorted
	Resource []string // ARNs, which may contain "*", or "*" alone; sorted
	// Condition is by operator and key.
	Condition map[string]map[string]string `json:",omitempty"`
}

// Text returns the policy as indented JSON with a line feed at its end.
func (d Document) Text() (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.String(), err
}

// Allows reports whether a statement allows the action on the resource. It ignores conditions: the
// callers ask only about actions of the plan, which meet them.
func (d Document) Allows(action, resource string) bool {
	return slices.ContainsFunc(d.Statement, func(s Statement) bool {
		return slices.Contains(s.Action, action) &&
			slices.ContainsFunc(s.Resource, func(r string) bool { return matchesPattern(r, resource) })
	})
}

// matchesPattern reports whether a resource matches a pattern, in which "*" is any text.
func matchesPattern(pattern, s string) bool {
	for pattern != "" {
		if pattern[0] != '*' {
			if s == "" || s[0] != pattern[0] {
				return false
			}
			pattern, s = pattern[1:], s[1:]
			continue
		}
		rest := pattern[1:]
		for i := 0; i <= len(s); i++ {
			if matchesPattern(rest, s[i:]) {
				return true
			}
		}
		return false
	}
	return s == ""
}
