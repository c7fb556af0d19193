package signedread

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
)

// ImageManifest is an image of ECR.
type ImageManifest struct {
	Digest string
	// Platforms are such as "linux/amd64"; empty for an image of one platform, whose manifest does not name it.
	Platforms []string
	// Parts are the digests of the images for one platform; empty for an image of one platform.
	Parts []string
}

// Has reports whether a digest is that of the image, or of its part for one platform.
func (m ImageManifest) Has(digest string) bool {
	return m.Digest == digest || slices.Contains(m.Parts, digest)
}

// mediaTypes are the types of manifests that may be returned.
func mediaTypes() []string {
	return []string{"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
		"application/vnd.docker.distribution.manifest.list.v2+json",
		"application/vnd.docker.distribution.manifest.v2+json"}
}

// ImageID identifies an image of a repository: by its digest, or by its tag if that is empty.
type ImageID struct {
	Tag    string `json:"imageTag,omitempty"`
	Digest string `json:"imageDigest,omitempty"`
}

// ReadImage is the result of a read of one image. Its error has the kind NotFound if the repository has no such image.
type ReadImage struct {
	ImageManifest
	Err error
}

// imagesOutput is the output of BatchGetImage.
type imagesOutput struct {
	Images []struct {
		ImageID       ImageID `json:"imageId"`
		ImageManifest string  `json:"imageManifest"`
	} `json:"images"`
	Failures []struct {
		ImageID                    ImageID `json:"imageId"`
		FailureCode, FailureReason string
	} `json:"failures"`
}

// Images returns images of a repository of ECR, each by an ID that has a tag or a digest, in their order. The error is
// about the repository.
func (r Reader) Images(ctx context.Context, registry, repository string, ids []ImageID) ([]ReadImage, error) {
	var out imagesOutput
	err := r.callECR(ctx, "BatchGetImage", registry, repository,
		map[string]any{"imageIds": ids, "acceptedMediaTypes": mediaTypes()}, &out)
	if err != nil {
		return nil, err
	}
	all := make([]ReadImage, len(ids))
	for i, id := range ids {
		all[i] = out.find(repository, id)
	}
	return all, nil
}

// find returns the result of one ID.
func (o imagesOutput) find(repository string, id ImageID) (found ReadImage) {
	is := func(got ImageID) bool {
		return id.Digest != "" && got.Digest == id.Digest || id.Digest == "" && got.Tag == id.Tag
	}
	const operation = "ecr:BatchGetImage"
	name := repository + ":" + id.Tag + id.Digest
	for _, x := range o.Images {
		if is(x.ImageID) {
			found.Digest = x.ImageID.Digest
			found.Err = found.readIndex([]byte(x.ImageManifest))
			return found
		}
	}
	for _, f := range o.Failures {
		if is(f.ImageID) && f.FailureCode == "ImageNotFound" {
			return ReadImage{Err: notFound(operation, name, f.FailureReason)}
		}
		if is(f.ImageID) {
			return ReadImage{Err: &sluice.Error{Op: operation, Resource: name,
				Err: errors.New(f.FailureCode + ": " + f.FailureReason)}}
		}
	}
	return ReadImage{Err: &sluice.Error{Op: operation, Resource: name, Err: errors.New("the response has no such image")}}
}

// callECR sends a read of a registry of ECR; of one repository, unless that is empty.
func (r Reader) callECR(ctx context.Context, operation, registry, repository string, in map[string]any, out any) error {
	in["registryId"] = registry
	if repository != "" {
		in["repositoryName"] = repository
	}
	return r.callJSON(ctx, "ecr", "AmazonEC2ContainerRegistry_V20150921", operation, repository, in, out)
}

// mostNames is how many names one response may have.
const mostNames = 1000

// Tags returns the tags of a repository of ECR, those of the newest images first. It makes one call: a repository with
// more images has no order, and isAll is false.
func (r Reader) Tags(ctx context.Context, registry, repository string) (tags []string, isAll bool, err error) {
	type image struct {
		ImageTags     []string
		ImagePushedAt float64 // seconds
	}
	var out struct {
		ImageDetails []image `json:"imageDetails"`
		NextToken    string  `json:"nextToken"`
	}
	err = r.callECR(ctx, "DescribeImages", registry, repository,
		map[string]any{"maxResults": mostNames, "filter": map[string]string{"tagStatus": "TAGGED"}}, &out)
	slices.SortStableFunc(out.ImageDetails, func(a, b image) int { return cmp.Compare(b.ImagePushedAt, a.ImagePushedAt) })
	for _, x := range out.ImageDetails {
		tags = append(tags, x.ImageTags...)
	}
	return tags, out.NextToken == "", err
}

// Repositories returns the names of the repositories of a registry of ECR, as many as one call returns.
func (r Reader) Repositories(ctx context.Context, registry string) (names []string, err error) {
	var out struct {
		Repositories []struct {
			RepositoryName string
		} `json:"repositories"`
	}
	err = r.callECR(ctx, "DescribeRepositories", registry, "", map[string]any{"maxResults": mostNames}, &out)
	for _, x := range out.Repositories {
		names = append(names, x.RepositoryName)
	}
	return names, err
}

// PullThroughPrefixes returns the prefixes of the repositories into which ECR imports images of other registries when
// they are pulled (ECR API Reference, PullThroughCacheRule). A registry has at most 50.
func (r Reader) PullThroughPrefixes(ctx context.Context, registry string) (prefixes []string, err error) {
	var out struct {
		Rules []struct {
			EcrRepositoryPrefix string
		} `json:"pullThroughCacheRules"`
	}
	err = r.callECR(ctx, "DescribePullThroughCacheRules", registry, "", map[string]any{"maxResults": mostNames}, &out)
	for _, x := range out.Rules {
		prefixes = append(prefixes, x.EcrRepositoryPrefix)
	}
	return prefixes, err
}

// readIndex reads an image index. The manifest of an image for one platform has none of its members.
func (m *ImageManifest) readIndex(manifest []byte) error {
	var index struct {
		Manifests []struct {
			Digest   string `json:"digest"`
			Platform struct {
				OS           string `json:"os"`
				Architecture string `json:"architecture"`
			} `json:"platform"`
		} `json:"manifests"`
	}
	if err := json.Unmarshal(manifest, &index); err != nil {
		return fmt.Errorf("the manifest of the image cannot be read: %w", err)
	}
	for _, x := range index.Manifests {
		name := x.Platform.OS + "/" + x.Platform.Architecture
		if x.Platform.OS == "" || x.Platform.OS == "unknown" { // attestations
			continue
		}
		m.Parts = append(m.Parts, x.Digest)
		if !slices.Contains(m.Platforms, name) {
			m.Platforms = append(m.Platforms, name)
		}
	}
	return nil
}
