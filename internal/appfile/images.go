package appfile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// ImageChoice is an image that the caller gives a container instead of the file's.
type ImageChoice struct {
	Application string // its name, its service or its folder; empty: each application
	Container   string // empty: the only container
	Image       string // whole; empty: Reference
	Reference   string // a tag, or a digest with its algorithm, of the image of the file
	Flag        string // as a note of the plan names it, such as --image
}

// isFor reports whether the choice may be for the application.
func (c ImageChoice) isFor(app *Application) bool {
	if c.Application == "" {
		return true
	}
	folder := path.Dir(app.File)
	names := []string{app.Name, folder, path.Base(folder)}
	if app.Service != nil {
		names = append(names, *app.Service.Input.ServiceName)
	}
	return slices.Contains(names, strings.TrimSuffix(c.Application, "/"))
}

// ChooseImage replaces the image of a container of the task definition. It reports whether the choice is for this
// application: its name fits, and it has the container.
func (a *Application) ChooseImage(c ImageChoice) (chosen bool, err error) {
	if a.Task == nil || !c.isFor(a) {
		return false, nil
	}
	all := a.Task.Input.ContainerDefinitions
	i := slices.IndexFunc(all, func(d ecstypes.ContainerDefinition) bool { return aws.ToString(d.Name) == c.Container })
	switch {
	case c.Container == "" && len(all) != 1:
		return false, &sluice.Error{Op: "set the image", Resource: a.File,
			Err:  fmt.Errorf("the task definition has %d containers: %s", len(all), strings.Join(a.ContainerNames(), ", ")),
			Next: fmt.Sprintf("name one of them: %s %s=…", c.Flag, a.ContainerNames()[0])}
	case c.Container == "":
		i = 0
	case i < 0 && c.Application != "":
		return false, &sluice.Error{Op: "set the image", Resource: a.File,
			Err:  fmt.Errorf("there is no container %q", c.Container),
			Next: "name one of " + strings.Join(a.ContainerNames(), ", ")}
	case i < 0:
		return false, nil
	}
	was := aws.ToString(all[i].Image)
	image := c.Image
	if image == "" {
		if image, err = withReference(was, c.Reference); err != nil {
			return false, &sluice.Error{Op: "set the image", Resource: a.File, Err: err,
				Next: "give the whole image with --image"}
		}
	}
	from := fmt.Sprintf("%s; the file has %s", c.Flag, was)
	if c.Image != "" && !strings.ContainsAny(c.Image, "/:@") && strings.Contains(was, "/") {
		from += "; for a tag of that one, give --image-tag " + c.Image
	}
	a.setImage(i, image, from)
	return true, nil
}

// setImage sets the image of a container, and notes where it comes from. The definition of the file stays as it is.
func (a *Application) setImage(container int, image, from string) {
	task, in := *a.Task, *a.Task.Input
	in.ContainerDefinitions = slices.Clone(in.ContainerDefinitions)
	in.ContainerDefinitions[container].Image = aws.String(image)
	task.Input, a.Task, a.Registered = &in, &task, ""
	a.Notes = append(a.Notes, fmt.Sprintf("image of container %s: %s (%s)",
		aws.ToString(in.ContainerDefinitions[container].Name), image, from))
}

// HasImagesOfService reports whether the file leaves the image of a container to the service (image: from-service).
func (a *Application) HasImagesOfService() bool { return len(a.ImagesOfService()) > 0 }

// ImagesOfService returns the names of the containers whose image the file leaves to the service.
func (a *Application) ImagesOfService() (containers []string) {
	if a.Format != Sluice || a.Task == nil {
		return nil
	}
	for _, d := range a.Task.Input.ContainerDefinitions {
		if aws.ToString(d.Image) == definition.FromService {
			containers = append(containers, aws.ToString(d.Name))
		}
	}
	return containers
}

// UseImagesOfService replaces from-service by the images of the task definition that serves. nil: there is none.
func (a *Application) UseImagesOfService(serving *definition.Task) error {
	for i, d := range a.Task.Input.ContainerDefinitions {
		if aws.ToString(d.Image) != definition.FromService {
			continue
		}
		image, err := imageOf(serving, aws.ToString(d.Name))
		if err != nil {
			return &sluice.Error{Op: "take the image from the service", Resource: a.File, Err: err,
				Next: fmt.Sprintf("give the image of this deployment: --image %s=…", aws.ToString(d.Name))}
		}
		a.setImage(i, image, "the service has it; the file has "+definition.FromService)
	}
	return nil
}

func imageOf(serving *definition.Task, container string) (string, error) {
	if serving == nil {
		return "", fmt.Errorf("no task definition serves yet, and container %s has no other image", container)
	}
	for _, d := range serving.Input.ContainerDefinitions {
		if aws.ToString(d.Name) == container {
			return aws.ToString(d.Image), nil
		}
	}
	return "", fmt.Errorf("the task definition that serves has no container %s", container)
}

// withReference returns the image with another tag or digest.
func withReference(image, reference string) (string, error) {
	if image == definition.FromService {
		return "", errors.New("the file has no image whose tag could be replaced: it is " + definition.FromService)
	}
	repository, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
		repository = repository[:i]
	}
	if strings.Contains(reference, ":") { // sha256:…
		return repository + "@" + reference, nil
	}
	return repository + ":" + reference, nil
}

// ContainerNames returns the names of the containers of the task definition, in its order.
func (a *Application) ContainerNames() (names []string) {
	if a.Task == nil {
		return nil
	}
	for _, d := range a.Task.Input.ContainerDefinitions {
		names = append(names, aws.ToString(d.Name))
	}
	return names
}
