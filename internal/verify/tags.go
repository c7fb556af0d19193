package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// ForceNext deploys the image that a tag names now.
const ForceNext = "deploy the image that the tag names now with --force-new-deployment"

// checkTags compares the images that tags name now with those that the serving tasks run. ECS resolves a tag when a
// deployment begins, and starts this image until the next deployment (ECS Developer Guide, "Container image
// resolution"). Only tags of ECR are compared.
func (c *checker) checkTags(ctx context.Context) {
	if c.app.Service == nil {
		return
	}
	c.noteOtherRegistries()
	tagged := c.taggedImages()
	if len(tagged) == 0 {
		return
	}
	tasks, err := c.aws.ServingTasks(ctx, c.app.ClusterRef(), aws.ToString(c.app.Service.Input.ServiceName))
	if isMissing(err) || err == nil && len(tasks) == 0 {
		return
	}
	for _, t := range tagged {
		subject := "tag of image " + t.name
		if c.judge(subject, err, "", "") {
			c.compareTag(ctx, subject, t, tasks)
		}
	}
}

// taggedImages returns the images that are not named by their digest and are in ECR.
func (c *checker) taggedImages() []containerImage {
	return slices.DeleteFunc(c.ecrImages(), func(x containerImage) bool { return x.image.Digest != "" })
}

// noteOtherRegistries names images whose tag usually moves and that are not in ECR.
func (c *checker) noteOtherRegistries() {
	if c.isDeployment && c.tasks == 0 {
		return
	}
	c.containers(func(d ecstypes.ContainerDefinition) {
		image, err := definition.ParseImage(aws.ToString(d.Image))
		if err == nil && image.Reference() == "latest" && !image.IsECR() {
			c.ok("tag of image "+*d.Image, "only tags of ECR are compared with the images that the tasks run")
			c.all[len(c.all)-1].IsUnread = true
		}
	})
}

// compareTag compares one image, if the tasks run it by the same name.
func (c *checker) compareTag(ctx context.Context, subject string, t containerImage, tasks []ecs.Task) {
	var digests []string // one for each task
	for _, task := range tasks {
		if running := task.Images[t.container]; running.Name == t.name && running.Digest != "" {
			digests = append(digests, running.Digest)
		}
	}
	if len(digests) == 0 {
		return
	}
	now := c.readECR(ctx, t.image)
	err := now.Err
	if isMissing(err) && t.image.Account == c.aws.Account {
		c.warn(subject, "the repository has no such image any more, and a new deployment cannot start it: "+
			sluice.Inner(err).Error(), "build and push the image, or correct its tag")
		return
	}
	if err != nil {
		c.unread(subject, err)
		return
	}
	other := slices.DeleteFunc(slices.Clone(digests), now.Has)
	if len(other) == 0 {
		c.ok(subject, "the serving tasks run it")
		return
	}
	c.warn(subject, fmt.Sprintf("%s moved: it names another image now (%s) than %d of %s run (%s)", t.image.Tag,
		shortDigest(now.Digest), len(other), sluice.Plural(len(tasks), "task"), shortDigest(other[0])), ForceNext)
	c.all[len(c.all)-1].HasMoved = true
}

// shortDigest returns the first characters of a digest, as registries show them.
func shortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }
