package view

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Name is a Cloud Map name by which callers resolve a service, as one read shows.
type Name struct {
	FullName string `json:"fullName"` // "api.shop.local"
	HasDNS   bool   `json:"hasDNS,omitempty"`
	Command  string `json:"command"` // shows what callers resolve
	// Missing says what does not exist, of a name that the service still has; empty: the name exists.
	Missing string `json:"missing,omitempty"`
	// Register is the command that replaces the tasks: ECS registers only tasks that it starts. Empty: the files are not
	// known.
	Register string `json:"-"`
	// Resolved counts the instances that callers resolve, and Serving those of them whose tasks run the version that
	// should serve. If Cloud Map knows no healthy instance, callers resolve all: then Unhealthy counts those tasks.
	Resolved  int `json:"resolved"`
	Serving   int `json:"serving"`
	Unhealthy int `json:"unhealthy,omitempty"`
	// Dead are instances that sluice registered and whose tasks have stopped. ECS does not deregister them.
	Dead []string `json:"dead,omitempty"`
}

// RegisterAgain is [Name.Register] of a service whose files are known.
const RegisterAgain = "sluice refresh"

// NameUnread begins a note: what follows is why a name was not read.
const NameUnread = "callers of the Cloud Map name were not checked"

// Problem returns why callers do not get the version that should serve; empty: they do, or there is no name.
func (n *Name) Problem() string {
	switch {
	case n == nil:
		return ""
	case n.Missing != "":
		return n.Missing
	case n.Resolved == 0:
		return "no instance is registered under " + n.FullName
	case n.Serving == 0 && n.Unhealthy > 0:
		return fmt.Sprintf("callers of %s get %s, and none is healthy", n.FullName, sluice.Plural(n.Resolved, "instance"))
	case n.Serving == 0:
		return fmt.Sprintf("callers of %s get %s, and none is of a task that runs it", n.FullName,
			sluice.Plural(n.Resolved, "instance"))
	case len(n.Dead) > 0:
		return fmt.Sprintf("callers of %s get %s, and %d of tasks that stopped", n.FullName,
			sluice.Plural(n.Resolved, "instance"), len(n.Dead))
	}
	return ""
}

// Next returns what to do about the problem of the name; empty: the name has none.
func (n *Name) Next() string {
	switch {
	case n.Problem() == "":
		return ""
	case n.Missing != "":
		return "name an existing Cloud Map service in serviceRegistries of the service definition, and deploy it: " + n.Command
	case n.Resolved == 0 && n.Register != "":
		return "register the tasks again: " + n.Register
	}
	return "see what callers resolve: " + n.Command
}
