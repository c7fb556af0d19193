package rehearse

import (
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// CheckGaps returns an error for each part of the definitions that the local AWS refuses. Otherwise it
// returns a note for each part that has no effect there. Each has the file and the key. service is nil
// for a standalone task.
func CheckGaps(service *definition.Service, task *definition.Task) (notes []string, err error) {
	var refused []error
	check := func(file string, gaps []ecs.Gap) {
		for _, g := range gaps {
			place := file + ": " + g.Field
			if g.Refused {
				refused = append(refused, &sluice.Error{Op: "run on the local AWS", Resource: place,
					Err: fmt.Errorf("it does not simulate %s", g.Text)})
			} else {
				notes = append(notes, fmt.Sprintf("%s: no effect on the local AWS: %s", place, g.Text))
			}
		}
	}
	if service != nil {
		check(service.File, ecs.Gaps(service.Input, nil))
	}
	check(task.File, ecs.Gaps(nil, task.Input))
	if len(refused) == 0 {
		return notes, nil
	}
	refused[len(refused)-1].(*sluice.Error).Next =
		"remove these parts from a copy of the files and use the copy here, or use an AWS account"
	return nil, errors.Join(refused...)
}
