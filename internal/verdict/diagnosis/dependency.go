package diagnosis

import (
	"fmt"
	"regexp"
	"strings"
)

// dependencyPattern is the text of the ECS agent about a container that never starts, because
// another one did not do what its dependsOn requires.
var dependencyPattern = regexp.MustCompile(
	`dependency \[(\S+?)\(.*?\) \(\w+->\w+\)\s*(?:-\s+Exit: (\d+))?\] for target \[(\S+?)\(.*?\].*`)

// dependencyText returns why a container did not start, by the name of the one that it waited for.
// It returns "" if the reasons name no dependency.
func dependencyText(reasons string) string {
	m := dependencyPattern.FindStringSubmatch(reasons)
	switch {
	case m == nil:
		return ""
	case m[2] != "":
		return fmt.Sprintf("container %s ended with exit code %s, so container %s did not start", m[1], m[2], m[3])
	case strings.Contains(m[0], "timed out"):
		return fmt.Sprintf("container %s was not ready within its startTimeout, so container %s did not start", m[1], m[3])
	}
	return fmt.Sprintf("container %s did not start, so container %s did not start", m[1], m[3])
}

// IsWaiting reports whether a container's reason is that another container did not do what it waited
// for. Then the other container explains the end of the task.
func IsWaiting(reason string) bool { return dependencyPattern.MatchString(reason) }
