package replica

import (
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// World is a world file of the local AWS, and its source.
type World struct {
	shape.File

	// Task and Definition are the definitions that the world was built from.
	Task       *definition.Task    `json:"-"`
	Definition *definition.Service `json:"-"` // nil: a standalone task
	// Notes are sentences for the user: values that the source does not have.
	Notes []string `json:"-"`
}

// Sources returns the names of the definitions that the world was built from.
func (w *World) Sources() string {
	if w.Definition == nil {
		return w.Task.File
	}
	return w.Task.File + " and " + w.Definition.File
}
