package definition

import "testing"

func TestImagesAreParsed(t *testing.T) {
	for name, want := range map[string]Image{
		"nginx":                {Host: dockerHub, Repository: "library/nginx", Tag: "latest"},
		"shop/web:v1":          {Host: dockerHub, Repository: "shop/web", Tag: "v1"},
		"docker.io/nginx:1":    {Host: dockerHub, Repository: "library/nginx", Tag: "1"},
		"localhost:5000/a":     {Host: "localhost:5000", Repository: "a", Tag: "latest"},
		"ghcr.io/a/b@sha256:c": {Host: "ghcr.io", Repository: "a/b", Tag: "latest", Digest: "sha256:c"},
		"public.ecr.aws/a/b:1": {Host: "public.ecr.aws", Repository: "a/b", Tag: "1"},
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/a/b:1": {Host: "123456789012.dkr.ecr.eu-west-1.amazonaws.com",
			Repository: "a/b", Tag: "1", Account: "123456789012", Region: "eu-west-1"},
	} {
		if got, err := ParseImage(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "a:", "a {{ b }}", "ghcr.io/"} {
		if got, err := ParseImage(name); err == nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
