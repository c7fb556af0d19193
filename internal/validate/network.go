package validate

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// notInAwsvpc are members of containers that network mode awsvpc does not support (ECS API
// Reference, "ContainerDefinition").
var notInAwsvpc = [...]string{"dnsSearchDomains", "dnsServers", "extraHosts", "hostname", "links"}

// checkNetworkMode refuses members that the network mode does not support.
func (c *checker) checkNetworkMode(task *definition.Task) {
	mode := task.Input.NetworkMode
	for _, k := range containersOf(task) {
		for _, member := range notInAwsvpc {
			n := k.node.Find(member)
			if mode != ecstypes.NetworkModeAwsvpc || !hasContent(n) || isForFargate(task) && member != "hostname" {
				continue // checkFargate reports the others
			}
			c.addProblem(n, "remove it, or use another network mode",
				"network mode awsvpc does not support %s of container %s", member, k.name())
		}
		if n := k.node.Find("links"); mode == ecstypes.NetworkModeHost && hasContent(n) {
			c.addProblem(n, "remove it, or use network mode bridge", "links of container %s need network mode bridge",
				k.name())
		}
		if n := k.node.Find("portMappings"); mode == ecstypes.NetworkModeNone && hasContent(n) {
			c.addProblem(n, "remove it, or use another network mode",
				"network mode none does not support portMappings of container %s", k.name())
		}
	}
}
