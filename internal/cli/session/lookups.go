package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/signedread"
)

// maxFetched is the maximum length in bytes of a Terraform state.
const maxFetched = 64 << 20

// openLookups opens the account for the lookups of files. Files without lookups never call it.
func openLookups(s *Session, region string) (render.Remote, error) {
	ctx := s.line.context()
	a, _, err := s.OpenAccount(ctx, region, "")
	if err != nil {
		return nil, err
	}
	return lookups{ctx: ctx, session: s, aws: signedread.Reader{Sender: a}}, nil
}

// lookups reads values for the files of an application.
type lookups struct {
	ctx     context.Context
	session *Session
	aws     signedread.Reader
}

func (l lookups) Parameter(name string) (value, kind string, err error) {
	p, err := l.aws.Parameter(l.ctx, name)
	return p.Value, p.Type, err
}

func (l lookups) SecretARN(name string) (string, error) { return l.aws.SecretARN(l.ctx, name) }

func (l lookups) StackOutput(stack, key string) (string, error) {
	return l.aws.StackOutput(l.ctx, stack, key)
}

func (l lookups) Export(name string) (string, error) { return l.aws.Export(l.ctx, name) }

// State returns the text of a Terraform state: s3://<bucket>/<key>, or an https URL.
func (l lookups) State(address string) ([]byte, error) {
	if at, ok := strings.CutPrefix(address, "s3://"); ok {
		bucket, key, _ := strings.Cut(at, "/")
		if bucket == "" || key == "" {
			return nil, errors.New("it is not of the form s3://bucket/key")
		}
		return l.aws.Object(l.ctx, bucket, key)
	}
	return l.fetch(address)
}

// fetch returns what a web server has at an https URL. User and password of the URL are sent to that server only.
func (l lookups) fetch(address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("it is not an https URL")
	}
	r, err := http.NewRequestWithContext(l.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	reply, err := l.session.Env.WebClient().Do(r)
	if err != nil {
		return nil, &sluice.Error{Op: "read the Terraform state", Resource: u.Host, Err: withoutURL(err),
			Next: "check the URL and the network"}
	}
	defer reply.Body.Close()
	kind := sluice.Kind("")
	switch {
	case reply.StatusCode == http.StatusNotFound:
		kind = sluice.NotFound
	case reply.StatusCode == http.StatusOK:
		return io.ReadAll(io.LimitReader(reply.Body, maxFetched+1))
	}
	return nil, &sluice.Error{Op: "read the Terraform state", Resource: u.Host, Kind: kind,
		Err: fmt.Errorf("HTTP %d", reply.StatusCode), Next: "check the URL, and who may read it"}
}

// withoutURL returns the cause of an HTTP error: its URL may contain a password.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// WebClient returns the client for servers that are not AWS.
func (e Env) WebClient() aws.HTTPClient {
	if e.HTTPClient != nil {
		return e.HTTPClient
	}
	return http.DefaultClient
}
