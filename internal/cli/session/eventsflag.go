package session

import (
	"strings"

	"github.com/sluice-ecs/sluice/internal/codedeploy"
)

// EventsFlag is a flag with a list of CodeDeploy rollback events. Set checks them.
type EventsFlag struct{ Events *[]string }

func (f EventsFlag) String() string {
	if f.Events == nil {
		return ""
	}
	return strings.Join(*f.Events, ",")
}

func (f EventsFlag) Type() string { return "events" }

func (f EventsFlag) Set(s string) error {
	var all []string
	for _, e := range strings.Split(s, ",") {
		all = append(all, strings.TrimSpace(e))
	}
	if err := codedeploy.CheckEvents(all); err != nil {
		return err
	}
	*f.Events = all
	return nil
}
