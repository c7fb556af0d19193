package sluice

import (
	"fmt"
	"time"
)

// TaskChanged is emitted when a task that a stage runs has another status.
type TaskChanged struct {
	Task     string `json:"task"` // its id
	Revision string `json:"revision,omitempty"`
	Status   string `json:"status"` // AWS's: PROVISIONING … STOPPED
}

// TaskEnded is emitted when a task that a stage ran has stopped.
type TaskEnded struct {
	Task       string           `json:"task"` // its id
	Revision   string           `json:"revision,omitempty"`
	StopCode   string           `json:"stopCode,omitempty"` // EssentialContainerExited, TaskFailedToStart …
	Reason     string           `json:"reason,omitempty"`
	Containers []ContainerEnded `json:"containers"` // name, exitCode (null: it never ran) and reason of each
	// StoppedBy is the essential container that ended first, so that ECS stopped the watched one; empty: it was not stopped
	StoppedBy string `json:"stoppedBy,omitempty"`
}

// ContainerEnded is how a container of a task ended. ExitCode is nil if it never
// ran.
type ContainerEnded struct {
	Name     string `json:"name"`
	ExitCode *int   `json:"exitCode"`
	Reason   string `json:"reason,omitempty"` // OutOfMemoryError: …
}

// Container returns a container by name.
func (t TaskEnded) Container(name string) (ContainerEnded, bool) {
	for _, c := range t.Containers {
		if c.Name == name {
			return c, true
		}
	}
	return ContainerEnded{}, false
}

func (c ContainerEnded) String() string {
	text := "container " + c.Name + " never ran"
	if c.ExitCode != nil {
		text = fmt.Sprintf("container %s exited with %d", c.Name, *c.ExitCode)
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// Printed is emitted for a line that a container printed. sluice shows the line and does not store
// it: its Seq is 0, and no journal contains it.
type Printed struct {
	Task      string    `json:"task"` // its id
	Container string    `json:"container"`
	At        time.Time `json:"at"` // by the clock of its log
	Line      string    `json:"line"`
}

func (TaskChanged) eventKind() string { return "taskChanged" }
func (TaskEnded) eventKind() string   { return "taskEnded" }
func (Printed) eventKind() string     { return "printed" }
