package rehearse

import (
	"errors"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// CheckGaps returns an error if the simulated AWS refuses a part of the application's definitions.
// Otherwise it returns advice about the parts that have no effect there.
func CheckGaps(app *appfile.Application) (advice []string, err error) {
	var refused, stored []string
	for _, g := range ecs.Gaps(app.Service.Input, app.Task.Input) {
		if g.Refused {
			refused = append(refused, g.String())
		} else {
			stored = append(stored, g.String())
		}
	}
	if len(refused) > 0 {
		return nil, &sluice.Error{Op: "rehearse", Resource: app.File,
			Err:  errors.New("the simulated AWS does not support " + strings.Join(refused, "; ")),
			Next: "remove it from a copy of the files and rehearse that, or test it in an AWS account"}
	}
	for _, text := range stored {
		advice = append(advice, "not simulated: "+text)
	}
	return advice, nil
}
