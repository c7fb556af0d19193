package definition

import "reflect"

// Members returns the members of a task definition as differences from a definition that does not
// exist: everything that registering it creates, sorted by path.
func (t *Task) Members() []Difference {
	in := *t.Input
	in.Tags = withoutRecord(in.Tags)
	tree, _ := valueTree(reflect.ValueOf(in)).(map[string]any)
	return membersOfTree(tree, taskRules())
}

// Members returns the members of a service definition that the file gives, as [Task.Members] does.
// The task definition is not one of them: the deployment sets it.
func (s *Service) Members() []Difference {
	given, in := map[string]any{}, *s.Input
	in.Tags = withoutRecord(in.Tags)
	for name, value := range treeOf(&in) {
		if s.Given[name] && name != "taskDefinition" && name != "clientToken" {
			given[name] = value
		}
	}
	if n := s.Input.DesiredCount; n != nil && *n == 0 {
		given["desiredCount"] = "0"
	}
	return membersOfTree(given, serviceRules())
}

// membersOfTree does not apply defaults: what the file writes is listed.
func membersOfTree(tree map[string]any, r rules) []Difference {
	c := comparison{rules: r, isNew: true}
	for _, name := range sortedKeys(tree) {
		c.compareValues(tree[name], nil, name, name)
	}
	return c.differences
}
