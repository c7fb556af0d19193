package validate

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// limit is a documented limit of one value that AWS's model does not have: the range of a number or
// the number of entries of a list. The sources are the ECS API Reference, in the description of the
// member, and "Amazon ECS service quotas".
type limit struct {
	path     string // without indices, as checkModel names it
	min, max float64
}

const noMaximum = math.MaxInt32

var ranges = [...]limit{
	{"desiredCount", 0, noMaximum},
	{"healthCheckGracePeriodSeconds", 0, noMaximum},
	{"deploymentConfiguration.minimumHealthyPercent", 0, 100},
	{"deploymentConfiguration.maximumPercent", 100, noMaximum},
	{"deploymentConfiguration.bakeTimeInMinutes", 0, 1440},
	{"deploymentConfiguration.canaryConfiguration.canaryBakeTimeInMinutes", 0, 1440},
	{"deploymentConfiguration.canaryConfiguration.canaryPercent", 0.1, 100},
	{"deploymentConfiguration.linearConfiguration.stepBakeTimeInMinutes", 0, 1440},
	{"deploymentConfiguration.linearConfiguration.stepPercent", 3, 100},
	{"deploymentConfiguration.lifecycleHooks[].timeoutConfiguration.timeoutInMinutes", 1, 20160},
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
	{"containerDefinitions[].healthCheck.timeout", 2, 60},
	{"containerDefinitions[].healthCheck.retries", 1, 10},
	{"containerDefinitions[].healthCheck.startPeriod", 0, 300},
	{"containerDefinitions[].linuxParameters.swappiness", 0, 100},
	{"containerDefinitions[].linuxParameters.maxSwap", 0, noMaximum},
	{"containerDefinitions[].linuxParameters.sharedMemorySize", 0, noMaximum},
	{"containerDefinitions[].restartPolicy.restartAttemptPeriod", 60, 1800},
	{"ephemeralStorage.sizeInGiB", 20, 200},
	{"volumes[].efsVolumeConfiguration.transitEncryptionPort", 0, 65535},
}

var counts = [...]limit{
	{"containerDefinitions", 1, 10},
	{"containerDefinitions[].restartPolicy.ignoredExitCodes", 0, 50},
	{"containerDefinitions[].healthCheck.command", 1, noMaximum},
	{"capacityProviderStrategy", 0, 20},
	{"loadBalancers", 0, 5},
	{"networkConfiguration.awsvpcConfiguration.subnets", 1, 16},
	{"networkConfiguration.awsvpcConfiguration.securityGroups", 0, 5},
	{"placementConstraints", 0, 10},
	{"placementStrategy", 0, 5},
}

// textRule is the documented form of a text.
type textRule struct {
	path    string
	pattern *regexp.Regexp
	longest int    // in bytes. A count in the pattern would make every start of the program slower
	is      string // what AWS accepts, for people
	next    string
}

func (r textRule) accepts(text string) bool {
	return len(text) <= r.longest && r.pattern.MatchString(text) && !strings.ContainsFunc(text, printable.IsControl)
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	portPattern = regexp.MustCompile(`^[a-z0-9_][a-z0-9_-]*$`)
	// imagePattern is a host, a repository in lower case (Open Container Initiative, Distribution Specification), and a tag
	// or a digest.
	imagePattern  = regexp.MustCompile(`^(?:[^\s{}$"'\\%/]+/)?[^\s{}$"'\\%A-Z:@]+(?:[:@][^\s{}$"'\\]+)?$`)
	numberPattern = regexp.MustCompile(`^[0-9]+-[0-9]+$`)
)

const (
	nameForm = "has 1 to 255 of the characters A-Z a-z 0-9 _ -"
	nameNext = "write a name of letters, digits, _ and - only"
	portForm = "has 1 to 64 of the characters a-z 0-9 _ -, and does not begin with -"
	portNext = "write a name of lower-case letters, digits, _ and -"
)

// textRules are from the ECS API Reference, in the description of each member.
var textRules = [...]textRule{
	{"family", namePattern, 255, nameForm, nameNext},
	{"serviceName", namePattern, 255, nameForm, nameNext},
	{"containerDefinitions[].name", namePattern, 255, nameForm, nameNext},
	{"volumes[].name", namePattern, 255, nameForm, nameNext},
	{"volumeConfigurations[].name", namePattern, 255, nameForm, nameNext},
	{"containerDefinitions[].image", imagePattern, 512, "is the name of an image, with a repository in lower case",
		"write the image as repository:tag or repository@digest"},
	{"containerDefinitions[].portMappings[].name", portPattern, 64, portForm, portNext},
	{"containerDefinitions[].portMappings[].containerPortRange", numberPattern, 11,
		"is a range of ports, such as 8000-8010", "write the first and the last port with - between them"},
	{"serviceConnectConfiguration.services[].discoveryName", portPattern, 64, portForm, portNext},
}

// checkScalar compares a scalar with the documented limits.
func (c *checker) checkScalar(n *definition.Node, where string) {
	if n.Kind == definition.Number {
		for _, l := range ranges {
			if l.path == where {
				c.checkRange(n, where, l.min, l.max)
			}
		}
		return
	}
	if n.Kind != definition.Text {
		return
	}
	if c.refuseTemplate(n, where) {
		return
	}
	for _, r := range textRules {
		if r.path == where && !r.accepts(n.Text) {
			c.addProblem(n, r.next, "%s %s, and this is %s", where, r.is, quotedName(n.Text))
		}
	}
}

// checkRange refuses a number outside of a range.
func (c *checker) checkRange(n *definition.Node, where string, low, high float64) {
	f, ok := n.Float()
	if !ok || f >= low && f <= high {
		return
	}
	if high == noMaximum {
		c.addProblem(n, fmt.Sprintf("write %s or more", plain(low)), "%s is %s or more, and this is %s", where,
			plain(low), n.PlainNumber())
		return
	}
	c.addProblem(n, fmt.Sprintf("write a number from %s to %s", plain(low), plain(high)),
		"%s is a number from %s to %s, and this is %s", where, plain(low), plain(high), n.PlainNumber())
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// checkCount compares the number of entries of a list with the documented limits.
func (c *checker) checkCount(n *definition.Node, where string) {
	if n.Kind != definition.List {
		return
	}
	for _, l := range counts {
		switch count := float64(len(n.Items)); {
		case l.path != where || where == "containerDefinitions" && count == 0: // the decoder reports it
		case count < l.min:
			c.addProblem(n, "add an entry", "%s has no entry", where)
		case count > l.max:
			c.addProblem(n, fmt.Sprintf("remove entries until %s are left", plain(l.max)),
				"%s has at most %s entries, and this has %d", where, plain(l.max), len(n.Items))
		}
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
