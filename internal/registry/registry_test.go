package registry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/registry"
)

// server answers like a registry that needs an anonymous token.
type server struct{ images map[string]string } // path -> body

func (s server) Do(r *http.Request) (*http.Response, error) {
	answer := func(status int, body string, header ...string) (*http.Response, error) {
		h := http.Header{}
		if len(header) == 2 {
			h.Set(header[0], header[1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	switch {
	case r.URL.Host == "down.example":
		return nil, errors.New("no route to host")
	case r.URL.Scheme != "https":
		return answer(500, "not https")
	case r.URL.Host == "auth.example":
		if r.URL.Query().Get("scope") == "repository:shop/private:pull" {
			return answer(200, `{"token":"weak"}`)
		}
		return answer(200, `{"token":"t0k3n"}`)
	case r.Header.Get("Authorization") == "":
		repository := strings.Split(r.URL.Path, "/")[2] + "/" + strings.Split(r.URL.Path, "/")[3]
		return answer(401, "", "Www-Authenticate",
			`Bearer realm="https://auth.example/token",service="r",scope="repository:`+repository+`:pull"`)
	case r.Header.Get("Authorization") != "Bearer t0k3n":
		return answer(401, "")
	}
	if body, ok := s.images[r.URL.Path]; ok {
		return answer(200, body)
	}
	return answer(404, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`)
}

func TestPlatforms(t *testing.T) {
	c := registry.Client{HTTP: server{map[string]string{
		"/v2/shop/web/manifests/v1": `{"manifests":[{"platform":{"os":"linux","architecture":"amd64"}},
			{"platform":{"os":"linux","architecture":"arm64"}},{"platform":{"os":"unknown","architecture":"unknown"}}]}`,
		"/v2/shop/web/manifests/one":  `{"config":{"digest":"sha256:c"}}`,
		"/v2/shop/web/blobs/sha256:c": `{"os":"linux","architecture":"arm64"}`,
	}}}
	for reference, want := range map[string][]string{"v1": {"linux/amd64", "linux/arm64"}, "one": {"linux/arm64"}} {
		got, err := c.Platforms(context.Background(), "reg.example", "shop/web", reference)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", reference, got, err)
		}
	}
	for _, c2 := range []struct {
		host, repository string
		kind             sluice.Kind
	}{{"reg.example", "shop/none", sluice.NotFound}, {"reg.example", "shop/private", sluice.Denied},
		{"down.example", "shop/web", sluice.Unreachable}} {
		_, err := c.Platforms(context.Background(), c2.host, c2.repository, "v1")
		if sluice.KindOf(err) != c2.kind {
			t.Errorf("%s/%s: %v", c2.host, c2.repository, err)
		}
	}
}
