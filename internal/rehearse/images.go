package rehearse

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// buildImages defines what the images of both versions do.
func buildImages(c *Case, add func(all image.Catalog, fresh image.Behaviour) error) (image.Catalog, string, error) {
	old, err := versionBehaviour(c.World, "old", c.Old)
	if err != nil {
		return nil, "", err
	}
	fresh, err := versionBehaviour(c.World, "new", c.New)
	if err != nil {
		return nil, "", err
	}
	catalogue := image.Catalog{OldImage: old}
	if add != nil {
		return catalogue, OldImage, add(catalogue, fresh)
	}
	app, err := c.LoadApplication()
	if err != nil {
		return nil, "", err
	}
	for _, x := range app.Task.Input.ContainerDefinitions {
		if x.Image != nil {
			catalogue[*x.Image] = image.Behaviour{Version: "beside"}
		}
	}
	if i := mainImage(app); i != "" {
		catalogue[i] = fresh
	}
	setStepEnds(catalogue, app, c.FailingStep)
	return catalogue, OldImage, nil
}

// versionBehaviour returns a version's behaviour: its own options, otherwise the world's.
func versionBehaviour(w shape.World, version, options string) (image.Behaviour, error) {
	var all []string
	if options != "" {
		all = append(all, options)
	}
	usual := func(name string, d time.Duration) {
		if d > 0 && !strings.Contains("&"+options, "&"+name+"=") {
			all = append(all, name+"="+d.String())
		}
	}
	usual("latency", w.Lasts)
	if w.Lasts > 0 {
		usual("check-latency", time.Millisecond) // health checks are faster than requests
	}
	usual("healthy-after", w.Boot)
	usual("term", w.Stop)
	ref := "sim/web:" + version
	if len(all) > 0 {
		ref += "?" + strings.Join(all, "&")
	}
	return image.Parse(ref)
}

// mainImage returns the image of the container that takes requests, otherwise of the first essential one.
func mainImage(app *appfile.Application) string {
	name := shape.MainContainer(app)
	for _, c := range app.Task.Input.ContainerDefinitions {
		if c.Image != nil && c.Name != nil && *c.Name == name {
			return *c.Image
		}
	}
	return ""
}

// setStepEnds makes the tasks of a user's own steps end: those with their own definition, and the
// new version with the steps' commands. They succeed, except for the first step of the failing
// kind.
func setStepEnds(all image.Catalog, app *appfile.Application, fails string) {
	for side, steps := range map[string][]appfile.Step{StepBefore: app.Before, StepAfter: app.After} {
		for i, s := range steps {
			ends := image.Behaviour{Version: "step", CrashAfter: 20 * time.Second}
			if side == fails && i == 0 {
				ends.ExitCode = 3
			}
			setStepEnd(all, mainImage(app), s, ends)
		}
	}
}

func setStepEnd(all image.Catalog, served string, s appfile.Step, ends image.Behaviour) {
	if s.Task != nil {
		for _, c := range s.Task.Input.ContainerDefinitions {
			switch {
			case c.Image == nil:
			case *c.Image == served: // the new version, with another command
				setCommand(all, served, c.Command, ends)
			default:
				all[*c.Image] = ends
			}
		}
		return
	}
	if s.Run.Input.Overrides == nil {
		return
	}
	for _, o := range s.Run.Input.Overrides.ContainerOverrides {
		setCommand(all, served, o.Command, ends)
	}
}

func setCommand(all image.Catalog, name string, words []string, does image.Behaviour) {
	b, ok := all[name]
	if !ok || len(words) == 0 {
		return
	}
	commands := map[string]image.Behaviour{strings.Join(words, " "): does}
	for k, v := range b.Commands {
		commands[k] = v
	}
	b.Commands = commands
	all[name] = b
}
