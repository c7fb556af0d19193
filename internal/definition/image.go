package definition

import (
	"fmt"
	"regexp"
	"strings"
)

// Image is the parsed name of an image.
type Image struct {
	Host, Repository, Tag string
	Digest                string // with its algorithm; empty: the tag counts
	// Account and Region are those of a registry of ECR, otherwise empty.
	Account, Region string
}

// IsECR reports whether the image is in a private registry of ECR.
func (i Image) IsECR() bool { return i.Account != "" }

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

// ParseImage parses the name of an image, as Docker does.
func ParseImage(name string) (Image, error) {
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
