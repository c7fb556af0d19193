package definition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// LogGroup is a log group that containers write to.
type LogGroup struct {
	Name, Region string
	IsCreated    bool // by the first task, if it does not exist
}

// LogGroups returns the log groups of the containers with log driver awslogs, by name and Region. region is that of the
// groups without one.
func LogGroups(containers []ecstypes.ContainerDefinition, region string) (all []LogGroup) {
	for _, d := range containers {
		l := d.LogConfiguration
		if l == nil || l.LogDriver != ecstypes.LogDriverAwslogs || l.Options["awslogs-group"] == "" {
			continue
		}
		g := LogGroup{Name: l.Options["awslogs-group"], Region: cmp.Or(l.Options["awslogs-region"], region),
			IsCreated: strings.EqualFold(l.Options["awslogs-create-group"], "true")}
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// NewLogGroups returns the log groups without which the tasks of a definition do not start, and which the serving
// revision does not name. serving is nil if there is none.
func NewLogGroups(task *awsecs.RegisterTaskDefinitionInput, serving *ecstypes.TaskDefinition, region string) []LogGroup {
	var known []LogGroup
	if serving != nil {
		known = LogGroups(serving.ContainerDefinitions, region)
	}
	return slices.DeleteFunc(LogGroups(task.ContainerDefinitions, region), func(g LogGroup) bool {
		return g.IsCreated || slices.ContainsFunc(known, func(k LogGroup) bool { return k.Name == g.Name && k.Region == g.Region })
	})
}

// NewRoles returns the roles of a task definition that the serving revision does not name, by ARN or by name as the
// definition has them. serving is nil if there is none.
func NewRoles(task *awsecs.RegisterTaskDefinitionInput, serving *ecstypes.TaskDefinition) []string {
	nameOf := func(role *string) string {
		name := aws.ToString(role)
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	all := []string{aws.ToString(task.ExecutionRoleArn), aws.ToString(task.TaskRoleArn)}
	return slices.DeleteFunc(all, func(role string) bool {
		name := nameOf(&role)
		return name == "" || serving != nil &&
			(name == nameOf(serving.ExecutionRoleArn) || name == nameOf(serving.TaskRoleArn))
	})
}
