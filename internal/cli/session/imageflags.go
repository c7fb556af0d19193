package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// ImageFlags are the images that the command line gives instead of those of the files. Several goroutines may apply them.
type ImageFlags struct {
	choices []appfile.ImageChoice

	mu    sync.Mutex
	waits int // how many applications follow; 0 counts as 1
	used  map[int]bool
}

// RegisterImages adds the flags that give images instead of those of the files.
func RegisterImages(flags *pflag.FlagSet) *ImageFlags {
	f := &ImageFlags{used: map[int]bool{}}
	flags.Var(FlagOf("image", func(s string) error { return f.add(s, false) }), "image",
		"`IMAGE` instead of the file's: [[APPLICATION:]CONTAINER=]IMAGE, by tag or digest; repeatable")
	flags.Var(FlagOf("image", func(s string) error { return f.add(s, true) }), "image-tag",
		"`TAG` or digest of the file's image: [[APPLICATION:]CONTAINER=]TAG; repeatable")
	return f
}

// ForSeveral says for how many applications the flags are given: an image has to be for one of them.
func (f *ImageFlags) ForSeveral(n int) {
	if f != nil {
		f.waits = n
	}
}

// Choose is Apply, and then takes the other images from the service where the file says so.
func (f *ImageFlags) Choose(ctx context.Context, a *account.Account, app *appfile.Application) error {
	if err := f.Apply(app); err != nil {
		return err
	}
	return survey.UseImagesOfService(ctx, a, app)
}

// Apply sets the images of an application. The last application gets an error if an image was for none.
func (f *ImageFlags) Apply(app *appfile.Application) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.choices {
		chosen, err := app.ChooseImage(c)
		if err != nil {
			return err
		}
		f.used[i] = f.used[i] || chosen
	}
	if f.waits--; f.waits > 0 {
		return nil
	}
	for i, c := range f.choices {
		if !f.used[i] {
			return unusedImage(c, app)
		}
	}
	return nil
}

func unusedImage(c appfile.ImageChoice, app *appfile.Application) error {
	what, next := fmt.Sprintf("no application is named %q", c.Application), "correct the name in "+c.Flag
	if c.Application == "" {
		what = fmt.Sprintf("no task definition has a container %q", c.Container)
		next = "name one of " + strings.Join(app.ContainerNames(), ", ")
	}
	return &sluice.Error{Op: "set the image", Resource: app.File, Err: errors.New(what), Next: next}
}

// add adds the value of --image, or of --image-tag.
func (f *ImageFlags) add(s string, isTag bool) error {
	c := appfile.ImageChoice{Flag: "--image"}
	name, value, named := strings.Cut(s, "=")
	if !named {
		name, value = "", s
	}
	if i := strings.LastIndex(name, ":"); i >= 0 {
		c.Application, name = name[:i], name[i+1:]
	}
	c.Container = name
	switch {
	case named && c.Container == "" && c.Application == "":
		return errors.New("there is no container before the =")
	case value == "" && isTag:
		return errors.New("the tag is empty: is a variable of the command not set?")
	case value == "":
		return errors.New("the image is empty: is a variable of the command not set?")
	case isTag:
		c.Flag, c.Reference = "--image-tag", value
		value = "image:" + value
		if strings.Contains(c.Reference, ":") {
			value = "image@" + c.Reference
		}
	default:
		c.Image = value
	}
	if !definition.IsImageName(value) {
		return fmt.Errorf("%q is not the name of an image%s", s, definition.ImageFault(value))
	}
	for _, other := range f.choices {
		if other.Application == c.Application && other.Container == c.Container {
			return errors.New("the image of this container is given twice")
		}
	}
	f.choices = append(f.choices, c)
	return nil
}
