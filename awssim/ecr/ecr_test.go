package ecr_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/ecr"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

var here = world.Key{Account: "123456789012", Region: "eu-west-1"}

type site struct {
	*testing.T
	*wire.Server
	world *world.World
}

func newSite(t *testing.T) site {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	return site{t, wire.New(w, ecr.NewAPI(w)), w}
}

// ask calls an operation that must succeed.
func ask[Out any](s site, operation string, in any) *Out {
	s.Helper()
	out, err := s.Call(world.WithKey(context.Background(), here), "ECR", operation, in)
	if err != nil {
		s.Fatalf("%s %+v: %v", operation, in, err)
	}
	return out.(*Out)
}

func (s site) refused(operation string, in any, code, text string) {
	s.Helper()
	_, err := s.Call(world.WithKey(context.Background(), here), "ECR", operation, in)
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		s.Errorf("%s %+v: %v, want %s with %q", operation, in, err, code, text)
	}
}

func seed(t *testing.T, s site) {
	t.Helper()
	err := s.world.Do(here, func(tx *world.Tx) error {
		ecr.AddRepository(tx, "web")
		ecr.AddImage(tx, "web", "v1", []string{"linux/amd64", "linux/arm64"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImagesAndRepositoriesThatDoNotExist(t *testing.T) {
	s := newSite(t)
	seed(t, s)
	all := ask[ecr.DescribeRepositoriesOutput](s, "DescribeRepositories", &ecr.DescribeRepositoriesInput{})
	if len(all.Repositories) != 1 || all.Repositories[0].RepositoryUri !=
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/web" {
		t.Errorf("%+v", all)
	}
	s.refused("DescribeRepositories", &ecr.DescribeRepositoriesInput{RepositoryNames: []string{"api"}},
		"RepositoryNotFoundException", "The repository with name 'api' does not exist in the registry with id '123456789012'")
	s.refused("DescribeImages", &ecr.DescribeImagesInput{RepositoryName: "web", RegistryId: "000000000000"},
		"RepositoryNotFoundException", "'000000000000'")
	s.refused("DescribeImages", &ecr.DescribeImagesInput{RepositoryName: "web",
		ImageIds: []ecr.ImageIdentifier{{ImageTag: "v2"}}}, "ImageNotFoundException", "{imageDigest:'null', imageTag:'v2'}")
	images := ask[ecr.DescribeImagesOutput](s, "DescribeImages", &ecr.DescribeImagesInput{RepositoryName: "web"})
	if len(images.ImageDetails) != 1 || images.ImageDetails[0].ImageTags[0] != "v1" {
		t.Errorf("%+v", images)
	}
}

func TestManifestsHaveThePlatforms(t *testing.T) {
	s := newSite(t)
	seed(t, s)
	got := ask[ecr.BatchGetImageOutput](s, "BatchGetImage", &ecr.BatchGetImageInput{RepositoryName: "web",
		ImageIds: []ecr.ImageIdentifier{{ImageTag: "v1"}, {ImageTag: "v2"}}})
	if len(got.Images) != 1 || len(got.Failures) != 1 || got.Failures[0].FailureCode != "ImageNotFound" {
		t.Fatalf("%+v", got)
	}
	for _, word := range []string{`"manifests"`, `"architecture":"amd64"`, `"architecture":"arm64"`} {
		if !strings.Contains(got.Images[0].ImageManifest, word) {
			t.Errorf("no %s in %s", word, got.Images[0].ImageManifest)
		}
	}
	byDigest := ask[ecr.BatchGetImageOutput](s, "BatchGetImage", &ecr.BatchGetImageInput{RepositoryName: "web",
		ImageIds: []ecr.ImageIdentifier{{ImageDigest: got.Images[0].ImageId.ImageDigest}}})
	if len(byDigest.Images) != 1 {
		t.Errorf("%+v", byDigest)
	}
}

func TestATagMovesToThePushedImage(t *testing.T) {
	s := newSite(t)
	seed(t, s)
	was := ask[ecr.DescribeImagesOutput](s, "DescribeImages", &ecr.DescribeImagesInput{RepositoryName: "web"}).ImageDetails[0]
	put := ask[ecr.PutImageOutput](s, "PutImage",
		&ecr.PutImageInput{RepositoryName: "web", ImageTag: "v1", ImageManifest: "{}"})
	all := ask[ecr.DescribeImagesOutput](s, "DescribeImages", &ecr.DescribeImagesInput{RepositoryName: "web"}).ImageDetails
	if len(all) != 2 || all[0].ImageDigest != was.ImageDigest || len(all[0].ImageTags) != 0 ||
		all[1].ImageDigest != put.Image.ImageId.ImageDigest || all[1].ImageTags[0] != "v1" {
		t.Errorf("%+v", all)
	}
	s.refused("PutImage", &ecr.PutImageInput{RepositoryName: "web", ImageTag: "v1", ImageManifest: "{}"},
		"ImageAlreadyExistsException", "and tag 'v1' already exists")
	s.refused("PutImage", &ecr.PutImageInput{RepositoryName: "web", ImageTag: "v1", ImageManifest: "[]",
		ImageDigest: "sha256:0"}, "ImageDigestDoesNotMatchException", "does not match")
	s.refused("PutImage", &ecr.PutImageInput{RepositoryName: "other", ImageManifest: "{}"},
		"RepositoryNotFoundException", "other")
}
