package validate

import (
	"slices"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Doubts returns what AWS accepts in a task definition and what its author probably did not mean. served are the containers
// to which load balancers send requests.
func Doubts(task *definition.Task, served []string) []*definition.Problem {
	c := &checker{src: task.Text.Source}
	for _, k := range containersOf(task) {
		c.doubtHealthCommand(k)
		if slices.Contains(served, k.name()) && !k.isEssential() {
			c.addProblem(k.node.Find("essential"), "set essential: true, or remove it",
				"container %s gets the requests of a load balancer, and ECS keeps a task in which it has ended", k.name())
		}
	}
	return c.problems
}

// doubtHealthCommand doubts a command for the shell in several entries: the shell runs the first of them, and takes the
// others for its own arguments.
func (c *checker) doubtHealthCommand(k container) {
	if k.HealthCheck == nil || len(k.HealthCheck.Command) < 3 || k.HealthCheck.Command[0] != "CMD-SHELL" {
		return
	}
	c.addProblem(k.node.Find("healthCheck").Find("command"), "write the whole command as one entry, or begin with CMD",
		"healthCheck.command of container %s has several entries after CMD-SHELL, and the shell runs only the first", k.name())
}
