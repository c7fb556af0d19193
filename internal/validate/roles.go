package validate

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

const setExecutionRole = "set executionRoleArn of the task definition"

// checkRoles refuses secrets of containers without the role that reads them, and what Fargate needs that role for. AWS
// refuses them at RegisterTaskDefinition.
func (c *checker) checkRoles(task *definition.Task) {
	if aws.ToString(task.Input.ExecutionRoleArn) != "" {
		return
	}
	for _, k := range containersOf(task) {
		if n := k.node.Find("secrets"); hasContent(n) {
			c.addProblem(n, setExecutionRole,
				"container %s has secrets, and the task definition has no executionRoleArn to read them", k.name())
		}
	}
	if isForFargate(task) {
		c.checkFargateRole(task)
	}
}

// checkFargateRole refuses images of ECR and logs of CloudWatch without the role with which Fargate pulls and writes them.
func (c *checker) checkFargateRole(task *definition.Task) {
	if aws.ToString(task.Input.ExecutionRoleArn) != "" {
		return
	}
	for _, k := range containersOf(task) {
		if image, err := definition.ParseImage(aws.ToString(k.Image)); err == nil && image.IsECR() {
			c.addProblem(k.node.Find("image"), setExecutionRole,
				"container %s has an image of ECR, and Fargate needs an executionRoleArn to pull it", k.name())
		}
		if l := k.LogConfiguration; l != nil && l.LogDriver == ecstypes.LogDriverAwslogs {
			c.addProblem(k.node.Find("logConfiguration").Find("logDriver"), setExecutionRole,
				"container %s has the log driver awslogs, and Fargate needs an executionRoleArn to write its log", k.name())
		}
	}
}

// checkExec refuses ECS Exec without a role of the tasks. AWS refuses it at CreateService and
// UpdateService.
func (c *checker) checkExec(task *definition.Task, service *definition.Service) {
	if service.Input.EnableExecuteCommand && aws.ToString(task.Input.TaskRoleArn) == "" {
		c.addProblem(service.Text.Body.Find("enableExecuteCommand"),
			"set taskRoleArn in "+task.File+", or remove enableExecuteCommand",
			"enableExecuteCommand needs a role of the tasks, and %s has no taskRoleArn", task.File)
	}
}

// checkSecretNames refuses a secret with the name of an environment variable or of another secret.
func (c *checker) checkSecretNames(k container) {
	var names []string
	for _, e := range k.Environment {
		names = append(names, aws.ToString(e.Name))
	}
	for i, s := range k.Secrets {
		name := aws.ToString(s.Name)
		if slices.Contains(names, name) {
			c.addProblem(itemsOf(k.node.Find("secrets"))[i].Find("name"), "remove one of the two, or rename it",
				"container %s has two variables %s: a secret has no name of another variable", k.name(), name)
		}
		names = append(names, name)
	}
}
