package iam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Policy is a policy document, without the parts that are not simulated.
type Policy struct {
	Version   string `json:",omitempty"`
	ID        string `json:"Id,omitempty"`
	Statement statements
}

// Statement is one statement of a policy.
type Statement struct {
	Sid         string                     `json:",omitempty"`
	Effect      string                     // Allow or Deny
	Action      list                       `json:",omitempty"`
	NotAction   list                       `json:",omitempty"`
	Resource    list                       `json:",omitempty"`
	NotResource list                       `json:",omitempty"`
	Condition   map[string]map[string]list `json:",omitempty"`
}

// list is one string or several.
type list []string

// UnmarshalJSON takes both.
func (l *list) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, (*[]string)(l))
	}
	var one string
	err := json.Unmarshal(data, &one)
	*l = list{one}
	return err
}

// statements are one statement or several.
type statements []Statement

// UnmarshalJSON takes both.
func (s *statements) UnmarshalJSON(data []byte) error {
	strict := func(to any) error {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		return d.Decode(to)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return strict((*[]Statement)(s))
	}
	*s = make(statements, 1)
	return strict(&(*s)[0])
}

// Parse reads a policy document.
func Parse(text string) (Policy, error) {
	var p Policy
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("it is no policy: %w", err)
	}
	for i := range p.Statement {
		s := &p.Statement[i]
		if s.Sid == "" {
			s.Sid = fmt.Sprintf("statement %d", i+1)
		}
		switch {
		case s.Effect != "Allow" && s.Effect != "Deny":
			return p, fmt.Errorf("%s: Effect is neither Allow nor Deny", s.Sid)
		case (len(s.Action) > 0) == (len(s.NotAction) > 0):
			return p, fmt.Errorf("%s: it needs one of Action and NotAction", s.Sid)
		case (len(s.Resource) > 0) == (len(s.NotResource) > 0):
			return p, fmt.Errorf("%s: it needs one of Resource and NotResource", s.Sid)
		}
		for operator := range s.Condition {
			if conditionOperators[strings.TrimSuffix(operator, "IfExists")] == nil {
				return p, fmt.Errorf("%s: the local AWS does not simulate the condition operator %s", s.Sid, operator)
			}
		}
	}
	return p, nil
}

// parsePolicies parses the policies of a request.
func parsePolicies(all []string) (out []Policy, err error) {
	for _, text := range all {
		p, err := Parse(text)
		if err != nil {
			return nil, world.Refuse("InvalidInput", "%s", err)
		}
		out = append(out, p)
	}
	return out, nil
}
