package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/datadog"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
	"github.com/sluice-ecs/sluice/internal/metrics/prometheus"
	"github.com/sluice-ecs/sluice/internal/metrics/web"
)

// Environment is what providers need to be opened.
type Environment struct {
	Client *http.Client
	// Resolve returns the value of a reference: env:NAME, ssm:/path or file:/path.
	Resolve func(ctx context.Context, ref string) (string, error)
	// Metrics reads CloudWatch in the account of the deployment.
	Metrics *metrics.SharedReader
	// Credentials and Region of the account, and the time, sign requests with SigV4.
	Credentials aws.CredentialsProvider
	Region      string
	Now         func() time.Time
}

// Open resolves the provider's credentials and returns its source. It sends no request to the
// provider.
func (p Provider) Open(ctx context.Context, env Environment) (metrics.Source, error) {
	o := opener{p, env, httpread.Reader{Name: p.Name, Client: env.Client}}
	switch p.Type {
	case CloudWatch:
		return metrics.NewCloudWatch(p.Name, env.Metrics), nil
	case Datadog:
		return o.openDatadog(ctx)
	case Prometheus:
		if err := o.authorize(ctx); err != nil {
			return nil, err
		}
		return prometheus.New(p.Config.Address, o.reader), nil
	case Web:
		if err := o.authorize(ctx); err != nil {
			return nil, err
		}
		return web.New(p.Config.Address, http.Header{"Accept": {"application/json"}}, o.reader), nil
	}
	return nil, o.openError(typeError(string(p.Type)), "correct the type")
}

// CheckQuery returns why the provider refuses a query whatever its data are; nil if sluice cannot
// know that. step is the time between two values.
func (p Provider) CheckQuery(query string, step time.Duration) error {
	switch {
	case strings.TrimSpace(query) == "":
		return errors.New("the query is empty")
	case p.Type == CloudWatch:
		_, err := metrics.ParseQuery(query, step)
		return err
	case p.Type == Web:
		return web.CheckQuery(query)
	}
	return nil
}

type opener struct {
	provider Provider
	env      Environment
	reader   httpread.Reader
}

func (o *opener) openDatadog(ctx context.Context) (metrics.Source, error) {
	address, err := datadog.Address(o.provider.Config.Address)
	if err != nil {
		return nil, o.openError(err, "correct the address")
	}
	var keys datadog.Keys
	if keys.API, err = o.resolve(ctx, "apiKey", o.provider.Config.APIKey); err != nil {
		return nil, err
	}
	if keys.Application, err = o.resolve(ctx, "applicationKey", o.provider.Config.ApplicationKey); err != nil {
		return nil, err
	}
	return datadog.New(address, keys, o.reader), nil
}

// authorize prepares the credentials of a provider over HTTP.
func (o *opener) authorize(ctx context.Context) error {
	header, err := o.resolveHeaders(ctx)
	if err != nil {
		return err
	}
	c := o.provider.Config
	var sign func(context.Context, *http.Request, string) error
	switch {
	case c.Bearer != "":
		token, err := o.resolve(ctx, "bearer", c.Bearer)
		if err != nil {
			return err
		}
		header.Set("Authorization", "Bearer "+token)
	case c.Username != "":
		basic := &http.Request{Header: header}
		name, err := o.resolve(ctx, "username", c.Username)
		if err != nil {
			return err
		}
		password, err := o.resolve(ctx, "password", c.Password)
		if err != nil {
			return err
		}
		basic.SetBasicAuth(name, password)
		o.reader.Secrets = append(o.reader.Secrets, header.Get("Authorization")[len("Basic "):])
	case c.SigV4 != nil:
		sign = o.signer()
	}
	o.reader.Authorize = func(ctx context.Context, r *http.Request, body string) error {
		for name, values := range header {
			r.Header[name] = values
		}
		if host := r.Header.Get("Host"); host != "" {
			r.Host = host
		}
		if sign != nil {
			return sign(ctx, r, body)
		}
		return nil
	}
	return nil
}

func (o *opener) resolveHeaders(ctx context.Context) (http.Header, error) {
	header := http.Header{}
	for _, h := range o.provider.Config.Headers {
		value, err := o.resolve(ctx, "headers."+h.Name, h.Value)
		if err != nil {
			return nil, err
		}
		header.Set(h.Name, value)
	}
	return header, nil
}

// resolve returns the value of a text or of a reference. Values of references are never shown.
func (o *opener) resolve(ctx context.Context, key string, ref Ref) (string, error) {
	if !ref.IsReference() {
		return string(ref), nil
	}
	value, err := o.env.Resolve(ctx, string(ref))
	value = strings.TrimRight(value, "\r\n") // files end with a line end
	switch {
	case err != nil:
		return "", &sluice.Error{Op: "read credentials", Resource: o.provider.Name, Kind: sluice.KindOf(err),
			Err: fmt.Errorf("%s: %s: %w", key, ref, sluice.Inner(err)), Next: o.adviceFor(ref, err)}
	case value == "":
		return "", &sluice.Error{Op: "read credentials", Resource: o.provider.Name,
			Err: fmt.Errorf("%s: %s is empty", key, ref), Next: o.adviceFor(ref, nil)}
	case strings.ContainsAny(value, "\r\n"):
		return "", &sluice.Error{Op: "read credentials", Resource: o.provider.Name,
			Err: fmt.Errorf("%s: %s has several lines", key, ref), Next: "correct the value: it is one line"}
	}
	o.reader.Secrets = append(o.reader.Secrets, value)
	return value, nil
}

func (o *opener) adviceFor(ref Ref, err error) string {
	if next := sluice.NextStep(err); next != "" {
		return next
	}
	kind, name, _ := strings.Cut(string(ref), ":")
	switch kind {
	case "env":
		return "set the environment variable " + name
	case "ssm":
		return "create the parameter " + name + " in Systems Manager, and allow ssm:GetParameter for it"
	}
	return "create the file " + name
}

// signer returns the function that signs requests for Amazon Managed Service for Prometheus.
func (o *opener) signer() func(context.Context, *http.Request, string) error {
	signer, region := v4.NewSigner(), o.provider.signingRegion(o.env.Region)
	return func(ctx context.Context, r *http.Request, body string) error {
		keys, err := o.env.Credentials.Retrieve(ctx)
		if err == nil {
			sum := sha256.Sum256([]byte(body))
			err = signer.SignHTTP(ctx, keys, r, hex.EncodeToString(sum[:]), "aps", region, o.env.Now())
		}
		if err == nil {
			return nil
		}
		return &sluice.Error{Op: "sign query", Resource: o.provider.Name, Kind: sluice.KindOf(err),
			Err: sluice.Inner(err), Next: sluice.NextStep(err)}
	}
}

// signingRegion returns the Region of the configuration, of the address, or of the account.
func (p Provider) signingRegion(ofAccount string) string {
	if p.Config.SigV4.Region != "" {
		return p.Config.SigV4.Region
	}
	if u, err := url.Parse(p.Config.Address); err == nil {
		if parts := strings.Split(u.Hostname(), "."); len(parts) > 3 && strings.HasPrefix(parts[0], "aps-workspaces") {
			return parts[1]
		}
	}
	return ofAccount
}

func (o *opener) openError(err error, next string) error {
	return &sluice.Error{Op: "open provider", Resource: o.provider.Name, Err: err, Next: next}
}
