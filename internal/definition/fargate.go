package definition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
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

// checkFargateSize refuses a size that Fargate does not have. It accepts a CPU size above all known
// ones, which may be newer than this sluice.
func (d *decoder) checkFargateSize(body *Node, in *awsecs.RegisterTaskDefinitionInput) {
	if !d.strict || !slices.Contains(in.RequiresCompatibilities, ecstypes.CompatibilityFargate) || len(d.problems) > 0 {
		return
	}
	for _, key := range []string{"cpu", "memory"} {
		if v := getFold(body, key); v == nil || v.Kind == Null {
			d.addProblem(d.src.At(body,
				"the task definition has no %s, which FARGATE in requiresCompatibilities requires", key))
			return
		}
	}
	cpuNode, memoryNode := getFold(body, "cpu"), getFold(body, "memory")
	cpu, ok := parseUnits(cpuNode, "vcpu")
	memory, also := parseUnits(memoryNode, "gb")
	if !ok || !also {
		return // AWS checks it: sluice does not know other ways to write a size
	}
	last := fargateSizes[len(fargateSizes)-1]
	i := slices.IndexFunc(fargateSizes[:], func(s fargateSize) bool { return s.cpu == cpu })
	switch {
	case i < 0 && cpu > last.cpu:
	case i < 0:
		d.addProblem(d.src.At(cpuNode,
			"Fargate does not support %d CPU units: cpu must be one of 256, 512, 1024, 2048, 4096, 8192, 16384", cpu))
	case !fargateSizes[i].allowsMemory(memory):
		d.addProblem(d.src.At(memoryNode, "Fargate does not support %d CPU units with %d MiB: memory must be %s",
			cpu, memory, fargateSizes[i]))
	}
}

// parseUnits reads "512", "0.5 vCPU" or "1GB": units of CPU, or MiB.
func parseUnits(n *Node, unit string) (int, bool) {
	text := strings.ToLower(strings.TrimSpace(n.Text))
	if n.Kind == Number {
		text = n.plainNumber()
	}
	factor := 1.0
	if number, ok := strings.CutSuffix(text, unit); ok {
		text, factor = strings.TrimSpace(number), 1024
	}
	f, err := strconv.ParseFloat(text, 64)
	return int(f * factor), err == nil && f*factor < 1<<30
}
