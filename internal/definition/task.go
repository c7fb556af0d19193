package definition

import (
	"reflect"
	"slices"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// DecodeTask reads a task definition as RegisterTaskDefinition's request or as
// DescribeTaskDefinition returns it, wrapped or not. file appears only in errors. It returns all
// problems together, in the order of the file, as joined [*Problem]s.
func DecodeTask(file string, data []byte) (*Task, error) {
	task, problems, err := ReadTask(file, data, nil)
	if err == nil {
		err = JoinProblems(problems)
	}
	if err != nil {
		return nil, err
	}
	return task, nil
}

// ReadTask is DecodeTask for a caller that searches for further problems: it returns the problems,
// and the part of the task that it could decode. vars are the variables of the file; nil: it has none. The error is
// about the syntax of the file.
func ReadTask(file string, data []byte, vars Variables) (*Task, []*Problem, error) {
	d, err := newDecoder(file, data, vars)
	if err != nil {
		return nil, nil, err
	}
	src := d.src
	in := &awsecs.RegisterTaskDefinitionInput{}
	body := d.decodeTaskDefinition(in)
	return &Task{Input: in, File: file, Text: FileText{src, body}}, d.problems, nil
}

// decodeTaskDefinition fills the request and returns the node of its members.
func (d *decoder) decodeTaskDefinition(in *awsecs.RegisterTaskDefinitionInput) *Node {
	const what = "the task definition"
	body := d.src.Root
	if wrapped := body.Find("taskDefinition"); wrapped != nil && wrapped.Kind == Map {
		d.checkWrapping(body, "the description", "taskDefinition", "tags")
		if tags := body.Find("tags"); tags != nil {
			d.decodeValue(tags, reflect.ValueOf(&in.Tags).Elem(), "tags")
		}
		body = wrapped
	}
	if d.isMistaken(body, what) {
		return body
	}
	given := d.decodeRoot(body, reflect.ValueOf(in).Elem(), rootOptions{
		what:     what,
		readOnly: taskReadOnly(),
		textual:  []string{"cpu", "memory"},
	})
	if body.Kind == Map {
		d.requireMembers(body, given, what, "family", "containerDefinitions")
		d.checkContainers(body.Find("containerDefinitions"))
	}
	return body
}

// Recognize returns what a file of a definition is, and the node that shows it; nil: it is neither of the two.
func Recognize(body *Node) (is string, by *Node) {
	if by = body.Find("containerDefinitions"); by != nil {
		return "a task definition", by
	}
	return "a service definition", body.Find("serviceName")
}

// HomeOf returns which definition has a member of this name at its top, or "".
func HomeOf(name string) string {
	has := func(t reflect.Type) bool { return slices.Contains(memberNames(membersOf(t)), name) }
	switch {
	case has(reflect.TypeFor[awsecs.CreateServiceInput]()):
		return "the service definition"
	case has(reflect.TypeFor[awsecs.RegisterTaskDefinitionInput]()):
		return "the task definition"
	}
	return ""
}

// isMistaken adds the one problem of a file that is a definition of the other kind. It reports whether it is.
func (d *decoder) isMistaken(body *Node, what string) bool {
	is, by := Recognize(body)
	if by == nil || strings.HasSuffix(what, strings.TrimPrefix(is, "a ")) {
		return false
	}
	p := d.src.At(by, "this is %s, not %s", is, what)
	p.Next = "name the file of " + what + ": are the names of the two files exchanged?"
	d.addProblem(p)
	return true
}

// checkContainers refuses containers without a name or an image, as AWS does.
func (d *decoder) checkContainers(list *Node) {
	if list == nil || list.Kind != List {
		return
	}
	if len(list.Items) == 0 {
		p := d.src.At(list, "containerDefinitions has no container")
		p.Next = "add a container with a name and an image"
		d.addProblem(p)
	}
	for _, c := range list.Items {
		if c.Kind != Map {
			continue
		}
		if at := c.missing("name"); at != nil {
			p := d.src.At(at, "a container has no name")
			p.Next = "add name"
			d.addProblem(p.Lacks(c, "name"))
		}
		if at := c.missing("image"); at != nil {
			who := "a container"
			if name := c.Find("name"); name != nil && name.Kind == Text && name.Text != "" {
				who = "container " + name.Text
			}
			p := d.src.At(at, "%s has no image", who)
			p.Next = "write image: repository:tag; or image: " + FromService + ", which --image replaces"
			d.addProblem(p.Lacks(c, "image"))
		}
	}
}

// missing returns where a map has no value for a key: the map, or a value that is empty. It returns nil if it has one.
func (n *Node) missing(key string) *Node {
	switch v := n.Find(key); {
	case v == nil, v.Kind == Null:
		return n
	case v.Kind == Text && v.Text == "" && !v.unset:
		return v
	}
	return nil
}

// requireMembers refuses a definition that lacks members that AWS requires.
func (d *decoder) requireMembers(body *Node, given map[string]bool, what string, names ...string) {
	for _, name := range names {
		if !given[name] {
			p := d.src.At(body, "%s has no %s", what, name)
			p.Next = "add " + name
			d.addProblem(p.Lacks(body, name))
		}
	}
}

// checkWrapping refuses unknown keys next to a wrapped object.
func (d *decoder) checkWrapping(body *Node, what string, known ...string) {
	seen := map[string]bool{}
	for _, e := range body.Entries {
		low := strings.ToLower(e.Key)
		switch {
		case low == "responsemetadata":
		case !containsFold(known, e.Key):
			d.addUnknownKey(e, what, known)
		case seen[low]:
			p := d.src.AtKey(e, "%s is given twice in %s", e.Key, what)
			p.Next = "remove one of the two"
			d.addProblem(p)
		}
		seen[low] = true
	}
}
