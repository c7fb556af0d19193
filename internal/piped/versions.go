package piped

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// versionsOf returns the distinct images of a task definition, in its order.
func versionsOf(task *definition.Task) []*contract.ArtifactVersion {
	var all []*contract.ArtifactVersion
	var seen []string
	for _, c := range task.Input.ContainerDefinitions {
		image := aws.ToString(c.Image)
		if image == "" || slices.Contains(seen, image) {
			continue
		}
		seen = append(seen, image)
		name, version := splitImage(image)
		all = append(all, &contract.ArtifactVersion{Kind: contract.ArtifactVersion_CONTAINER_IMAGE, Name: name,
			Version: version, Url: image})
	}
	return all
}

// splitImage returns the last part of an image's name, and its digest, otherwise its tag, otherwise
// "". A colon before the last slash belongs to a registry's port.
func splitImage(image string) (name, version string) {
	rest, digest, pinned := strings.Cut(image, "@")
	name, tag, _ := strings.Cut(rest[strings.LastIndexByte(rest, '/')+1:], ":")
	if pinned {
		return name, digest
	}
	return name, tag
}
