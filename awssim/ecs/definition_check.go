package ecs

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

const (
	maxContainers         = 10
	maxDefinitionBytes    = 64 << 10
	maxFargateStopTimeout = 120
	fargateNoSuchSize     = "No Fargate configuration exists for given values: %d CPU, %d memory. See the Amazon " +
		"ECS documentation for the valid values."
	memoryNotSpecified = "Invalid setting for container '%s'. At least one of 'memory' or 'memoryReservation' " +
		"must be specified."
	fargateOnlyAwsvpc  = "Fargate only supports network mode 'awsvpc'."
	fargateNeedsAtTask = "Fargate requires that '%s' be defined at the task level."
)

// checkDefinition rejects a registration that AWS rejects.
func checkDefinition(in *awsecs.RegisterTaskDefinitionInput) error {
	switch {
	case val(in.Family) == "":
		return clientError("Family should not be null or empty.")
	case !isName(*in.Family):
		return clientError("Family contains invalid characters.")
	case len(in.ContainerDefinitions) == 0:
		return clientError("Container list cannot be empty.")
	case len(in.ContainerDefinitions) > maxContainers:
		return clientError("TaskDefinition can not have more than %d containers.", maxContainers)
	}
	if documentSize(in) > maxDefinitionBytes {
		return clientError("The task definition is larger than %d KiB.", maxDefinitionBytes>>10)
	}
	if err := firstError(checkContainers(in), checkDefinitionVolumes(in)); err != nil {
		return err
	}
	if hasItem(in.RequiresCompatibilities, "FARGATE") {
		return checkFargate(in)
	}
	return nil
}

// documentSize returns the length of a request as clients write it: without the fields that were
// not given.
func documentSize(in any) int {
	b, err := json.Marshal(in)
	if err != nil || len(b) <= maxDefinitionBytes {
		return len(b)
	}
	var tree any
	if json.Unmarshal(b, &tree) != nil {
		return len(b)
	}
	b, _ = json.Marshal(pruneEmpty(tree))
	return len(b)
}

func pruneEmpty(x any) any {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			if v == nil || v == "" {
				delete(x, k)
			} else {
				x[k] = pruneEmpty(v)
			}
		}
	case []any:
		for i, v := range x {
			x[i] = pruneEmpty(v)
		}
	}
	return x
}

func checkContainers(in *awsecs.RegisterTaskDefinitionInput) error {
	names, essential := map[string]bool{}, false
	for i := range in.ContainerDefinitions {
		c := &in.ContainerDefinitions[i]
		if err := checkContainer(in, c); err != nil {
			return err
		}
		if names[*c.Name] {
			return clientError("Container names must be unique: %s.", *c.Name)
		}
		names[*c.Name] = true
		essential = essential || c.Essential == nil || *c.Essential
	}
	if !essential {
		return clientError("A task definition must have at least one essential container.")
	}
	return checkTogether(in)
}

func checkContainer(in *awsecs.RegisterTaskDefinitionInput, c *ecstypes.ContainerDefinition) error {
	switch {
	case val(c.Name) == "":
		return clientError("Container.name should not be null or empty.")
	case !isName(*c.Name):
		return clientError("Container.name contains invalid characters.")
	case val(c.Image) == "":
		return clientError("Container.image should not be null or empty.")
	case val(in.Memory) == "" && c.Memory == nil && c.MemoryReservation == nil:
		return clientError(memoryNotSpecified, *c.Name)
	case c.Memory != nil && c.MemoryReservation != nil && *c.Memory < *c.MemoryReservation:
		return clientError("Invalid setting for container '%s'. 'memory' must be greater than or equal to "+
			"'memoryReservation'.", *c.Name)
	}
	if in.NetworkMode == "awsvpc" && len(c.Links) > 0 {
		return clientError("Links are not supported when networkMode=awsvpc")
	}
	return firstError(checkPorts(in, c), checkHealth(c))
}

func checkPorts(in *awsecs.RegisterTaskDefinitionInput, c *ecstypes.ContainerDefinition) error {
	for _, p := range c.PortMappings {
		port := val(p.ContainerPort)
		switch {
		case p.ContainerPortRange == nil && (port < 1 || port > 65535):
			return clientError("Invalid container port %d in container '%s'.", port, *c.Name)
		case val(p.HostPort) < 0 || val(p.HostPort) > 65535:
			return clientError("Invalid host port %d in container '%s'.", *p.HostPort, *c.Name)
		case in.NetworkMode == "none":
			return clientError("Port mappings are not supported when networkMode=none.")
		case (in.NetworkMode == "awsvpc" || in.NetworkMode == "host") && val(p.HostPort) != 0 && *p.HostPort != port:
			return clientError(
				"When networkMode=%s, the host ports and container ports in port mappings must match.", in.NetworkMode)
		}
	}
	return nil
}

func checkHealth(c *ecstypes.ContainerDefinition) error {
	h := c.HealthCheck
	if h == nil {
		return nil
	}
	within := func(p *int32, lo, hi int32) bool { return p == nil || *p >= lo && *p <= hi }
	switch {
	case len(h.Command) == 0:
		return clientError("Container '%s': healthCheck.command should not be null or empty.", *c.Name)
	case !within(h.Interval, 5, 300):
		return clientError("Container '%s': healthCheck.interval must be between 5 and 300 seconds.", *c.Name)
	case !within(h.Timeout, 2, 60):
		return clientError("Container '%s': healthCheck.timeout must be between 2 and 60 seconds.", *c.Name)
	case !within(h.Retries, 1, 10):
		return clientError("Container '%s': healthCheck.retries must be between 1 and 10.", *c.Name)
	case !within(h.StartPeriod, 0, 300):
		return clientError("Container '%s': healthCheck.startPeriod must be between 0 and 300 seconds.", *c.Name)
	}
	return nil
}

// ecrImage is the form of an image in a private repository of ECR.
var ecrImage = regexp.MustCompile(`^\d{12}\.dkr\.ecr[.-]`)

func checkFargate(in *awsecs.RegisterTaskDefinitionInput) error {
	switch {
	case in.NetworkMode != "awsvpc":
		return clientError(fargateOnlyAwsvpc)
	case val(in.Cpu) == "":
		return clientError(fargateNeedsAtTask, "cpu")
	case val(in.Memory) == "":
		return clientError(fargateNeedsAtTask, "memory")
	}
	cpu, okCPU := parseUnits(*in.Cpu, "vcpu")
	memory, okMemory := parseUnits(*in.Memory, "gb")
	if !okCPU {
		return clientError("Invalid 'cpu' setting for task.")
	}
	if !okMemory {
		return clientError("Invalid 'memory' setting for task.")
	}
	if !fargateSize(cpu, memory) {
		return clientError(fargateNoSuchSize, cpu, memory)
	}
	if err := checkFargateParameters(in); err != nil {
		return err
	}
	for _, c := range in.ContainerDefinitions {
		if ecrImage.MatchString(val(c.Image)) && val(in.ExecutionRoleArn) == "" {
			return clientError("Fargate requires task definition to have execution role ARN to support ECR images.")
		}
		if val(c.StopTimeout) > maxFargateStopTimeout {
			return clientError("Container '%s': stopTimeout must be at most %d seconds on Fargate.", *c.Name,
				maxFargateStopTimeout)
		}
	}
	return nil
}

// parseUnits reads "1024", "1 vCPU" (1024) or "2 GB" (2048).
func parseUnits(s, unit string) (int, bool) {
	n, large := strings.CutSuffix(strings.ToLower(strings.TrimSpace(s)), unit)
	f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
	if large {
		f *= 1024
	}
	return int(f), err == nil && f > 0 && f < math.MaxInt32 && f == math.Trunc(f)
}

// fargateSize reports whether Fargate supports that combination of CPU and memory (Developer Guide,
// "Task size").
func fargateSize(cpu, memory int) bool {
	between := func(lo, hi, step int) bool { return memory >= lo && memory <= hi && memory%step == 0 }
	switch cpu {
	case 256:
		return memory == 512 || memory == 1024 || memory == 2048
	case 512:
		return between(1024, 4096, 1024)
	case 1024:
		return between(2048, 8192, 1024)
	case 2048:
		return between(4096, 16384, 1024)
	case 4096:
		return between(8192, 30720, 1024)
	case 8192:
		return between(16384, 61440, 4096)
	case 16384:
		return between(32768, 122880, 8192)
	}
	return false
}
