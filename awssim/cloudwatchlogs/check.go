package cloudwatchlogs

import (
	"strings"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func invalidParameter(format string, args ...any) error {
	return world.Refuse("InvalidParameterException", format, args...)
}

func notSimulated(what string) error { return invalidParameter("%s is not simulated", what) }

func noGroup() error {
	return world.Refuse("ResourceNotFoundException", "The specified log group does not exist.")
}

func noStream() error {
	return world.Refuse("ResourceNotFoundException", "The specified log stream does not exist.")
}

// constraints returns the constraints of the service's model.
func constraints() map[string]wire.Constraint {
	groupForm := wire.Constraint{Length: []int{1, 512}, Pattern: `[\.\-_/#A-Za-z0-9]+`}
	group, stream := groupForm, wire.Constraint{Required: true, Length: []int{1, 512}, Pattern: `[^:*]*`}
	group.Required = true
	identifier := wire.Constraint{Length: []int{1, 2048}, Pattern: `[\w#+=/:,.@-]*`}
	events, page := wire.Constraint{Value: []int{1, maxEvents}}, wire.Constraint{Value: []int{1, 50}}
	all := map[string]wire.Constraint{
		"PutRetentionPolicyInput.RetentionInDays": {Required: true},
		"PutLogEventsInput.LogEvents":             {Required: true, Length: []int{1, maxEvents}},
		"InputLogEvent.Message":                   {Required: true, Length: []int{1}},
		"InputLogEvent.Timestamp":                 {Required: true, Value: []int{0}},
		"FilterLogEventsInput.LogStreamNames":     {Length: []int{1, 100}},
		"FilterLogEventsInput.Limit":              events,
		"GetLogEventsInput.Limit":                 events,
		"DescribeLogGroupsInput.Limit":            page,
		"DescribeLogStreamsInput.Limit":           page,
		"GetLogEventsInput.LogStreamName":         stream,
	}
	for _, in := range []string{"CreateLogGroup", "DeleteLogGroup", "PutRetentionPolicy", "DeleteRetentionPolicy",
		"PutLogEvents", "CreateLogStream", "DeleteLogStream"} {
		all[in+"Input.LogGroupName"] = group
	}
	for _, in := range []string{"PutLogEvents", "CreateLogStream", "DeleteLogStream"} {
		all[in+"Input.LogStreamName"] = stream
	}
	for _, in := range []string{"FilterLogEvents", "GetLogEvents", "DescribeLogStreams"} {
		all[in+"Input.LogGroupName"], all[in+"Input.LogGroupIdentifier"] = groupForm, identifier
	}
	return all
}

// groupNamed returns a group by its name.
func groupNamed(tx *world.Tx, name *string) (*world.LogGroup, error) {
	g, ok := tx.LogGroups.Get(val(name))
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
	case name == nil && identifier == nil:
		return nil, invalidParameter("logGroupName or logGroupIdentifier must be given.")
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
	s, ok := g.Streams.Get(val(name))
	if !ok {
		return nil, noStream()
	}
	return s, nil
}
