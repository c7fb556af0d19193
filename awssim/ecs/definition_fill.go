package ecs

import (
	"strconv"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// buildDefinition checks a registration and returns the definition that AWS describes afterwards:
// defaults filled in, and empty lists for lists that were not given. The result may keep parts of
// the input.
func buildDefinition(in *awsecs.RegisterTaskDefinitionInput) (*ecstypes.TaskDefinition, error) {
	if err := checkDefinition(in); err != nil {
		return nil, err
	}
	mode := in.NetworkMode
	if mode == "" {
		mode = "bridge"
	}
	d := &ecstypes.TaskDefinition{
		ContainerDefinitions: in.ContainerDefinitions, Family: in.Family, NetworkMode: mode,
		Cpu: normalizeUnits(in.Cpu, "vcpu"), Memory: normalizeUnits(in.Memory, "gb"),
		EnableFaultInjection: in.EnableFaultInjection, EphemeralStorage: in.EphemeralStorage,
		ExecutionRoleArn: in.ExecutionRoleArn, TaskRoleArn: in.TaskRoleArn,
		InferenceAccelerators: in.InferenceAccelerators,
		IpcMode:               in.IpcMode, PidMode: in.PidMode, ProxyConfiguration: in.ProxyConfiguration,
		RequiresCompatibilities: in.RequiresCompatibilities, RuntimePlatform: in.RuntimePlatform,
		Volumes: fillVolumes(in.Volumes), PlacementConstraints: orEmpty(in.PlacementConstraints),
		Compatibilities: launchCompatibilities(in, mode), RequiresAttributes: requiredAttributes(in, mode),
	}
	for i := range d.ContainerDefinitions {
		fillContainer(&d.ContainerDefinitions[i], mode)
	}
	return d, nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func normalizeUnits(s *string, unit string) *string {
	if val(s) == "" {
		return nil
	}
	if n, ok := parseUnits(*s, unit); ok {
		return ptr(strconv.Itoa(n))
	}
	return s
}

func fillContainer(c *ecstypes.ContainerDefinition, mode ecstypes.NetworkMode) {
	if c.Essential == nil {
		c.Essential = ptr(true)
	}
	c.Environment, c.MountPoints = orEmpty(c.Environment), orEmpty(c.MountPoints)
	c.VolumesFrom, c.PortMappings = orEmpty(c.VolumesFrom), orEmpty(c.PortMappings)
	c.SystemControls = orEmpty(c.SystemControls)
	for i := range c.PortMappings {
		p := &c.PortMappings[i]
		if p.Protocol == "" {
			p.Protocol = "tcp"
		}
		if p.HostPort == nil && p.ContainerPort != nil {
			p.HostPort = ptr(int32(0))
			if mode == "awsvpc" || mode == "host" {
				p.HostPort = ptr(*p.ContainerPort)
			}
		}
	}
	if h := c.HealthCheck; h != nil {
		h.Interval, h.Timeout, h.Retries = orDefault(h.Interval, 30), orDefault(h.Timeout, 5), orDefault(h.Retries, 3)
	}
}

func orDefault[T any](p *T, d T) *T {
	if p == nil {
		return &d
	}
	return p
}

func launchCompatibilities(in *awsecs.RegisterTaskDefinitionInput, mode ecstypes.NetworkMode) []ecstypes.Compatibility {
	list := []ecstypes.Compatibility{"EC2"}
	cpu, a := parseUnits(val(in.Cpu), "vcpu")
	memory, b := parseUnits(val(in.Memory), "gb")
	if mode == "awsvpc" && a && b && fargateSize(cpu, memory) {
		list = append(list, "FARGATE")
	}
	return list
}

// requiredAttributes returns some of the attributes that AWS derives; no controller reads them.
func requiredAttributes(in *awsecs.RegisterTaskDefinitionInput, mode ecstypes.NetworkMode) []ecstypes.Attribute {
	names := []string{"com.amazonaws.ecs.capability.docker-remote-api.1.18"}
	if val(in.TaskRoleArn) != "" {
		names = append(names, "com.amazonaws.ecs.capability.task-iam-role")
	}
	if mode == "awsvpc" {
		names = append(names, "ecs.capability.task-eni")
	}
	list := make([]ecstypes.Attribute, len(names))
	for i, n := range names {
		list[i].Name = ptr(n)
	}
	return list
}

// specsOf returns the containers of a filled definition as controllers read them.
func specsOf(d *ecstypes.TaskDefinition) []world.ContainerSpec {
	specs := make([]world.ContainerSpec, len(d.ContainerDefinitions))
	for i := range d.ContainerDefinitions {
		specs[i] = specOf(&d.ContainerDefinitions[i])
	}
	return specs
}

func specOf(c *ecstypes.ContainerDefinition) world.ContainerSpec {
	s := world.ContainerSpec{
		Name: *c.Name, Image: *c.Image, Essential: *c.Essential, Command: deepCopy(c.Command),
		Environment: map[string]string{},
		StopTimeout: 30 * time.Second, Health: healthOf(c.HealthCheck), Log: logOf(c.LogConfiguration),
		StartTimeout: secondsDuration(c.StartTimeout),
		ResolvesAnew: c.VersionConsistency == ecstypes.VersionConsistencyDisabled,
	}
	if c.StopTimeout != nil {
		s.StopTimeout = secondsDuration(c.StopTimeout)
	}
	for _, p := range c.PortMappings {
		s.Ports = append(s.Ports, world.Port{Container: val(p.ContainerPort), Host: val(p.HostPort),
			Protocol: string(p.Protocol), Name: val(p.Name)})
	}
	for _, d := range c.DependsOn {
		s.DependsOn = append(s.DependsOn, world.Dependency{Container: val(d.ContainerName), Condition: string(d.Condition)})
	}
	for _, e := range c.Environment {
		s.Environment[val(e.Name)] = val(e.Value)
	}
	return s
}

func healthOf(h *ecstypes.HealthCheck) *world.ContainerHealth {
	if h == nil || h.Command[0] == "NONE" {
		return nil
	}
	return &world.ContainerHealth{
		Interval: secondsDuration(h.Interval), Timeout: secondsDuration(h.Timeout),
		StartPeriod: secondsDuration(h.StartPeriod), Retries: int(val(h.Retries)),
	}
}

func secondsDuration(n *int32) time.Duration { return time.Duration(val(n)) * time.Second }
