package definition

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/printable"
)

// limit is AWS's limit of one value (ECS API Reference, "RegisterTaskDefinition", "CreateService",
// "PortMapping", "HealthCheck"). AWS reports a violation only at the call, when a deployment has
// begun.
type limit struct {
	path     string // without indices, as the decoder names it
	min, max int64
}

const noMaximum = math.MaxInt32

var limits = [...]limit{
	{"desiredCount", 0, noMaximum},
	{"healthCheckGracePeriodSeconds", 0, noMaximum},
	{"deploymentConfiguration.minimumHealthyPercent", 0, noMaximum},
	{"deploymentConfiguration.maximumPercent", 0, noMaximum},
	{"loadBalancers[].containerPort", 1, 65535},
	{"serviceRegistries[].containerPort", 0, 65535},
	{"serviceRegistries[].port", 0, 65535},
	{"containerDefinitions[].portMappings[].containerPort", 1, 65535},
	{"containerDefinitions[].portMappings[].hostPort", 0, 65535},
	{"containerDefinitions[].cpu", 0, noMaximum},
	{"containerDefinitions[].memory", 4, noMaximum},
	{"containerDefinitions[].memoryReservation", 4, noMaximum},
	{"containerDefinitions[].startTimeout", 0, noMaximum},
	{"containerDefinitions[].stopTimeout", 0, noMaximum},
	{"containerDefinitions[].healthCheck.interval", 5, 300},
	{"containerDefinitions[].healthCheck.timeout", 2, 120},
	{"containerDefinitions[].healthCheck.retries", 1, 10},
	{"containerDefinitions[].healthCheck.startPeriod", 0, 300},
	{"ephemeralStorage.sizeInGiB", 20, 200},
}

// namePattern matches a name of an ECS family, service or container.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

// IsName reports whether ECS accepts the name for a service, a cluster, a family or a container.
func IsName(name string) bool { return namePattern.MatchString(name) }

// namePaths are the paths whose values must be names.
var namePaths = [...]string{"family", "serviceName", "containerDefinitions[].name"}

// checkNumber refuses a number that AWS refuses.
func (d *decoder) checkNumber(n *Node, value int64, where string) {
	for _, l := range limits {
		if !d.strict || l.path != where || value >= l.min && value <= l.max {
			continue
		}
		if l.max == noMaximum {
			d.addProblem(d.src.At(n, "%s is %d or more, and this is %d", where, l.min, value))
			continue
		}
		d.addProblem(d.src.At(n, "%s is a number from %d to %d, and this is %d", where, l.min, l.max, value))
	}
}

// checkText refuses a text that AWS refuses.
func (d *decoder) checkText(n *Node, where string) {
	if !d.strict {
		return
	}
	for _, path := range namePaths {
		if path == where && !IsName(n.Text) {
			d.addProblem(d.src.At(n, "%s has 1 to 255 of the characters A-Z a-z 0-9 _ -, and this is %s", where,
				quotedName(n.Text)))
		}
	}
	if where == "containerDefinitions[].image" && (n.Text == "" || strings.ContainsFunc(n.Text, printable.IsControl) ||
		strings.ContainsAny(n.Text, "\n\t")) {
		d.addProblem(d.src.At(n, "%s is the name of an image, and this is %s", where, quotedName(n.Text)))
	}
}

// quotedName returns an invalid name for people, short and in quotes.
func quotedName(name string) string {
	if name == "" {
		return "empty"
	}
	if n := utf8.RuneCountInString(name); n > 60 {
		return fmt.Sprintf("%q … of %d characters", string([]rune(name)[:60]), n)
	}
	return fmt.Sprintf("%q", name)
}
