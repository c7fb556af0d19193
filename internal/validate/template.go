package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// identifiers are members whose values AWS reads as names, addresses or sizes. Braces are never part
// of them. Other texts, such as a command or the options of a log driver, may contain templates for
// the container or for Docker.
var identifiers = [...]string{"family", "serviceName", "cluster", "role", "image", "cpu", "memory", "valueFrom",
	"containerName", "sourceVolume", "sourceContainer", "fileSystemId", "accessPointId", "capacityProvider",
	"awslogs-group", "awslogs-region", "platformVersion", "portName", "discoveryName", "namespace", "subnets[]",
	"securityGroups[]"}

// placeholder matches one such as <IMAGE1_NAME>, which CodePipeline replaces, or %TAG%.
var placeholder = regexp.MustCompile(`<[^<>]+>|%[A-Za-z_][A-Za-z0-9_]*%`)

// refuseTemplate refuses a placeholder that no tool has replaced, where it cannot be meant literally.
func (c *checker) refuseTemplate(n *definition.Node, where string) bool {
	name := where[strings.LastIndexByte(where, '.')+1:]
	if !slices.Contains(identifiers[:], name) && !strings.HasSuffix(name, "Arn") {
		return false
	}
	if !strings.Contains(n.Text, "{{") && !strings.Contains(n.Text, "${") && !placeholder.MatchString(n.Text) {
		return false
	}
	c.addProblem(n, "write the value, or render the file first; with a sluice.yaml, ${NAME} is a variable",
		"%s is a template that was not rendered; sluice deploys files as they are", where)
	return true
}
