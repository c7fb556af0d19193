package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/signedread"
)

// containerImage is an image of ECR that a container has.
type containerImage struct {
	container, name string
	image           definition.Image
}

// ecrImages returns the images of the containers that are in ECR.
func (c *checker) ecrImages() (all []containerImage) {
	c.containers(func(d ecstypes.ContainerDefinition) {
		if image, err := definition.ParseImage(aws.ToString(d.Image)); err == nil && image.IsECR() {
			all = append(all, containerImage{aws.ToString(d.Name), *d.Image, image})
		}
	})
	return all
}

// checkNewImages requires images of ECR that exist, except those that the serving revision has too, and the role that
// pulls them.
func (c *checker) checkNewImages(ctx context.Context) {
	all := c.ecrImages()
	if len(all) > 0 && c.runsOnFargate() {
		c.requireExecutionRole(pullsWithRole(all[0].container))
	}
	var seen []string
	if c.serving != nil {
		for _, d := range c.serving.ContainerDefinitions {
			seen = append(seen, aws.ToString(d.Image))
		}
	}
	for _, x := range all {
		if slices.Contains(seen, x.name) {
			continue
		}
		seen = append(seen, x.name)
		subject := "image " + x.name
		switch err := c.readECR(ctx, x.image).Err; {
		case isMissing(err):
			c.judgeMissing(ctx, subject, x.image, err)
		case err != nil:
			c.unread(subject, err)
		}
	}
}

// readECR reads an image of ECR once, and with it all images that the containers have of its repository.
func (c *checker) readECR(ctx context.Context, image definition.Image) signedread.ReadImage {
	if got, isRead := c.images[image]; isRead {
		return got
	}
	together := []definition.Image{image}
	for _, x := range c.ecrImages() {
		if x.image.Host == image.Host && x.image.Repository == image.Repository && !slices.Contains(together, x.image) {
			together = append(together, x.image)
		}
	}
	ids := make([]signedread.ImageID, len(together))
	for i, x := range together {
		if ids[i].Digest = x.Digest; x.Digest == "" {
			ids[i].Tag = x.Tag
		}
	}
	from, err := c.aws.in(ctx, image.Region)
	var got []signedread.ReadImage
	if err == nil {
		got, err = from.Images(account.WithOptionalReads(ctx), image.Account, image.Repository, ids)
	}
	for i, x := range together {
		if err != nil {
			c.images[x] = signedread.ReadImage{Err: err}
			continue
		}
		c.images[x] = got[i]
	}
	return c.images[image]
}

// judgeMissing records an image that ECR does not have. It is no error if a pull may import it, if no task pulls it yet,
// if another account may hide it, or, for a deployment, if its repository does not exist.
func (c *checker) judgeMissing(ctx context.Context, subject string, image definition.Image, missing error) {
	if image.Account != c.aws.Account {
		c.warn(subject, "account "+image.Account+" does not show it: "+sluice.Inner(missing).Error(), "")
		return
	}
	from, err := c.aws.in(ctx, image.Region)
	if err != nil {
		c.unread(subject, err)
		return
	}
	ctx = account.WithOptionalReads(ctx)
	why, next, hasRepository := describeMissing(ctx, from, image, missing)
	prefixes, err := from.PullThroughPrefixes(ctx, image.Account)
	switch {
	case err != nil:
		c.warn(subject, why+"; whether a pull imports it cannot be read: "+sluice.Inner(err).Error(), next)
	case isImported(prefixes, image.Repository):
		c.warn(subject, why+"; a pull through cache rule imports it when the first task pulls it", "")
	case c.app.LocalAWS && c.isDeployment:
		c.warn(subject, why+"; the local AWS pulls no images, so the tasks start", next)
	case c.isDeployment && !hasRepository: // something may create it with the first push
		c.warn(subject, why, next)
	case c.app.Service != nil && c.app.Service.Given["desiredCount"] && aws.ToInt32(c.app.Service.Input.DesiredCount) == 0:
		c.warn(subject, why+"; the desired count is 0, so no task pulls it yet", next)
	default:
		c.fail(subject, why, next)
	}
}

// isImported reports whether a pull through cache rule with one of the prefixes is for a repository. The prefix ROOT is
// for all of them (ECR API Reference, CreatePullThroughCacheRule).
func isImported(prefixes []string, repository string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return p == "ROOT" || strings.HasPrefix(repository, strings.TrimSuffix(p, "/")+"/")
	})
}

// describeMissing says what ECR does not have and what it has, what to do, and whether it has the repository.
func describeMissing(ctx context.Context, from signedread.Reader, image definition.Image,
	missing error) (why, next string, hasRepository bool) {
	tags, isAll, err := from.Tags(ctx, image.Account, image.Repository)
	why, next = fmt.Sprintf("repository %s has no tag %s", image.Repository, image.Tag),
		"build and push the image, or correct its tag"
	if image.Digest != "" {
		why, next = fmt.Sprintf("repository %s has no image with this digest", image.Repository),
			"build and push the image, or correct its digest"
	}
	const most = 5
	switch {
	case isMissing(err):
		why, next = describeRepository(ctx, from, image)
		return why, next, false
	case err != nil:
		return "it does not exist: " + causeOf(missing), "build and push the image, or correct its name", true
	case isAll && len(tags) > 0:
		why += "; its newest tags are " + strings.Join(tags[:min(most, len(tags))], ", ")
	}
	if near := nearestName(image.Tag, tags); near != "" && image.Digest == "" {
		next = "correct the tag: " + near + " exists"
	}
	return why, next, true
}

// causeOf returns the cause of an error without its operation and resource.
func causeOf(err error) string {
	if inner := errors.Unwrap(sluice.Inner(err)); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// describeRepository is describeMissing for a repository that does not exist.
func describeRepository(ctx context.Context, from signedread.Reader, image definition.Image) (why, next string) {
	why = fmt.Sprintf("account %s has no repository %s in %s", image.Account, image.Repository, image.Region)
	names, err := from.Repositories(ctx, image.Account)
	if err == nil && len(names) > 0 {
		why += "; it has " + definition.ListNames(names)
	}
	if near := nearestName(image.Repository, names); near != "" {
		return why, "correct the repository: " + near + " exists"
	}
	return why, "create the repository and push the image, or correct its name"
}

// nearestName is [definition.Nearest] without names of other numbers: v1.2.4 is another version than v1.2.3, and no
// typo.
func nearestName(word string, known []string) string {
	digits := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return r
			}
			return -1
		}, text)
	}
	return definition.Nearest(word, slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		return digits(k) != digits(word)
	}))
}
