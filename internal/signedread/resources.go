package signedread

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
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

// Image returns an image of ECR by its tag, or by its digest if that is not empty.
func (r Reader) Image(ctx context.Context, registry, repository, tag, digest string) (ImageManifest, error) {
	id := map[string]string{"imageTag": tag}
	if digest != "" {
		id = map[string]string{"imageDigest": digest}
	}
	name := repository + ":" + tag + digest
	var out struct {
		Images []struct {
			ImageID struct {
				ImageDigest string `json:"imageDigest"`
			} `json:"imageId"`
			ImageManifest string `json:"imageManifest"`
		} `json:"images"`
		Failures []struct{ FailureReason string } `json:"failures"`
	}
	err := r.callJSON(ctx, "ecr", "AmazonEC2ContainerRegistry_V20150921", "BatchGetImage", name, map[string]any{
		"registryId": registry, "repositoryName": repository, "imageIds": []any{id}, "acceptedMediaTypes": mediaTypes(),
	}, &out)
	switch {
	case err != nil:
		return ImageManifest{}, err
	case len(out.Images) == 0 && len(out.Failures) > 0:
		return ImageManifest{}, notFound("ecr:BatchGetImage", name, out.Failures[0].FailureReason)
	case len(out.Images) == 0:
		return ImageManifest{}, notFound("ecr:BatchGetImage", name, "the repository has no such image")
	}
	got := ImageManifest{Digest: out.Images[0].ImageID.ImageDigest}
	return got, got.readIndex([]byte(out.Images[0].ImageManifest))
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

// FunctionState returns the state of a function of Lambda, by its name or ARN: Active, Pending, Inactive or Failed.
func (r Reader) FunctionState(ctx context.Context, function string) (string, error) {
	data, err := r.callPath(ctx, "lambda", http.MethodGet, "GetFunctionConfiguration", function,
		"/2015-03-31/functions/"+url.PathEscape(function)+"/configuration")
	if err != nil {
		return "", err
	}
	var out struct{ State string }
	err = json.Unmarshal(data, &out)
	return out.State, err
}

const ec2Version = "2016-11-15"

// Networks returns the VPC of each of the subnets that exist, by the subnet's ID.
func (r Reader) Networks(ctx context.Context, subnets []string) (map[string]string, error) {
	var out struct {
		Items []struct {
			ID  string `xml:"subnetId"`
			VPC string `xml:"vpcId"`
		} `xml:"subnetSet>item"`
	}
	err := r.callQuery(ctx, "ec2", ec2Version, "DescribeSubnets", "", filterOf("subnet-id", subnets), &out)
	all := map[string]string{}
	for _, i := range out.Items {
		all[i.ID] = i.VPC
	}
	return all, err
}

// GroupNetworks returns the VPC of each of the security groups that exist, by the group's ID.
func (r Reader) GroupNetworks(ctx context.Context, groups []string) (map[string]string, error) {
	var out struct {
		Items []struct {
			ID  string `xml:"groupId"`
			VPC string `xml:"vpcId"`
		} `xml:"securityGroupInfo>item"`
	}
	err := r.callQuery(ctx, "ec2", ec2Version, "DescribeSecurityGroups", "", filterOf("group-id", groups), &out)
	all := map[string]string{}
	for _, i := range out.Items {
		all[i.ID] = i.VPC
	}
	return all, err
}

func filterOf(name string, values []string) url.Values {
	in := url.Values{"Filter.1.Name": {name}}
	for i, v := range values {
		in.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), v)
	}
	return in
}
