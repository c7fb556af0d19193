package ecs

import (
	"regexp"
	"slices"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// portNameForm is the form of a port mapping's name (API Reference, PortMapping).
var portNameForm = regexp.MustCompile(`^[a-z0-9_][a-z0-9_-]*$`)

// minMemory is the least memory of a container in MiB (API Reference, ContainerDefinition).
const minMemory = 4

// checkTogether compares the containers of a registration with each other and with the task. Each of
// them is valid by itself.
func checkTogether(in *awsecs.RegisterTaskDefinitionInput) error {
	byName := map[string]*ecstypes.ContainerDefinition{}
	for i := range in.ContainerDefinitions {
		c := &in.ContainerDefinitions[i]
		byName[*c.Name] = c
	}
	for i := range in.ContainerDefinitions {
		c := &in.ContainerDefinitions[i]
		err := firstError(checkDependencies(c, byName), checkNamed(c, byName), checkSecrets(in, c), checkLog(in, c),
			checkLimits(c))
		if err != nil {
			return err
		}
	}
	return firstError(checkPortNames(in), checkSizes(in))
}

// checkDependencies rejects dependencies that cannot be satisfied (API Reference,
// ContainerDependency).
func checkDependencies(c *ecstypes.ContainerDefinition, byName map[string]*ecstypes.ContainerDefinition) error {
	for _, d := range c.DependsOn {
		on := byName[val(d.ContainerName)]
		ends := d.Condition == ecstypes.ContainerConditionSuccess || d.Condition == ecstypes.ContainerConditionComplete
		switch {
		case on == nil:
			return clientError("Container '%s' depends on container '%s', which is not in the task definition.",
				*c.Name, val(d.ContainerName))
		case waitsFor(on, *c.Name, byName, len(byName)):
			return clientError("There is a cycle in the dependencies of container '%s'.", *c.Name)
		case ends && (on.Essential == nil || *on.Essential):
			return clientError("A dependency container with SUCCESS or COMPLETE condition cannot be an essential container")
		case d.Condition == ecstypes.ContainerConditionHealthy && on.HealthCheck == nil:
			return clientError("Container '%s' depends on the health of container '%s', which has no health check.",
				*c.Name, *on.Name)
		}
	}
	return nil
}

// waitsFor reports whether a container is the named one or waits for it, through at most left others.
func waitsFor(c *ecstypes.ContainerDefinition, name string, byName map[string]*ecstypes.ContainerDefinition,
	left int) bool {
	if *c.Name == name {
		return true
	}
	return left > 0 && slices.ContainsFunc(c.DependsOn, func(d ecstypes.ContainerDependency) bool {
		next := byName[val(d.ContainerName)]
		return next != nil && waitsFor(next, name, byName, left-1)
	})
}

// checkNamed rejects volumes and links of containers that do not exist.
func checkNamed(c *ecstypes.ContainerDefinition, byName map[string]*ecstypes.ContainerDefinition) error {
	for _, v := range c.VolumesFrom {
		if byName[val(v.SourceContainer)] == nil {
			return clientError("Unknown container '%s' in volumesFrom of container '%s'.", val(v.SourceContainer), *c.Name)
		}
	}
	for _, link := range c.Links {
		if name, _, _ := strings.Cut(link, ":"); byName[name] == nil {
			return clientError("Unknown container '%s' in links of container '%s'.", name, *c.Name)
		}
	}
	return nil
}

func checkSecrets(in *awsecs.RegisterTaskDefinitionInput, c *ecstypes.ContainerDefinition) error {
	if len(c.Secrets) > 0 && val(in.ExecutionRoleArn) == "" {
		return clientError("When you are specifying container secrets, you must also specify a value for " +
			"'executionRoleArn'.")
	}
	seen := map[string]bool{}
	for _, e := range c.Environment {
		seen[val(e.Name)] = true
	}
	for _, x := range c.Secrets {
		if seen[val(x.Name)] {
			return clientError("The secret name must be unique and not shared with any new or existing environment "+
				"variables set on the container, such as '%s'.", val(x.Name))
		}
		seen[val(x.Name)] = true
	}
	return nil
}

// checkLog rejects log configurations that lack what their driver needs.
func checkLog(in *awsecs.RegisterTaskDefinitionInput, c *ecstypes.ContainerDefinition) error {
	l := c.LogConfiguration
	if l == nil {
		return nil
	}
	isRouter := func(c ecstypes.ContainerDefinition) bool { return c.FirelensConfiguration != nil }
	isComplete := l.Options["awslogs-region"] != "" && l.Options["awslogs-group"] != ""
	switch {
	case l.LogDriver == ecstypes.LogDriverAwslogs && !isComplete:
		return clientError("Log driver awslogs requires options: awslogs-region, awslogs-group")
	case l.LogDriver == ecstypes.LogDriverAwsfirelens && !slices.ContainsFunc(in.ContainerDefinitions, isRouter):
		return clientError("Container '%s': the log driver awsfirelens requires a container with a firelensConfiguration.",
			*c.Name)
	}
	return nil
}

func checkLimits(c *ecstypes.ContainerDefinition) error {
	for _, u := range c.Ulimits {
		if u.SoftLimit > u.HardLimit {
			return clientError("Container '%s': the soft limit of ulimit '%s' is greater than its hard limit.", *c.Name,
				u.Name)
		}
	}
	if m := c.Memory; m != nil && *m < minMemory {
		return clientError("Invalid setting for container '%s'. 'memory' must be at least %d.", *c.Name, minMemory)
	}
	return nil
}

func checkPortNames(in *awsecs.RegisterTaskDefinitionInput) error {
	seen := map[string]bool{}
	for _, c := range in.ContainerDefinitions {
		for _, p := range c.PortMappings {
			name := val(p.Name)
			switch {
			case name == "":
				continue
			case len(name) > 64, !portNameForm.MatchString(name):
				return clientError("Container '%s': the port mapping name '%s' can have 1 to 64 lowercase letters, "+
					"numbers, underscores and hyphens, and cannot start with a hyphen.", *c.Name, name)
			case seen[name]:
				return clientError("Port mapping names must be unique: %s.", name)
			}
			seen[name] = true
		}
	}
	return nil
}

// reservedBy returns what a task takes of its container instance: the size of the task, or that of its
// containers (Developer Guide, "Task definition parameters").
func reservedBy(def *ecstypes.TaskDefinition) (s world.Size) {
	for _, c := range def.ContainerDefinitions {
		s.CPU += int(c.Cpu)
		if c.MemoryReservation != nil {
			s.Memory += int(*c.MemoryReservation)
		} else {
			s.Memory += int(val(c.Memory))
		}
	}
	if cpu, ok := parseUnits(val(def.Cpu), "vcpu"); ok {
		s.CPU = cpu
	}
	if memory, ok := parseUnits(val(def.Memory), "gb"); ok {
		s.Memory = memory
	}
	return s
}

// checkSizes compares the sizes of the containers with those of the task. Sizes of the task that are
// not valid are reported by [checkFargate].
func checkSizes(in *awsecs.RegisterTaskDefinitionInput) error {
	cpu, hasCPU := parseUnits(val(in.Cpu), "vcpu")
	memory, hasMemory := parseUnits(val(in.Memory), "gb")
	sum := 0
	for _, c := range in.ContainerDefinitions {
		if sum += int(c.Cpu); hasMemory && int(val(c.Memory)) > memory {
			return clientError("The 'memory' setting for container '%s' is greater than for the task.", *c.Name)
		}
	}
	if hasCPU && sum > cpu {
		return clientError("The sum of all container 'cpu' values cannot be greater than the value of the task 'cpu'.")
	}
	return nil
}
