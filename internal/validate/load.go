package validate

import (
	"reflect"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// LoadTask reads a task definition as [definition.DecodeTask] does, for a file that AWS has not
// seen: values that AWS refuses are problems too.
func LoadTask(file string, data []byte, vars definition.Variables) (*definition.Task, error) {
	task, problems, err := definition.ReadTask(file, data, vars)
	if err != nil {
		return nil, err
	}
	c := &checker{src: task.Text.Source, problems: problems}
	c.checkModel(task.Text.Body, reflect.TypeFor[awsecs.RegisterTaskDefinitionInput](), "")
	if len(c.problems) == 0 { // the checks below rely on valid members
		c.checkContainers(task)
		c.checkRoles(task)
		c.checkVolumes(task)
		c.checkTags(task.Text.Body)
		c.checkSizes(task.Text.Body)
		if isForFargate(task) {
			c.checkFargate(task)
		}
		c.checkNetworkMode(task)
	}
	if err := definition.JoinProblems(c.problems); err != nil {
		return nil, err
	}
	return task, nil
}

// LoadService reads a service definition as [definition.DecodeService] does, for a file that AWS
// has not seen: values that AWS refuses are problems too.
func LoadService(file string, data []byte) (*definition.Service, error) {
	return LoadNamedService(file, data, "", nil)
}

// LoadNamedService is LoadService for a definition whose name may be given elsewhere.
func LoadNamedService(file string, data []byte, name string, vars definition.Variables) (*definition.Service, error) {
	service, problems, err := definition.ReadService(file, data, name, vars)
	if err != nil {
		return nil, err
	}
	c := &checker{src: service.Text.Source, problems: problems}
	c.checkModel(service.Text.Body, reflect.TypeFor[awsecs.CreateServiceInput](), "")
	if len(c.problems) == 0 {
		c.checkService(service)
		c.checkTags(service.Text.Body)
	}
	if err := definition.JoinProblems(c.problems); err != nil {
		return nil, err
	}
	return service, nil
}

// checker collects the problems of one definition.
type checker struct {
	src      *definition.Source
	problems []*definition.Problem
}

// addProblem adds a problem at a node. next says what to do.
func (c *checker) addProblem(n *definition.Node, next, format string, args ...any) *definition.Problem {
	p := c.src.At(n, format, args...)
	p.Next = next
	c.problems = append(c.problems, p)
	return p
}

// isGiven reports whether a member is present and not null. It may be empty.
func isGiven(n *definition.Node) bool {
	return n != nil && n.Kind != definition.Null
}

// hasContent reports whether a member has a value that changes what AWS does: DescribeTaskDefinition
// returns empty lists and false for members that nobody set.
func hasContent(n *definition.Node) bool {
	switch {
	case !isGiven(n):
		return false
	case n.Kind == definition.List:
		return len(n.Items) > 0
	case n.Kind == definition.Map:
		return len(n.Entries) > 0
	case n.Kind == definition.Text:
		return n.Text != ""
	case n.Kind == definition.Number:
		f, _ := n.Float()
		return f != 0
	}
	return n.Text == "true"
}

// itemsOf returns the items of a member that is a list.
func itemsOf(n *definition.Node) []*definition.Node {
	if n == nil {
		return nil
	}
	return n.Items
}
