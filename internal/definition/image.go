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

// FromService is the image of a container, or the desired count, that a sluice.yaml does not own: the value of the service
// stays.
const FromService = "from-service"

var (
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+(?:[._/-]+[a-z0-9]+)*$`)
	tagForm        = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	digestForm     = regexp.MustCompile(`^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-fA-F]{32,}$`)
)

// IsImageName reports whether a text has the form of an image with its tag or digest (Open Container Initiative,
// Distribution Specification).
func IsImageName(name string) bool {
	i, err := ParseImage(name)
	return err == nil && repositoryForm.MatchString(i.Repository) && tagForm.MatchString(i.Tag) &&
		(digestForm.MatchString(i.Digest) || !strings.Contains(name, "@"))
}

// ImageFault returns what is wrong with a text that is not the name of an image, as ": its tag is empty"; empty: not known.
func ImageFault(name string) string {
	rest, digest, hasDigest := strings.Cut(name, "@")
	hex, isSHA256 := strings.CutPrefix(digest, "sha256:")
	switch {
	case strings.ContainsAny(name, " \t\n"):
		return ": it contains a space"
	case strings.HasSuffix(rest, ":"):
		return ": its tag is empty; is a variable of the command not set?"
	case strings.HasPrefix(rest, ":") || rest == "":
		return ": its repository is empty; is a variable of the command not set?"
	case hasDigest && isSHA256 && len(hex) != 64:
		return fmt.Sprintf(": a sha256 digest has 64 hexadecimal digits, and this one %d", len(hex))
	case hasDigest && !digestForm.MatchString(digest):
		return ": a digest is sha256: and 64 hexadecimal digits"
	case strings.ContainsAny(rest, "?&"):
		return ": options of an image of the local AWS are written after its tag, as in sim/web:v2-crash-after-5s"
	case strings.ToLower(rest) != rest && !tagForm.MatchString(rest):
		return ": a repository is in lower case"
	}
	return ""
}

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
		return Image{}, fmt.Errorf("%q is not the name of an image%s", name, ImageFault(name))
	}
	if parts := ecrHost.FindStringSubmatch(i.Host); parts != nil {
		i.Account, i.Region = parts[1], parts[2]
	}
	return i, nil
}
