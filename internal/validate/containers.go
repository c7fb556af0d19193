package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// container is a container with its place in the file.
type container struct {
	ecstypes.ContainerDefinition
	node *definition.Node
}

func (k container) name() string { return aws.ToString(k.Name) }

func (k container) isEssential() bool { return k.Essential == nil || *k.Essential }

// containersOf returns the containers of a task definition that was read without problems.
func containersOf(task *definition.Task) (all []container) {
	nodes := itemsOf(task.Text.Body.Find("containerDefinitions"))
	for i, k := range task.Input.ContainerDefinitions {
		if i < len(nodes) {
			all = append(all, container{k, nodes[i]})
		}
	}
	return all
}

func namesOf(all []container) (names []string) {
	for _, k := range all {
		names = append(names, k.name())
	}
	return names
}

func findContainer(all []container, name string) *container {
	if i := slices.IndexFunc(all, func(k container) bool { return k.name() == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// checkContainers compares the containers of a task definition with each other (ECS API Reference,
// "ContainerDefinition").
func (c *checker) checkContainers(task *definition.Task) {
	all := containersOf(task)
	c.refuseSameNames(all)
	if len(all) > 0 && !slices.ContainsFunc(all, container.isEssential) {
		c.addProblem(all[0].node.Find("essential"), "set essential: true in one of them",
			"no container is essential; a task has at least one essential container")
	}
	for _, k := range all {
		c.checkMemory(k, task)
		c.checkPorts(k, task.Input.NetworkMode)
		c.checkDependencies(k, all)
		c.checkReferences(k, all, task)
		c.checkLogOptions(k)
		c.checkHealthCommand(k)
		c.checkSecretNames(k)
		c.checkUlimits(k)
	}
	c.refuseCycles(all)
	c.refuseSamePortNames(all)
	c.refuseSharedPorts(all, task.Input.NetworkMode)
	c.checkCPUSum(all, task)
}

func (c *checker) refuseSameNames(all []container) {
	for i, k := range all {
		if first := slices.Index(namesOf(all[:i]), k.name()); first >= 0 {
			c.addProblem(k.node.Find("name"), "rename one of the two containers",
				"container %s is given twice, first in line %d", k.name(), all[first].node.Line)
		}
	}
}

// checkMemory compares the memory of a container with its reservation and with the task's memory.
func (c *checker) checkMemory(k container, task *definition.Task) {
	memory, reserved := k.node.Find("memory"), k.node.Find("memoryReservation")
	total := task.Text.Body.Find("memory")
	switch {
	case k.Memory == nil && k.MemoryReservation == nil && !isGiven(total) && !isForFargate(task):
		c.addProblem(k.node, "set memory in MiB, in the container or in the task definition",
			"container %s has neither memory nor memoryReservation, and the task definition has no memory", k.name())
	case k.Memory != nil && k.MemoryReservation != nil && *k.Memory < *k.MemoryReservation:
		c.addProblem(reserved, fmt.Sprintf("lower memoryReservation to %d or less", *k.Memory),
			"memoryReservation %d of container %s is more than its memory %d", *k.MemoryReservation, k.name(), *k.Memory)
	case k.Memory != nil && isGiven(total):
		if all, ok := parseUnits(total, "gb"); ok && int(*k.Memory) > all {
			c.addProblem(memory, fmt.Sprintf("lower it to %d or less, or raise the memory of the task", all),
				"memory %d of container %s is more than the memory of the task (%d)", *k.Memory, k.name(), all)
		}
	}
}

// checkPorts refuses two mappings of one port, and a host port that the network mode does not allow.
func (c *checker) checkPorts(k container, mode ecstypes.NetworkMode) {
	nodes := itemsOf(k.node.Find("portMappings"))
	seen := map[string]bool{}
	for i, p := range k.PortMappings {
		if p.ContainerPort == nil {
			c.checkPortRange(nodes[i], p)
			continue
		}
		port := *p.ContainerPort
		key := portKey(p)
		if seen[key] {
			c.addProblem(nodes[i], "remove one of the two mappings", "container %s maps port %d twice", k.name(), port)
		}
		seen[key] = true
		if host := aws.ToInt32(p.HostPort); sharesPorts(mode) && host != 0 && host != port {
			c.addProblem(nodes[i].Find("hostPort"), fmt.Sprintf("set hostPort to %d, or remove it", port),
				"hostPort %d is not containerPort %d; with network mode %s they are the same", host, port, mode)
		}
	}
}

// sharesPorts reports whether the containers of a task share one address, and so its ports.
func sharesPorts(mode ecstypes.NetworkMode) bool {
	return mode == ecstypes.NetworkModeAwsvpc || mode == ecstypes.NetworkModeHost
}

// refuseSharedPorts refuses a port that two containers of one address use. AWS accepts it; one of the two then gets the
// requests of the other, or cannot start.
func (c *checker) refuseSharedPorts(all []container, mode ecstypes.NetworkMode) {
	if !sharesPorts(mode) {
		return
	}
	users := map[string]string{} // port and protocol -> container
	for _, k := range all {
		for i, p := range k.PortMappings {
			if p.ContainerPort == nil {
				continue
			}
			key := portKey(p)
			first, used := users[key]
			if used && first != k.name() { // checkPorts reports two of one container
				c.addProblem(itemsOf(k.node.Find("portMappings"))[i].Find("containerPort"),
					"give one of the two containers another port, or remove the mapping that its program does not use",
					"containers %s and %s both use port %d: with network mode %s, the containers of a task share their ports",
					first, k.name(), *p.ContainerPort, mode)
			}
			if !used {
				users[key] = k.name()
			}
		}
	}
}

// portKey names the port of a mapping with its protocol.
func portKey(p ecstypes.PortMapping) string {
	return fmt.Sprintf("%d/%s", *p.ContainerPort, cmp.Or(p.Protocol, ecstypes.TransportProtocolTcp))
}

// refuseSamePortNames refuses two port mappings of one name in a task definition.
func (c *checker) refuseSamePortNames(all []container) {
	seen := map[string]bool{}
	for _, k := range all {
		for i, p := range k.PortMappings {
			name := aws.ToString(p.Name)
			if name != "" && seen[name] {
				c.addProblem(itemsOf(k.node.Find("portMappings"))[i].Find("name"), "rename one of the two port mappings",
					"port mapping %s is given twice", name)
			}
			seen[name] = true
		}
	}
}

// checkCPUSum compares the CPU of all containers with that of the task.
func (c *checker) checkCPUSum(all []container, task *definition.Task) {
	total := task.Text.Body.Find("cpu")
	if !hasContent(total) {
		return
	}
	sum := 0
	for _, k := range all {
		sum += int(k.Cpu)
	}
	if cpu, ok := parseUnits(total, "vcpu"); ok && sum > cpu {
		c.addProblem(total, "lower cpu of the containers, or raise that of the task",
			"the containers have %d CPU units, and the task has %d", sum, cpu)
	}
}

func (c *checker) checkUlimits(k container) {
	for i, u := range k.Ulimits {
		if u.SoftLimit > u.HardLimit {
			c.addProblem(itemsOf(k.node.Find("ulimits"))[i].Find("softLimit"), "lower softLimit, or raise hardLimit",
				"the soft limit %d of ulimit %s of container %s is above its hard limit %d", u.SoftLimit, u.Name, k.name(),
				u.HardLimit)
		}
	}
}

// checkPortRange refuses a mapping without a port, and a range that is none.
func (c *checker) checkPortRange(n *definition.Node, p ecstypes.PortMapping) {
	if p.ContainerPortRange == nil {
		c.addProblem(n, "add containerPort", "a port mapping has no containerPort")
		return
	}
	var first, last int
	_, err := fmt.Sscanf(*p.ContainerPortRange, "%d-%d", &first, &last)
	if err != nil || first < 1 || last > 65535 || first > last {
		c.addProblem(n.Find("containerPortRange"), "write two ports from 1 to 65535, the smaller one first",
			"containerPortRange %s is no range of ports", *p.ContainerPortRange)
	}
}

// checkLogOptions refuses the driver awslogs without its required options, or with a placeholder for one. AWS refuses it
// as "Log driver awslogs requires options".
func (c *checker) checkLogOptions(k container) {
	l := k.LogConfiguration
	if l == nil || l.LogDriver != ecstypes.LogDriverAwslogs {
		return
	}
	for _, option := range []string{"awslogs-group", "awslogs-region"} {
		if l.Options[option] == "" {
			c.addProblem(k.node.Find("logConfiguration"), "add "+option+" to its options",
				"the log driver awslogs of container %s has no option %s", k.name(), option)
		} else if n := k.node.Find("logConfiguration").Find("options").Get(option); n != nil {
			c.refuseTemplate(n, "containerDefinitions[].logConfiguration.options."+option)
		}
	}
}

// checkHealthCommand refuses a health check that does not say how its command runs.
func (c *checker) checkHealthCommand(k container) {
	if k.HealthCheck == nil || len(k.HealthCheck.Command) == 0 {
		return
	}
	if first := k.HealthCheck.Command[0]; first != "CMD" && first != "CMD-SHELL" && first != "NONE" {
		c.addProblem(k.node.Find("healthCheck").Find("command"), "add CMD or CMD-SHELL as the first entry",
			"healthCheck.command of container %s begins with neither CMD nor CMD-SHELL", k.name())
	}
}
