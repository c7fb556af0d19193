package world

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Repository is a repository of ECR.
type Repository struct {
	Name      string
	CreatedAt time.Time
	Images    []RepositoryImage // oldest first
}

// RepositoryImage is an image of a repository.
type RepositoryImage struct {
	Tag, Digest, Manifest string // no Tag: it was moved to a newer image
	PushedAt              time.Time
}

// Put adds an image. Its tag is taken from the image that had it.
func (r *Repository) Put(x RepositoryImage) {
	for i := range r.Images {
		if r.Images[i].Tag == x.Tag {
			r.Images[i].Tag = ""
		}
	}
	r.Images = append(r.Images, x)
}

// DigestOf returns the digest of a text, as registries write it.
func DigestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ImageDigest returns the digest to which an image reference resolves now: that of its tag in the
// account's own repository. Any other reference always has the same digest.
func (r *Region) ImageDigest(image string) string {
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return digest
	}
	registry := r.Key.Account + ".dkr.ecr." + r.Key.Region + "." + r.Key.DNSSuffix() + "/"
	name, own := strings.CutPrefix(image, registry)
	name, tag, tagged := strings.Cut(name, ":")
	if !tagged {
		tag = "latest"
	}
	if repository, ok := r.Repositories.Get(name); own && ok {
		if i := slices.IndexFunc(repository.Images, func(x RepositoryImage) bool { return x.Tag == tag }); i >= 0 {
			return repository.Images[i].Digest
		}
	}
	return DigestOf("image " + image)
}
