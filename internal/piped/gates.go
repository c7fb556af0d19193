package piped

import (
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// refuseGates refuses gates that piped cannot have: commands, which would run on piped's machine, and those
// that ask a person, which piped has no way to do.
func refuseGates(app *appfile.Application) error {
	var all []error
	for _, g := range app.AllGates() {
		refuse := func(next, why string) {
			all = append(all, &sluice.Error{Op: "read the application", Resource: fmt.Sprintf("%s:%d", app.File, g.Line),
				Err: fmt.Errorf("gate %s %s", g.Name, why), Next: next})
		}
		if len(g.Read.Command) > 0 {
			refuse("use a stage of PipeCD's own for scripts, or an https check", "runs a command, and piped runs none")
		}
		if g.OnUndecided == appfile.Hold {
			refuse("set onUndecided to pass or fail", "asks a person if it has no verdict, and piped has no way to ask")
		}
	}
	return errors.Join(all...)
}
