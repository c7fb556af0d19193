package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// fargateSize is the memory that Fargate supports for an amount of CPU (ECS Developer Guide,
// "Troubleshoot Amazon ECS task definition invalid CPU or memory errors").
type fargateSize struct {
	cpu              int // units
	least, most, per int // MiB
	also             int // additional value in MiB; 0: none
}

var fargateSizes = [...]fargateSize{
	{256, 1024, 2048, 1024, 512},
	{512, 1024, 4096, 1024, 0},
	{1024, 2048, 8192, 1024, 0},
	{2048, 4096, 16384, 1024, 0},
	{4096, 8192, 30720, 1024, 0},
	{8192, 16384, 61440, 4096, 0},
	{16384, 32768, 122880, 8192, 0},
}

func (s fargateSize) allowsMemory(memory int) bool {
	return memory == s.also || memory >= s.least && memory <= s.most && memory%s.per == 0
}

func (s fargateSize) String() string {
	text := fmt.Sprintf("%d to %d MiB in steps of %d", s.least, s.most, s.per)
	if s.also > 0 {
		text = fmt.Sprintf("%d MiB, or %s", s.also, text)
	}
	return text
}

// isForFargate reports whether a task definition requires Fargate.
func isForFargate(task *definition.Task) bool {
	return slices.Contains(task.Input.RequiresCompatibilities, ecstypes.CompatibilityFargate)
}

// checkFargate refuses what Fargate does not support.
func (c *checker) checkFargate(task *definition.Task) {
	body := task.Text.Body
	c.checkFargateSize(body)
	if mode := body.Find("networkMode"); task.Input.NetworkMode != ecstypes.NetworkModeAwsvpc {
		at := body
		if isGiven(mode) {
			at = mode
		}
		c.addProblem(at, "set networkMode: awsvpc", "Fargate supports only network mode awsvpc")
	}
	if mode := body.Find("pidMode"); hasContent(mode) && task.Input.PidMode != ecstypes.PidModeTask {
		c.addProblem(mode, "set pidMode: task, or remove it", "Fargate supports only pidMode task")
	}
	for _, member := range [...]string{"ipcMode", "placementConstraints", "inferenceAccelerators"} {
		c.refuseOnFargate(body.Find(member), member)
	}
	for _, v := range itemsOf(body.Find("volumes")) {
		c.refuseOnFargate(v.Find("dockerVolumeConfiguration"), "dockerVolumeConfiguration of a volume")
		c.refuseOnFargate(v.Find("host").Find("sourcePath"), "host.sourcePath of a volume")
	}
	for _, k := range containersOf(task) {
		c.checkFargateContainer(k)
	}
}

// notOnFargate are members of containers that Fargate does not support (ECS Developer Guide, "Amazon
// ECS task definition differences for Fargate").
var notOnFargate = [...]string{"disableNetworking", "dnsSearchDomains", "dnsServers", "dockerSecurityOptions",
	"extraHosts", "links", "privileged"}

func (c *checker) checkFargateContainer(k container) {
	for _, member := range notOnFargate {
		c.refuseOnFargate(k.node.Find(member), member+" of container "+k.name())
	}
	linux := k.node.Find("linuxParameters")
	for _, member := range [...]string{"devices", "maxSwap", "sharedMemorySize", "swappiness"} {
		c.refuseOnFargate(linux.Find(member), "linuxParameters."+member+" of container "+k.name())
	}
	for _, member := range [...]string{"startTimeout", "stopTimeout"} {
		if n := k.node.Find(member); hasContent(n) {
			c.checkRange(n, member+" of container "+k.name()+" on Fargate", 2, 120)
		}
	}
	if l := k.LogConfiguration; l != nil && l.LogDriver != ecstypes.LogDriverAwslogs &&
		l.LogDriver != ecstypes.LogDriverSplunk && l.LogDriver != ecstypes.LogDriverAwsfirelens {
		c.addProblem(k.node.Find("logConfiguration").Find("logDriver"), "use awslogs, splunk or awsfirelens",
			"Fargate does not support the log driver %s", l.LogDriver)
	}
}

// refuseOnFargate refuses a member if it has a value.
func (c *checker) refuseOnFargate(n *definition.Node, what string) {
	if hasContent(n) {
		c.addProblem(n, "remove it, or remove FARGATE from requiresCompatibilities", "Fargate does not support %s", what)
	}
}

// UnknownFargateSize returns the CPU units of a task definition for Fargate that are more than those of every known size;
// 0: they are not.
func UnknownFargateSize(task *definition.Task) int {
	if task == nil || task.Input == nil || task.Input.Cpu == nil || !isForFargate(task) {
		return 0
	}
	cpu, ok := parseUnitsOf(*task.Input.Cpu, "vcpu")
	if !ok || cpu <= fargateSizes[len(fargateSizes)-1].cpu {
		return 0
	}
	return cpu
}

// checkFargateSize refuses a size that Fargate does not have. It accepts a CPU size above all known
// ones, which may be newer than this sluice: see [UnknownFargateSize].
func (c *checker) checkFargateSize(body *definition.Node) {
	for _, key := range [...]string{"cpu", "memory"} {
		if !isGiven(body.Find(key)) {
			c.addProblem(body, "set "+key+" of the task definition",
				"the task definition has no %s, which Fargate requires", key)
			return
		}
	}
	cpuNode, memoryNode := body.Find("cpu"), body.Find("memory")
	cpu, ok := parseUnits(cpuNode, "vcpu")
	memory, also := parseUnits(memoryNode, "gb")
	if !ok || !also {
		return // checkSizes reports it
	}
	last := fargateSizes[len(fargateSizes)-1]
	i := slices.IndexFunc(fargateSizes[:], func(s fargateSize) bool { return s.cpu == cpu })
	switch {
	case i < 0 && cpu > last.cpu:
	case i < 0:
		c.addProblem(cpuNode, "set cpu to 256, 512, 1024, 2048, 4096, 8192 or 16384",
			"Fargate does not support %d CPU units", cpu)
	case !fargateSizes[i].allowsMemory(memory):
		c.addProblem(memoryNode, fmt.Sprintf("set memory to %s, or choose another cpu", fargateSizes[i]),
			"Fargate does not support %d CPU units with %d MiB", cpu, memory)
	}
}

// checkSizes refuses a CPU or memory size of the task that is none.
func (c *checker) checkSizes(body *definition.Node) {
	if n := body.Find("cpu"); hasContent(n) {
		if cpu, ok := parseUnits(n, "vcpu"); !ok || cpu < 1 {
			c.addProblem(n, `write CPU units, such as "256", or vCPUs, such as ".25 vCPU"`, "cpu is no size: %s",
				quotedName(n.Text))
		}
	}
	if n := body.Find("memory"); hasContent(n) {
		if memory, ok := parseUnits(n, "gb"); !ok || memory < 1 {
			c.addProblem(n, `write MiB, such as "512", or GB, such as "1 GB"`, "memory is no size: %s",
				quotedName(n.Text))
		}
	}
}

// parseUnits reads "512", "0.5 vCPU" or "1GB": units of CPU, or MiB.
func parseUnits(n *definition.Node, unit string) (int, bool) {
	if n.Kind == definition.Number {
		return parseUnitsOf(n.PlainNumber(), unit)
	}
	return parseUnitsOf(n.Text, unit)
}

func parseUnitsOf(text, unit string) (int, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	factor := 1.0
	if number, ok := strings.CutSuffix(text, unit); ok {
		text, factor = strings.TrimSpace(number), 1024
	}
	f, err := strconv.ParseFloat(text, 64)
	return int(f * factor), err == nil && f*factor < 1<<30
}
