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
	// Resolved counts the instances that callers resolve, and Serving those of them whose tasks run the version that
	// should serve.
	Resolved int `json:"resolved"`
	Serving  int `json:"serving"`
	// Dead are instances that sluice registered and whose tasks have stopped. ECS does not deregister them.
	Dead []string `json:"dead,omitempty"`
}

// NameUnread begins a note: what follows is why a name was not read.
const NameUnread = "callers of the Cloud Map name were not checked"

// Problem returns why callers do not get the version that should serve; empty: they do, or there is no name.
func (n *Name) Problem() string {
	switch {
	case n == nil:
		return ""
	case n.Resolved == 0:
		return "no instance is registered under " + n.FullName
	case n.Serving == 0:
		return fmt.Sprintf("callers of %s get %s, and none is of a task that runs it", n.FullName,
			sluice.Plural(n.Resolved, "instance"))
	case len(n.Dead) > 0:
		return fmt.Sprintf("callers of %s get %s, and %d of tasks that stopped", n.FullName,
			sluice.Plural(n.Resolved, "instance"), len(n.Dead))
	}
	return ""
}

// Next returns the command that shows the instances of the name; empty: the name has no problem.
func (n *Name) Next() string {
	if n.Problem() == "" {
		return ""
	}
	return "see what callers resolve: " + n.Command
}
