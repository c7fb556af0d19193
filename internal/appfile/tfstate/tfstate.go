// Package tfstate reads values of a Terraform state: attributes of resources and data sources, and outputs.
//
// It only reads the bytes that it is given. Start reading at [Parse] and [State.Lookup].
package tfstate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// version is the format version of the states that Terraform writes since 0.12, and OpenTofu.
const version = 4

// State is the parsed text of a state.
type State struct {
	outputs   map[string]any
	instances []instance
}

// instance is one instance of a resource or of a data source.
type instance struct {
	resource   []part // its address without the index
	index      *part  // of count or for_each; nil: there is one instance
	attributes map[string]any
}

// stateFile is the part of a state file that is read.
type stateFile struct {
	Version int `json:"version"`
	Outputs map[string]struct {
		Value any `json:"value"`
	} `json:"outputs"`
	Resources []struct {
		Module    string `json:"module"`
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Instances []struct {
			IndexKey   any            `json:"index_key"`
			Attributes map[string]any `json:"attributes"`
		} `json:"instances"`
	} `json:"resources"`
}

// Parse reads the text of a state.
func Parse(data []byte) (*State, error) {
	var file stateFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("it is not a Terraform state: %w", err)
	}
	if file.Version != version {
		return nil, fmt.Errorf("it has version %d of Terraform's state format, and only version %d can be read",
			file.Version, version)
	}
	s := &State{outputs: map[string]any{}}
	for name, o := range file.Outputs {
		s.outputs[name] = o.Value
	}
	for _, r := range file.Resources {
		address := r.Type + "." + r.Name
		if r.Mode == "data" {
			address = "data." + address
		}
		if r.Module != "" {
			address = r.Module + "." + address
		}
		parts, err := parseAddress(address)
		if err != nil {
			return nil, fmt.Errorf("it has a resource with the address %s: %w", address, err)
		}
		for _, i := range r.Instances {
			if r.Mode == "data" && r.Type == "terraform_remote_state" {
				unwrapOutputs(i.Attributes)
			}
			s.instances = append(s.instances, instance{resource: parts, index: indexPart(i.IndexKey),
				attributes: i.Attributes})
		}
	}
	return s, nil
}

// unwrapOutputs replaces the outputs of another state by their values. Terraform stores their type next to them.
func unwrapOutputs(attributes map[string]any) {
	for name, v := range attributes {
		typed, isMap := v.(map[string]any)
		if isMap && typed["value"] != nil && typed["type"] != nil {
			attributes[name] = typed["value"]
		}
	}
}

func indexPart(key any) *part {
	switch k := key.(type) {
	case string:
		return &part{text: k, isIndex: true}
	case float64:
		return &part{text: strconv.Itoa(int(k)), isIndex: true, isCount: true}
	}
	return nil
}

// Lookup returns the value of an address: "aws_vpc.main.id", "data.aws_subnets.all.ids[0]",
// `module.net["a"].aws_vpc.main.id`, `aws_subnet.all["a"].arn` or "output.vpc_id". Quotes may be single. A value is
// a text, a float64, a bool, nil, a []any or a map[string]any. A resource with count, without an index, is a list of its
// instances; one with for_each is a map of them.
func (s *State) Lookup(address string) (any, error) {
	parts, err := parseAddress(strings.ReplaceAll(address, "'", `"`))
	if err != nil {
		return nil, fmt.Errorf("the address %s is not valid: %w", address, err)
	}
	if parts[0].text == "output" && len(parts) > 1 {
		value, ok := s.outputs[parts[1].text]
		if !ok {
			return nil, noneOf(address, "output.", slices.Collect(maps.Keys(s.outputs)))
		}
		return follow(value, parts[2:], address)
	}
	var indexed []instance
	for _, i := range s.instances {
		if !hasPrefix(parts, i.resource) {
			continue
		}
		rest := parts[len(i.resource):]
		switch {
		case i.index == nil:
			return follow(i.attributes, rest, address)
		case len(rest) > 0 && rest[0].isIndex && rest[0].text == i.index.text:
			return follow(i.attributes, rest[1:], address)
		}
		indexed = append(indexed, i)
	}
	switch {
	case len(indexed) == 0:
		return nil, noneOf(address, "", s.addressesLike(parts))
	case len(parts) > len(indexed[0].resource):
		return nil, fmt.Errorf("the state has no %s: the resource has %s, by count or for_each",
			address, plural(len(indexed)))
	}
	return group(indexed), nil
}

// noneOf is the error of an address that the state does not have. It names those that were probably meant.
func noneOf(address, prefix string, names []string) error {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return fmt.Errorf("the state has no %s%s", address, listNames(names))
}

// maxNames is how many names an error lists.
const maxNames = 10

// listNames says for an error which names there are, or nothing if there are none.
func listNames(names []string) string {
	slices.Sort(names)
	more := ""
	if len(names) > maxNames {
		names, more = names[:maxNames], fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ") + more
}

// addressesLike returns the addresses of the resources of a type in a module, or of all if the state has none of it.
func (s *State) addressesLike(parts []part) []string {
	var all, like []string
	for _, i := range s.instances {
		var names []string
		for _, p := range i.resource {
			names = append(names, p.text)
		}
		address := strings.Join(names, ".")
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
		if n := len(i.resource) - 1; hasPrefix(parts, i.resource[:n]) && !slices.Contains(like, address) {
			like = append(like, address)
		}
	}
	if len(like) > 0 {
		return like
	}
	return all
}

// group returns the instances of one resource: a list in the order of count, or a map by the keys of for_each.
func group(instances []instance) any {
	if slices.ContainsFunc(instances, func(i instance) bool { return !i.index.isCount }) {
		byKey := map[string]any{}
		for _, i := range instances {
			byKey[i.index.text] = i.attributes
		}
		return byKey
	}
	ordered := slices.SortedFunc(slices.Values(instances), func(a, b instance) int {
		return cmp.Compare(a.index.number(), b.index.number())
	})
	list := make([]any, len(ordered))
	for n, i := range ordered {
		list[n] = i.attributes
	}
	return list
}

// follow returns the value at a path inside of a value.
func follow(value any, path []part, address string) (any, error) {
	for _, p := range path {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[p.text]
			if !ok {
				return nil, fmt.Errorf("%s has no %s in the state%s", address, p.text, listNames(slices.Collect(maps.Keys(v))))
			}
			value = inner
		case []any:
			n, err := strconv.Atoi(p.text)
			if err != nil || n < 0 || n >= len(v) {
				return nil, fmt.Errorf("%s: the list has no element %s; it has %d", address, p.text, len(v))
			}
			value = v[n]
		default:
			return nil, fmt.Errorf("%s has no %s in the state", address, p.text)
		}
	}
	return value, nil
}

// part is one part of an address: a name after a dot, or an index in brackets.
type part struct {
	text    string
	isIndex bool
	isCount bool // the index of an instance is a number
}

// number is the index of an instance of count.
func (p part) number() int {
	n, _ := strconv.Atoi(p.text)
	return n
}

func hasPrefix(parts, prefix []part) bool {
	if len(parts) < len(prefix) {
		return false
	}
	for i, p := range prefix {
		if parts[i] != p {
			return false
		}
	}
	return true
}

// parseAddress splits an address into its parts.
func parseAddress(text string) (parts []part, err error) {
	for rest := text; rest != ""; {
		var p part
		if rest[0] == '[' {
			p.isIndex = true
			if p.text, rest, err = cutIndex(rest[1:]); err != nil {
				return nil, err
			}
		} else {
			n := strings.IndexAny(rest, ".[")
			if n < 0 {
				n = len(rest)
			}
			if n == 0 {
				return nil, errors.New("it has an empty name")
			}
			p.text, rest = rest[:n], rest[n:]
		}
		parts = append(parts, p)
		if after, isDot := strings.CutPrefix(rest, "."); isDot {
			if after == "" {
				return nil, errors.New("it ends with a dot")
			}
			rest = after
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("it is empty")
	}
	return parts, nil
}

// cutIndex returns the index that a bracket closes, and the text after the bracket.
func cutIndex(rest string) (index, after string, err error) {
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", "", errors.New("an index has no closing quote")
		}
		if index, err = strconv.Unquote(quoted); err != nil {
			return "", "", err
		}
		after, ok := strings.CutPrefix(rest[len(quoted):], "]")
		if !ok {
			return "", "", errors.New("an index has no closing bracket")
		}
		return index, after, nil
	}
	index, after, ok := strings.Cut(rest, "]")
	if !ok {
		return "", "", errors.New("an index has no closing bracket")
	}
	if n, err := strconv.Atoi(index); err != nil || n < 0 {
		return "", "", fmt.Errorf("the index %s is neither a number nor a quoted text", index)
	}
	return index, after, nil
}

func plural(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", n)
}
