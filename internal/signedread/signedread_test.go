package signedread_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/signedread"
)

// direct sends to the local AWS without a network. The account's own tests cover signatures and errors.
type direct struct{ http.Handler }

func (d direct) SendRead(_ context.Context, service, operation, resource string, r *http.Request) ([]byte, error) {
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=123456789012/20261101/us-east-1/"+service+
		"/aws4_request, Signature=0")
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if w.Code < 300 {
		return body, err
	}
	text := string(body)
	code, message := "UnknownError", text
	for _, c := range []string{"ValidationError", "NoSuchKey", "NoSuchBucket", "ResourceNotFoundException",
		"RepositoryNotFoundException"} {
		if strings.Contains(text+w.Header().Get("X-Amzn-Errortype"), c) {
			code, message = c, "it does not exist"
		}
	}
	kind := sluice.Kind("")
	if strings.Contains(code, "NotFound") { // as the account does
		kind = sluice.NotFound
	}
	return nil, &sluice.Error{Op: service + ":" + operation, Resource: resource, Kind: kind,
		Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

type standing struct{}

func (standing) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (standing) Sleep(context.Context, time.Duration) error { return nil }

const world = `
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0]
secrets: [{name: shop/db, value: sesame}]
parameters: [{name: /key, type: SecureString, value: hush}]
repositories: [{name: web, images: [{tag: v1, platforms: [linux/amd64, linux/arm64]}]}]
buckets: [{name: config, objects: {"a b/prod.env": "A=1"}}]
stacks: [{name: network, outputs: {VpcId: vpc-1}, exports: {%s}}]
functions: [{name: check}]
`

func newReader(t *testing.T) signedread.Reader {
	t.Helper()
	var exports []string
	for i := range 120 { // two pages
		exports = append(exports, fmt.Sprintf("e%03d: v%d", i, i))
	}
	sim, err := awssim.New(awssim.Options{Clock: standing{}, Seed: 1, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Load("world.yaml", []byte(fmt.Sprintf(world, strings.Join(exports, ", ")))); err != nil {
		t.Fatal(err)
	}
	return signedread.Reader{Sender: direct{sim.Handler()}}
}

// readImage reads one image of the repository web.
func readImage(ctx context.Context, r signedread.Reader, id signedread.ImageID) (signedread.ReadImage, error) {
	all, err := r.Images(ctx, "123456789012", "web", []signedread.ImageID{id})
	if err != nil {
		return signedread.ReadImage{}, err
	}
	return all[0], all[0].Err
}

// Images of one repository are read by one call, each with its own result.
func TestImagesOfARepository(t *testing.T) {
	ctx, r := context.Background(), newReader(t)
	all, err := r.Images(ctx, "123456789012", "web", []signedread.ImageID{{Tag: "v2"}, {Tag: "v1"}})
	if err != nil || len(all) != 2 {
		t.Fatalf("got %d results and %v, want one for each of two IDs", len(all), err)
	}
	if sluice.KindOf(all[0].Err) != sluice.NotFound || all[1].Err != nil || all[1].Digest == "" {
		t.Errorf("v2 has %v and v1 %v with digest %q, want only v2 missing", all[0].Err, all[1].Err, all[1].Digest)
	}
	if tags, isAll, err := r.Tags(ctx, "123456789012", "web"); err != nil || !isAll || !slices.Equal(tags, []string{"v1"}) {
		t.Errorf("the tags are %q, all: %v, %v; want v1 alone", tags, isAll, err)
	}
	if names, err := r.Repositories(ctx, "123456789012"); err != nil || !slices.Equal(names, []string{"web"}) {
		t.Errorf("the repositories are %q, %v; want web", names, err)
	}
	if prefixes, err := r.PullThroughPrefixes(ctx, "123456789012"); err != nil || len(prefixes) != 0 {
		t.Errorf("the rules are %q, %v; want none", prefixes, err)
	}
}

func TestValuesAreRead(t *testing.T) {
	ctx, r := context.Background(), newReader(t)
	for _, c := range []struct {
		name, want string
		read       func() (string, error)
	}{
		{"parameter", "hush", func() (string, error) {
			p, err := r.Parameter(ctx, "/key")
			if !p.IsSecret() {
				t.Errorf("%+v is not secret", p)
			}
			return p.Value, err
		}},
		{"secret", "sesame", func() (string, error) { return r.SecretValue(ctx, "shop/db", "AWSCURRENT", "") }},
		{"output", "vpc-1", func() (string, error) { return r.StackOutput(ctx, "network", "VpcId") }},
		{"export of the second page", "v119", func() (string, error) { return r.Export(ctx, "e119") }},
		{"object", "A=1", func() (string, error) {
			data, err := r.Object(ctx, "config", "a b/prod.env")
			return string(data), err
		}},
		{"function", "Active", func() (string, error) { return r.FunctionState(ctx, "check") }},
	} {
		if got, err := c.read(); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	arn, err := r.SecretARN(ctx, "shop/db")
	if err != nil || !strings.HasPrefix(arn, "arn:aws:secretsmanager:us-east-1:123456789012:secret:shop/db-") {
		t.Error(arn, err)
	}
	image, err := readImage(ctx, r, signedread.ImageID{Tag: "v1"})
	if err != nil || !slices.Equal(image.Platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Error(image, err)
	}
	if len(image.Parts) != 2 || !image.Has(image.Digest) || !image.Has(image.Parts[1]) || image.Has("sha256:other") {
		t.Error("an index has its own digest and those of its platforms:", image)
	}
	if again, err := readImage(ctx, r, signedread.ImageID{Digest: image.Digest}); err != nil || again.Digest != image.Digest {
		t.Error(again, err)
	}
	networks, err := r.Networks(ctx, []string{"subnet-0123456789abcdef0", "subnet-none"})
	if err != nil || len(networks) != 1 || networks["subnet-0123456789abcdef0"] == "" {
		t.Error(networks, err)
	}
	if groups, err := r.GroupNetworks(ctx, []string{"sg-none"}); err != nil || len(groups) != 0 {
		t.Error(groups, err)
	}
}

func TestWhatDoesNotExist(t *testing.T) {
	ctx, r := context.Background(), newReader(t)
	for name, read := range map[string]func() error{
		"stack":  func() error { _, err := r.StackOutput(ctx, "none", "VpcId"); return err },
		"output": func() error { _, err := r.StackOutput(ctx, "network", "None"); return err },
		"export": func() error { _, err := r.Export(ctx, "none"); return err },
		"object": func() error { _, err := r.Object(ctx, "config", "none"); return err },
		"bucket": func() error { _, err := r.Object(ctx, "none", "none"); return err },
		"image":  func() error { _, err := readImage(ctx, r, signedread.ImageID{Tag: "v2"}); return err },
		"secret": func() error { _, err := r.SecretARN(ctx, "none"); return err },
	} {
		if err := read(); sluice.KindOf(err) != sluice.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	names := []string{"/key"}
	for i := range 15 {
		names = append(names, fmt.Sprintf("/none/%d", i))
	}
	missing, err := r.MissingParameters(ctx, names)
	if err != nil || len(missing) != 15 {
		t.Error(missing, err)
	}
}
