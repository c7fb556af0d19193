// Package registry reads from registries of images over HTTPS: whether an image exists, and for which platforms.
//
// It sends no credentials: it asks for an anonymous token where the registry requires one (Docker Registry HTTP API
// V2, "Token Authentication"). It pulls no images. Start reading at [Client.Platforms].
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// maxReply is the maximum length in bytes of a manifest.
const maxReply = 4 << 20

// manifestTypes are the manifests that a registry may return.
const manifestTypes = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, " +
	"application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"

// Client reads from registries.
type Client struct {
	HTTP interface {
		Do(r *http.Request) (*http.Response, error)
	}
}

// Platforms returns the platforms of an image, such as "linux/amd64". reference is a tag or a digest. The error of an
// image that does not exist is of kind [sluice.NotFound], and one that may not be read of kind [sluice.Denied].
func (c Client) Platforms(ctx context.Context, host, repository, reference string) ([]string, error) {
	at := &session{client: c, host: host, repository: repository}
	data, err := at.get(ctx, "manifests/"+url.PathEscape(reference), manifestTypes)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Manifests []struct{ Platform platform } `json:"manifests"`
		Config    struct {
			Digest string `json:"digest"`
		} `json:"config"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, at.problem("", fmt.Errorf("the manifest cannot be read: %w", err))
	}
	var all []string
	for _, m := range manifest.Manifests {
		if m.Platform.OS != "" && m.Platform.OS != "unknown" { // attestations
			all = append(all, m.Platform.String())
		}
	}
	if len(manifest.Manifests) > 0 || manifest.Config.Digest == "" {
		return all, nil
	}
	if data, err = at.get(ctx, "blobs/"+manifest.Config.Digest, "*/*"); err != nil {
		return nil, err
	}
	var one platform
	if err := json.Unmarshal(data, &one); err != nil || one.OS == "" {
		return nil, at.problem("", errors.New("the configuration of the image has no platform"))
	}
	return []string{one.String()}, nil
}

type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

func (p platform) String() string { return p.OS + "/" + p.Architecture }

// session is the reads of one image, which share a token.
type session struct {
	client           Client
	host, repository string
	token            string
}

func (s *session) problem(kind sluice.Kind, err error) error {
	return &sluice.Error{Op: "read the image", Resource: s.host + "/" + s.repository, Kind: kind, Err: err}
}

// get returns what is at a path of the repository. It gets a token if the registry asks for one.
func (s *session) get(ctx context.Context, path, accept string) ([]byte, error) {
	address := "https://" + s.host + "/v2/" + s.repository + "/" + path
	status, header, body, err := s.send(ctx, address, accept)
	if err == nil && status == http.StatusUnauthorized && s.token == "" {
		if err = s.takeToken(ctx, header.Get("Www-Authenticate")); err == nil {
			status, _, body, err = s.send(ctx, address, accept)
		}
	}
	switch {
	case err != nil:
		return nil, s.problem(sluice.Unreachable, err)
	case status == http.StatusNotFound:
		return nil, s.problem(sluice.NotFound, errors.New("the registry does not have it"))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, s.problem(sluice.Denied, errors.New("the registry does not show it without credentials"))
	case status != http.StatusOK:
		return nil, s.problem("", fmt.Errorf("the registry answers HTTP %d", status))
	}
	return body, nil
}

func (s *session) send(ctx context.Context, address, accept string) (int, http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Accept", accept)
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	reply, err := s.client.HTTP.Do(r)
	if err != nil {
		return 0, nil, nil, withoutURL(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	return reply.StatusCode, reply.Header, body, err
}

var parameter = regexp.MustCompile(`(\w+)="([^"]*)"`)

// takeToken gets an anonymous token from the server that a challenge names.
func (s *session) takeToken(ctx context.Context, challenge string) error {
	scheme, rest, _ := strings.Cut(challenge, " ")
	values := url.Values{}
	realm := ""
	for _, p := range parameter.FindAllStringSubmatch(rest, -1) {
		switch p[1] {
		case "realm":
			realm = p[2]
		case "service", "scope":
			values.Set(p[1], p[2])
		}
	}
	if !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(realm, "https://") {
		s.token = "none" // the registry has no anonymous tokens
		return nil
	}
	status, _, body, err := s.send(ctx, realm+"?"+values.Encode(), "application/json")
	if err != nil {
		return err
	}
	var got struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if status != http.StatusOK || json.Unmarshal(body, &got) != nil {
		s.token = "none"
		return nil
	}
	if s.token = got.Token; s.token == "" {
		s.token = got.AccessToken
	}
	return nil
}

func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
