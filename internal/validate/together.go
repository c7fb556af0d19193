package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// CompareTogether returns the problems of a service definition with the task definition that it
// runs. Both are read without problems. AWS reports these problems at CreateService or CreateTaskSet,
// after the task definition is registered.
func CompareTogether(task *definition.Task, service *definition.Service) []*definition.Problem {
	c := &checker{src: service.Text.Source}
	body := service.Text.Body
	for i, b := range service.Input.LoadBalancers {
		n := itemsOf(body.Find("loadBalancers"))[i]
		c.checkTarget(task, n, aws.ToString(b.ContainerName), aws.ToInt32(b.ContainerPort))
	}
	for i, r := range service.Input.ServiceRegistries {
		n := itemsOf(body.Find("serviceRegistries"))[i]
		c.checkTarget(task, n, aws.ToString(r.ContainerName), aws.ToInt32(r.ContainerPort))
	}
	c.checkConnectPorts(task, body.Find("serviceConnectConfiguration"))
	c.checkLaunchVolumes(task, itemsOf(body.Find("volumeConfigurations")))
	c.checkNetwork(task, service)
	c.checkExec(task, service)
	if len(c.problems) == 0 && runsOnFargate(service) && !isForFargate(task) {
		onFargate := &checker{src: task.Text.Source}
		onFargate.checkFargateSize(task.Text.Body)
		onFargate.checkFargateRole(task)
		return onFargate.problems
	}
	return c.problems
}

func runsOnFargate(service *definition.Service) bool {
	return isFargateService(service.Input.LaunchType, service.Input.CapacityProviderStrategy)
}

// checkTarget refuses a container or a port that the task definition does not have.
func (c *checker) checkTarget(task *definition.Task, n *definition.Node, name string, port int32) {
	if name == "" {
		return
	}
	if p := MissingTarget(c.src, task, n, name, int64(port)); p != nil {
		c.problems = append(c.problems, p)
	}
}

// MissingTarget returns the problem of a load balancer, registry or target group whose container or
// port the task definition does not have; nil if it has both. n contains containerName and
// containerPort. A port of 0 is not checked.
func MissingTarget(src *definition.Source, task *definition.Task, n *definition.Node, name string,
	port int64) *definition.Problem {
	all := task.Input.ContainerDefinitions
	i := slices.IndexFunc(all, func(k ecstypes.ContainerDefinition) bool { return aws.ToString(k.Name) == name })
	if i < 0 {
		var names []string
		for _, k := range all {
			names = append(names, aws.ToString(k.Name))
		}
		p := src.At(n.Find("containerName"), "the task definition %s has no container %q", task.File, name)
		p.Meant = definition.Nearest(name, names)
		p.Next = "name one of its containers: " + strings.Join(names, ", ")
		return p
	}
	if port == 0 || hasPort(all[i].PortMappings, port) {
		return nil
	}
	p := src.At(n.Find("containerPort"), "container %s of %s has no port mapping of port %d", name, task.File, port)
	p.Next = "add the port to portMappings of the container"
	if ports := portsOf(all[i].PortMappings); ports != "" {
		p.Next = "use " + ports + ", or add the port to portMappings of the container"
	}
	return p
}

// hasPort reports whether the mappings contain a port. Only AWS can check a range.
func hasPort(mappings []ecstypes.PortMapping, port int64) bool {
	return slices.ContainsFunc(mappings, func(m ecstypes.PortMapping) bool {
		return m.ContainerPortRange != nil || int64(aws.ToInt32(m.ContainerPort)) == port
	})
}

func portsOf(mappings []ecstypes.PortMapping) string {
	var ports []string
	for _, m := range mappings {
		ports = append(ports, fmt.Sprint(aws.ToInt32(m.ContainerPort)))
	}
	return strings.Join(ports, " or ")
}

// checkConnectPorts refuses an endpoint of Service Connect whose port has no name in the task
// definition.
func (c *checker) checkConnectPorts(task *definition.Task, connect *definition.Node) {
	var names []string
	for _, k := range task.Input.ContainerDefinitions {
		for _, m := range k.PortMappings {
			names = append(names, aws.ToString(m.Name))
		}
	}
	for _, s := range itemsOf(connect.Find("services")) {
		if n := s.Find("portName"); isGiven(n) && !slices.Contains(names, n.Text) {
			p := c.addProblem(n, "set name of a port mapping in the task definition to "+n.Text,
				"the task definition %s has no port mapping named %s", task.File, n.Text)
			p.Meant = definition.Nearest(n.Text, names)
		}
	}
}

// checkLaunchVolumes refuses the configuration of a volume that the task definition does not leave to
// the service.
func (c *checker) checkLaunchVolumes(task *definition.Task, items []*definition.Node) {
	for _, v := range items {
		n := v.Find("name")
		if isGiven(n) && !slices.ContainsFunc(task.Input.Volumes, func(x ecstypes.Volume) bool {
			return aws.ToString(x.Name) == n.Text && aws.ToBool(x.ConfiguredAtLaunch)
		}) {
			c.addProblem(n, "add the volume to the task definition with configuredAtLaunch: true",
				"the task definition %s has no volume %s that is configured at launch", task.File, n.Text)
		}
	}
}

// checkNetwork refuses a network or a launch type that the task definition does not support.
func (c *checker) checkNetwork(task *definition.Task, service *definition.Service) {
	body, mode := service.Text.Body, task.Input.NetworkMode
	if n := body.Find("networkConfiguration"); hasContent(n) && mode != ecstypes.NetworkModeAwsvpc {
		c.addProblem(n, "set networkMode: awsvpc in "+task.File+", or remove networkConfiguration",
			"networkConfiguration needs network mode awsvpc, and %s has %s", task.File, orBridge(mode))
	}
	if !runsOnFargate(service) || isForFargate(task) {
		return
	}
	at := body.Find("launchType")
	if !hasContent(at) {
		at = body.Find("capacityProviderStrategy")
	}
	const next = "set requiresCompatibilities: [FARGATE], networkMode: awsvpc, cpu and memory in "
	switch {
	case len(task.Input.RequiresCompatibilities) > 0:
		c.addProblem(at, "add FARGATE to requiresCompatibilities in "+task.File,
			"the service runs on Fargate, and %s does not have FARGATE in requiresCompatibilities", task.File)
	case mode != ecstypes.NetworkModeAwsvpc || task.Input.Cpu == nil || task.Input.Memory == nil:
		c.addProblem(at, next+task.File,
			"the service runs on Fargate, and %s does not have network mode awsvpc, cpu and memory", task.File)
	}
}

func orBridge(mode ecstypes.NetworkMode) string {
	if mode == "" {
		return "bridge"
	}
	return string(mode)
}
