package cloudwatchlogs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

var (
	groupForm  = regexp.MustCompile(`^[\.\-_/#A-Za-z0-9]+$`)
	streamForm = regexp.MustCompile(`^[^:*]+$`)
)

func invalidParameter(format string, args ...any) error {
	return world.Refuse("InvalidParameterException", format, args...)
}

func constraintViolation(value, member, must string) error {
	return invalidParameter("1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", value,
		member, must)
}

func notSimulated(what string) error { return invalidParameter("%s is not simulated", what) }

func noGroup() error {
	return world.Refuse("ResourceNotFoundException", "The specified log group does not exist.")
}

func noStream() error {
	return world.Refuse("ResourceNotFoundException", "The specified log stream does not exist.")
}

func checkName(name *string, member string, form *regexp.Regexp) error {
	switch {
	case name == nil:
		return constraintViolation("null", member, "Member must not be null")
	case *name == "":
		return constraintViolation("''", member, "Member must have length greater than or equal to 1")
	case len(*name) > 512:
		return constraintViolation("'"+*name+"'", member, "Member must have length less than or equal to 512")
	case !form.MatchString(*name):
		return constraintViolation("'"+*name+"'", member,
			"Member must satisfy regular expression pattern: "+form.String())
	}
	return nil
}

func checkLimit(n *int32, most int32) error {
	if n != nil && (*n < 1 || *n > most) {
		return constraintViolation(fmt.Sprintf("'%d'", *n), "limit",
			fmt.Sprintf("Member must have value between 1 and %d", most))
	}
	return nil
}

// groupNamed returns a group by its name.
func groupNamed(tx *world.Tx, name *string) (*world.LogGroup, error) {
	if err := checkName(name, "logGroupName", groupForm); err != nil {
		return nil, err
	}
	g, ok := tx.LogGroups.Get(*name)
	if !ok {
		return nil, noGroup()
	}
	return g, nil
}

// groupOf returns a group by name or by identifier (a name or an ARN without ":*"); a call gives
// one of the two.
func groupOf(tx *world.Tx, name, identifier *string) (*world.LogGroup, error) {
	switch {
	case name != nil && identifier != nil:
		return nil, invalidParameter("logGroupName and logGroupIdentifier must not both be given.")
	case identifier == nil:
		return groupNamed(tx, name)
	}
	id := strings.TrimPrefix(*identifier, tx.ARN("logs", "log-group:"))
	if strings.HasPrefix(id, "arn:") {
		return nil, noGroup()
	}
	return groupNamed(tx, &id)
}

func streamNamed(g *world.LogGroup, name *string) (*world.LogStream, error) {
	if err := checkName(name, "logStreamName", streamForm); err != nil {
		return nil, err
	}
	s, ok := g.Streams.Get(*name)
	if !ok {
		return nil, noStream()
	}
	return s, nil
}
