package verify

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// Image is the parsed name of an image.
type Image struct {
	Host, Repository, Tag string
	Digest                string // with its algorithm; empty: the tag counts
	// Account and Region are those of a registry of ECR, otherwise empty.
	Account, Region string
}

func (i Image) isECR() bool { return i.Account != "" }

// Reference returns the digest, or the tag without one.
func (i Image) Reference() string {
	if i.Digest != "" {
		return i.Digest
	}
	return i.Tag
}

// dockerHub is the registry of images without a host, and of images of docker.io.
const dockerHub = "registry-1.docker.io"

var ecrHost = regexp.MustCompile(`^(\d{12})\.dkr[.-]ecr(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)$`)

// parseImage parses the name of an image, as Docker does.
func parseImage(name string) (Image, error) {
	var i Image
	rest, digest, _ := strings.Cut(name, "@")
	i.Digest = digest
	first, path, hasPath := strings.Cut(rest, "/")
	switch {
	case hasPath && (strings.ContainsAny(first, ".:") || first == "localhost"):
		i.Host = first
	case hasPath:
		i.Host, path = dockerHub, rest
	default:
		i.Host, path = dockerHub, "library/"+rest
	}
	if i.Host == "docker.io" || i.Host == "index.docker.io" {
		i.Host = dockerHub
	}
	var hasTag bool
	if i.Repository, i.Tag, hasTag = strings.Cut(path, ":"); !hasTag {
		i.Tag = "latest"
	}
	if i.Host == dockerHub && !strings.Contains(i.Repository, "/") {
		i.Repository = "library/" + i.Repository
	}
	if i.Repository == "" || strings.HasSuffix(i.Repository, "/") || i.Tag == "" || strings.ContainsAny(name, " {}") {
		return Image{}, fmt.Errorf("%q is not the name of an image", name)
	}
	if parts := ecrHost.FindStringSubmatch(i.Host); parts != nil {
		i.Account, i.Region = parts[1], parts[2]
	}
	return i, nil
}

// checkImages requires images that exist for the platform of the tasks. Each is checked once.
func (c *checker) checkImages(ctx context.Context) {
	seen := map[string]bool{}
	c.containers(func(d ecstypes.ContainerDefinition) {
		name := aws.ToString(d.Image)
		if seen[name] {
			return
		}
		seen[name] = true
		subject := "image " + name
		image, err := parseImage(name)
		switch {
		case err != nil:
			c.fail(subject, err.Error(), "correct the image of container "+aws.ToString(d.Name))
		case image.isECR():
			c.checkECRImage(ctx, subject, image)
		case c.options.LocalAWS:
			c.ok(subject, "not looked for: the local AWS pulls no images")
		case d.RepositoryCredentials != nil:
			c.warn(subject, "its registry needs credentials, which sluice does not read", "")
		default:
			platforms, err := c.registry.Platforms(ctx, image)
			c.judgeImage(subject, image, platforms, err)
		}
	})
}

func (c *checker) checkECRImage(ctx context.Context, subject string, image Image) {
	reader, err := c.aws.in(ctx, image.Region)
	if err != nil {
		c.judge(subject, err, "", "")
		return
	}
	got, err := reader.Image(ctx, image.Account, image.Repository, image.Tag, image.Digest)
	if sluice.KindOf(err) == sluice.NotFound && image.Account != c.aws.Account {
		c.warn(subject, "account "+image.Account+" does not show it: "+sluice.Inner(err).Error(), "")
		return
	}
	c.judgeImage(subject, image, got.Platforms, err)
}

// judgeImage compares the platforms of an image with that of the tasks.
func (c *checker) judgeImage(subject string, image Image, platforms []string, err error) {
	missing := "it does not exist"
	if inner := errors.Unwrap(err); inner != nil {
		missing += ": " + inner.Error()
	}
	if !c.judge(subject, err, missing, "build and push the image, or correct its name") {
		return
	}
	want := c.platform()
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

// platform returns the platform of the tasks. Without runtimePlatform it is that of Fargate's default; instances of
// EC2 decide it otherwise, and are x86 in most clusters.
func (c *checker) platform() string {
	os, architecture := "linux", "amd64"
	if p := c.task.RuntimePlatform; p != nil {
		if strings.HasPrefix(string(p.OperatingSystemFamily), "WINDOWS") {
			os = "windows"
		}
		if p.CpuArchitecture == ecstypes.CPUArchitectureArm64 {
			architecture = "arm64"
		}
	}
	return os + "/" + architecture
}
