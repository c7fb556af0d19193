package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkImages requires images that exist for the platform of the tasks. Each is checked once.
func (c *checker) checkImages(ctx context.Context) {
	seen := map[string]bool{}
	c.containers(func(d ecstypes.ContainerDefinition) {
		name := aws.ToString(d.Image)
		if seen[name] {
			return
		}
		seen[name] = true
		c.at(name, "image")
		subject := "image " + name
		image, err := definition.ParseImage(name)
		switch {
		case err != nil:
			c.fail(subject, err.Error(), "correct the image of container "+aws.ToString(d.Name))
		case image.IsECR():
			c.checkECRImage(ctx, subject, image)
		case c.app.LocalAWS:
			c.ok(subject, "not looked for: the local AWS pulls no images")
		case d.RepositoryCredentials != nil:
			c.warn(subject, "its registry needs credentials, which sluice does not read", "")
		default:
			platforms, err := c.registry.Platforms(ctx, image)
			c.judgeImage(subject, image, platforms, err)
		}
	})
}

func (c *checker) checkECRImage(ctx context.Context, subject string, image definition.Image) {
	got := c.readECR(ctx, image)
	if isMissing(got.Err) {
		c.judgeMissing(ctx, subject, image, got.Err)
		return
	}
	c.judgeImage(subject, image, got.Platforms, got.Err)
}

// judgeImage compares the platforms of an image with that of the tasks.
func (c *checker) judgeImage(subject string, image definition.Image, platforms []string, err error) {
	missing := "it does not exist"
	if inner := errors.Unwrap(err); inner != nil {
		missing += ": " + inner.Error()
	}
	if !c.judge(subject, err, missing, "build and push the image, or correct its name") {
		return
	}
	want := Platform(c.task)
	switch {
	case len(platforms) == 0:
		c.ok(subject, "for one platform, which its manifest does not name")
	case !slices.Contains(platforms, want):
		c.fail(subject, fmt.Sprintf("it exists for %s, and the tasks run on %s", strings.Join(platforms, ", "), want),
			"build the image for "+want+", or set runtimePlatform in "+c.app.Task.File)
	default:
		c.ok(subject, "exists for "+want)
	}
}
