// Package ecr implements the part of the API of Amazon ECR that definitions need: repositories and images are
// read. A world file has them; tasks do not pull them.
//
// Its inputs and outputs are small structs of its own. Start reading at [NewAPI], then [Service.BatchGetImage].
package ecr

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// indexType is the media type of an image for several platforms.
const indexType = "application/vnd.oci.image.index.v1+json"

// Service implements the API of ECR.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "ecr", ServiceID: "ECR", Protocol: wire.JSON11, Target: "AmazonEC2ContainerRegistry_V20150921",
		LowerFirst: true, Service: New(w),
		Known: []string{"BatchCheckLayerAvailability", "CreateRepository", "DeleteRepository", "DescribeImageScanFindings",
			"GetAuthorizationToken", "GetDownloadUrlForLayer", "ListImages"},
	}
}

// AddRepository adds a repository.
func AddRepository(tx *world.Tx, name string) {
	tx.Repositories.Put(name, &world.Repository{Name: name, CreatedAt: tx.Now()})
}

// AddImage adds an image with a tag to a repository, for platforms such as linux/amd64. A tag that
// another image has moves to the new one.
func AddImage(tx *world.Tx, repositoryName, tag string, platforms []string) {
	r, _ := tx.Repositories.Get(repositoryName)
	name := repositoryName + ":" + tag
	if _, moves := imageOf(r, ImageIdentifier{ImageTag: tag}); moves {
		name += fmt.Sprintf("#%d", len(r.Images))
	}
	manifest := indexOf(name, platforms)
	r.Put(world.RepositoryImage{Tag: tag, Digest: world.DigestOf(manifest), Manifest: manifest, PushedAt: tx.Now()})
}

// indexOf returns an image index (OCI Image Format Specification, "Image Index").
func indexOf(name string, platforms []string) string {
	type platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	type entry struct {
		MediaType string   `json:"mediaType"`
		Digest    string   `json:"digest"`
		Size      int      `json:"size"`
		Platform  platform `json:"platform"`
	}
	var all []entry
	for _, p := range platforms {
		os, architecture, _ := strings.Cut(p, "/")
		all = append(all, entry{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: world.DigestOf(name + p),
			Size: 500, Platform: platform{Architecture: architecture, OS: os}})
	}
	text, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": all})
	return string(text)
}

// find returns a repository of the caller's registry.
func find(tx *world.Tx, registry, name string) (*world.Repository, error) {
	if registry != "" && registry != tx.Key.Account {
		return nil, world.Refuse("RepositoryNotFoundException",
			"The repository with name '%s' does not exist in the registry with id '%s'", name, registry)
	}
	r, ok := tx.Repositories.Get(name)
	if !ok {
		return nil, world.Refuse("RepositoryNotFoundException",
			"The repository with name '%s' does not exist in the registry with id '%s'", name, tx.Key.Account)
	}
	return r, nil
}

// ImageIdentifier is an image by digest or tag.
type ImageIdentifier struct{ ImageDigest, ImageTag string }

func imageOf(r *world.Repository, id ImageIdentifier) (world.RepositoryImage, bool) {
	i := slices.IndexFunc(r.Images, func(x world.RepositoryImage) bool {
		return (id.ImageDigest == "" || x.Digest == id.ImageDigest) && (id.ImageTag == "" || x.Tag == id.ImageTag)
	})
	if i < 0 || id == (ImageIdentifier{}) {
		return world.RepositoryImage{}, false
	}
	return r.Images[i], true
}

// tagsOf returns the tags of an image: one, or none after another image has taken it.
func tagsOf(x world.RepositoryImage) []string {
	if x.Tag == "" {
		return nil
	}
	return []string{x.Tag}
}

// DescribeRepositoriesInput is the input of DescribeRepositories.
type DescribeRepositoriesInput struct {
	RegistryId      string
	RepositoryNames []string
	MaxResults      int
	NextToken       *string
}

// DescribeRepositoriesOutput is the output of DescribeRepositories.
type DescribeRepositoriesOutput struct {
	Repositories []Repository
	NextToken    *string
}

// Repository is a repository as described.
type Repository struct {
	RepositoryArn, RegistryId, RepositoryName, RepositoryUri string
	CreatedAt                                                time.Time
}

// DescribeRepositories returns repositories by name, or all.
func (s *Service) DescribeRepositories(ctx context.Context,
	in *DescribeRepositoriesInput) (*DescribeRepositoriesOutput, error) {
	out := &DescribeRepositoriesOutput{Repositories: []Repository{}}
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		names := in.RepositoryNames
		if len(names) == 0 {
			names = tx.Repositories.Keys()
		}
		for _, name := range names {
			r, err := find(tx, in.RegistryId, name)
			if err != nil {
				return err
			}
			out.Repositories = append(out.Repositories, Repository{RepositoryName: name, RegistryId: tx.Key.Account,
				RepositoryArn: tx.ARN("ecr", "repository/"+name), CreatedAt: r.CreatedAt,
				RepositoryUri: tx.Key.Account + ".dkr.ecr." + tx.Key.Region + "." + tx.Key.DNSSuffix() + "/" + name})
		}
		var err error
		out.Repositories, out.NextToken, err = pageOf(out.Repositories, in.NextToken, in.MaxResults,
			func(r Repository) string { return r.RepositoryName })
		return err
	})
	return out, err
}

// pageOf returns the page of a list that begins at token.
func pageOf[T any](all []T, token *string, most int, id func(T) string) ([]T, *string, error) {
	page, next, err := wire.Page(all, token, most, 100, 1000, id)
	if err != nil {
		err = world.Refuse("InvalidParameterException", "Invalid parameter at 'nextToken'")
	}
	return page, next, err
}

// DescribePullThroughCacheRulesInput is the input of DescribePullThroughCacheRules.
type DescribePullThroughCacheRulesInput struct {
	RegistryId            string
	EcrRepositoryPrefixes []string
	MaxResults            int
}

// DescribePullThroughCacheRulesOutput is the output of DescribePullThroughCacheRules.
type DescribePullThroughCacheRulesOutput struct{ PullThroughCacheRules []PullThroughCacheRule }

// PullThroughCacheRule is a rule by which ECR imports images.
type PullThroughCacheRule struct{ EcrRepositoryPrefix, UpstreamRegistryUrl string }

// DescribePullThroughCacheRules returns no rules: a registry of the simulator imports no images.
func (s *Service) DescribePullThroughCacheRules(_ context.Context,
	in *DescribePullThroughCacheRulesInput) (*DescribePullThroughCacheRulesOutput, error) {
	if len(in.EcrRepositoryPrefixes) > 0 {
		return nil, world.Refuse("PullThroughCacheRuleNotFoundException",
			"The pull through cache rule with prefix '%s' does not exist", in.EcrRepositoryPrefixes[0])
	}
	return &DescribePullThroughCacheRulesOutput{PullThroughCacheRules: []PullThroughCacheRule{}}, nil
}

// DescribeImagesInput is the input of DescribeImages.
type DescribeImagesInput struct {
	RegistryId, RepositoryName string
	ImageIds                   []ImageIdentifier
	Filter                     ImageFilter
	MaxResults                 int
	NextToken                  *string
}

// ImageFilter chooses images by whether they have a tag: TAGGED, UNTAGGED or ANY, which is the default.
type ImageFilter struct{ TagStatus string }

// has reports whether the filter chooses an image.
func (f ImageFilter) has(x world.RepositoryImage) bool {
	return f.TagStatus == "" || f.TagStatus == "ANY" || (f.TagStatus == "TAGGED") == (x.Tag != "")
}

// DescribeImagesOutput is the output of DescribeImages.
type DescribeImagesOutput struct {
	ImageDetails []ImageDetail
	NextToken    *string
}

// ImageDetail is an image as described.
type ImageDetail struct {
	RegistryId, RepositoryName, ImageDigest, ImageManifestMediaType string
	ImageTags                                                       []string
	ImagePushedAt                                                   time.Time
}

// DescribeImages returns images of a repository.
func (s *Service) DescribeImages(ctx context.Context, in *DescribeImagesInput) (*DescribeImagesOutput, error) {
	out := &DescribeImagesOutput{ImageDetails: []ImageDetail{}}
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		r, err := find(tx, in.RegistryId, in.RepositoryName)
		if err != nil {
			return err
		}
		ids := in.ImageIds
		for i := 0; len(in.ImageIds) == 0 && i < len(r.Images); i++ {
			ids = append(ids, ImageIdentifier{ImageDigest: r.Images[i].Digest})
		}
		for _, id := range ids {
			x, ok := imageOf(r, id)
			if !ok {
				return world.Refuse("ImageNotFoundException", "The image with imageId {imageDigest:'%s', imageTag:'%s'} "+
					"does not exist within the repository with name '%s' in the registry with id '%s'",
					orNull(id.ImageDigest), orNull(id.ImageTag), r.Name, tx.Key.Account)
			}
			if in.Filter.has(x) {
				out.ImageDetails = append(out.ImageDetails, ImageDetail{RegistryId: tx.Key.Account, RepositoryName: r.Name,
					ImageDigest: x.Digest, ImageTags: tagsOf(x), ImagePushedAt: x.PushedAt,
					ImageManifestMediaType: indexType})
			}
		}
		out.ImageDetails, out.NextToken, err = pageOf(out.ImageDetails, in.NextToken, in.MaxResults,
			func(x ImageDetail) string { return x.ImageDigest })
		return err
	})
	return out, err
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}

// BatchGetImageInput is the input of BatchGetImage.
type BatchGetImageInput struct {
	RegistryId, RepositoryName string
	ImageIds                   []ImageIdentifier
	AcceptedMediaTypes         []string
}

// BatchGetImageOutput is the output of BatchGetImage.
type BatchGetImageOutput struct {
	Images   []Image
	Failures []ImageFailure
}

// Image is an image with its manifest.
type Image struct {
	RegistryId, RepositoryName            string
	ImageId                               ImageIdentifier
	ImageManifest, ImageManifestMediaType string
}

// ImageFailure is an image that could not be returned.
type ImageFailure struct {
	ImageId                    ImageIdentifier
	FailureCode, FailureReason string
}

// BatchGetImage returns the manifests of images. An image that does not exist is a failure of the output.
func (s *Service) BatchGetImage(ctx context.Context, in *BatchGetImageInput) (*BatchGetImageOutput, error) {
	out := &BatchGetImageOutput{Images: []Image{}, Failures: []ImageFailure{}}
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		r, err := find(tx, in.RegistryId, in.RepositoryName)
		if err != nil {
			return err
		}
		for _, id := range in.ImageIds {
			x, ok := imageOf(r, id)
			switch {
			case !ok:
				out.Failures = append(out.Failures, ImageFailure{ImageId: id, FailureCode: "ImageNotFound",
					FailureReason: "Requested image not found"})
			case len(in.AcceptedMediaTypes) > 0 && !slices.Contains(in.AcceptedMediaTypes, indexType):
				out.Failures = append(out.Failures, ImageFailure{ImageId: id, FailureCode: "UnsupportedImageType",
					FailureReason: "The image has a media type that the request does not accept"})
			default:
				out.Images = append(out.Images, Image{RegistryId: tx.Key.Account, RepositoryName: r.Name,
					ImageId:       ImageIdentifier{ImageDigest: x.Digest, ImageTag: x.Tag},
					ImageManifest: x.Manifest, ImageManifestMediaType: indexType})
			}
		}
		return nil
	})
	return out, err
}

// PutImageInput is the input of PutImage.
type PutImageInput struct {
	RegistryId, RepositoryName            string
	ImageManifest, ImageManifestMediaType string
	ImageTag, ImageDigest                 string
}

// PutImageOutput is the output of PutImage.
type PutImageOutput struct{ Image Image }

// PutImage gives a manifest a tag, which moves from the image that had it. Layers are not checked.
func (s *Service) PutImage(ctx context.Context, in *PutImageInput) (*PutImageOutput, error) {
	out := &PutImageOutput{}
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		r, err := find(tx, in.RegistryId, in.RepositoryName)
		if err != nil {
			return err
		}
		digest := world.DigestOf(in.ImageManifest)
		switch {
		case in.ImageManifest == "":
			return world.Refuse("InvalidParameterException", "imageManifest can not be blank.")
		case in.ImageDigest != "" && in.ImageDigest != digest:
			return world.Refuse("ImageDigestDoesNotMatchException", "The provided image digest does not match.")
		}
		if _, ok := imageOf(r, ImageIdentifier{ImageDigest: digest, ImageTag: in.ImageTag}); ok {
			return world.Refuse("ImageAlreadyExistsException", "Image with digest '%s' and tag '%s' already exists in the "+
				"repository with name '%s' in registry with id '%s'", digest, in.ImageTag, r.Name, tx.Key.Account)
		}
		r.Put(world.RepositoryImage{Tag: in.ImageTag, Digest: digest, Manifest: in.ImageManifest, PushedAt: tx.Now()})
		out.Image = Image{RegistryId: tx.Key.Account, RepositoryName: r.Name, ImageManifest: in.ImageManifest,
			ImageManifestMediaType: indexType, ImageId: ImageIdentifier{ImageDigest: digest, ImageTag: in.ImageTag}}
		return nil
	})
	return out, err
}
