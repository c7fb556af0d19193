package definition

import (
	"reflect"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// DecodeTask reads a task definition as RegisterTaskDefinition's request or as
// DescribeTaskDefinition returns it, wrapped or not. file appears only in errors. It returns all
// problems together, in the order of the file, as joined [*Problem]s.
func DecodeTask(file string, data []byte) (*Task, error) { return decodeTask(file, data, false) }

// LoadTask is DecodeTask for a file that AWS has not seen: values that AWS refuses, such as a port
// of 99999, are also problems.
func LoadTask(file string, data []byte) (*Task, error) { return decodeTask(file, data, true) }

func decodeTask(file string, data []byte, strict bool) (*Task, error) {
	src, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	src.HideSecrets()
	d := &decoder{src: src, strict: strict}
	in := &awsecs.RegisterTaskDefinitionInput{}
	d.decodeTaskDefinition(in)
	if err := JoinProblems(d.problems); err != nil {
		return nil, err
	}
	return &Task{Input: in, File: file}, nil
}

func (d *decoder) decodeTaskDefinition(in *awsecs.RegisterTaskDefinitionInput) {
	const what = "the task definition"
	body := d.src.Root
	if wrapped := getFold(body, "taskDefinition"); wrapped != nil && wrapped.Kind == Map {
		d.checkWrapping(body, "the description", "taskDefinition", "tags")
		if tags := getFold(body, "tags"); tags != nil {
			d.decodeValue(tags, reflect.ValueOf(&in.Tags).Elem(), "tags")
		}
		body = wrapped
	}
	given := d.decodeRoot(body, reflect.ValueOf(in).Elem(), rootOptions{
		what:     what,
		readOnly: taskReadOnly(),
		textual:  []string{"cpu", "memory"},
	})
	if body.Kind != Map {
		return
	}
	d.requireMembers(body, given, what, "family", "containerDefinitions")
	d.checkContainers(getFold(body, "containerDefinitions"))
	d.checkFargateSize(body, in)
}

// checkContainers refuses containers without a name or an image, as AWS does.
func (d *decoder) checkContainers(list *Node) {
	if list == nil || list.Kind != List {
		return
	}
	if len(list.Items) == 0 {
		d.addProblem(d.src.At(list, "containerDefinitions has no container"))
	}
	for _, c := range list.Items {
		for _, name := range []string{"name", "image"} {
			if v := getFold(c, name); c.Kind == Map && (v == nil || v.Kind == Null) {
				d.addProblem(d.src.At(c, "a container has no %s", name))
			}
		}
	}
}

// requireMembers refuses a definition that lacks members that AWS requires.
func (d *decoder) requireMembers(body *Node, given map[string]bool, what string, names ...string) {
	for _, name := range names {
		if !given[name] {
			d.addProblem(d.src.At(body, "%s has no %s", what, name))
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
			d.addProblem(d.src.AtKey(e, "%s is given twice in %s", e.Key, what))
		}
		seen[low] = true
	}
}

// getFold returns the value of a key, in any case, or nil.
func getFold(n *Node, key string) *Node {
	for _, e := range n.Entries {
		if strings.EqualFold(e.Key, key) {
			return e.Value
		}
	}
	return nil
}
