package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
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
func Open(ctx context.Context, p appfile.Provider, env Environment) (metrics.Source, error) {
	o := opener{p, env, httpread.Reader{Name: p.Name, Client: env.Client}}
	address := p.Config["address"]
	switch p.Type {
	case appfile.ProviderCloudWatch:
		return metrics.NewCloudWatch(p.Name, env.Metrics), nil
	case appfile.ProviderDatadog:
		return o.openDatadog(ctx, address)
	case appfile.ProviderPrometheus:
		if err := o.authorize(ctx); err != nil {
			return nil, err
		}
		return prometheus.New(address, o.reader), nil
	case appfile.ProviderWeb:
		if err := o.authorize(ctx); err != nil {
			return nil, err
		}
		return web.New(address, http.Header{"Accept": {"application/json"}}, o.reader), nil
	}
	return nil, o.openError(fmt.Errorf("%q is no type of provider", p.Type), "correct the type")
}

// CheckQuery returns why a type of provider refuses a query whatever its data are; nil if sluice cannot
// know that. step is the time between two values.
func CheckQuery(kind, query string, step time.Duration) error {
	switch {
	case strings.TrimSpace(query) == "":
		return errors.New("the query is empty")
	case kind == appfile.ProviderCloudWatch:
		_, err := metrics.ParseQuery(query, step)
		return err
	case kind == appfile.ProviderWeb:
		return web.CheckQuery(query)
	}
	return nil
}

type opener struct {
	provider appfile.Provider
	env      Environment
	reader   httpread.Reader
}

func (o *opener) openDatadog(ctx context.Context, site string) (metrics.Source, error) {
	address, err := datadog.Address(site)
	if err != nil {
		return nil, o.openError(err, "correct the address")
	}
	var keys datadog.Keys
	if keys.API, err = o.resolve(ctx, "apiKey", o.provider.Config.Place("apiKey")); err != nil {
		return nil, err
	}
	if keys.Application, err = o.resolve(ctx, "applicationKey", o.provider.Config.Place("applicationKey")); err != nil {
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
	config := o.provider.Config
	var sign func(context.Context, *http.Request, string) error
	region, isSigned := config.SigningRegion()
	switch {
	case config["bearer"] != "":
		token, err := o.resolve(ctx, "bearer", config["bearer"])
		if err != nil {
			return err
		}
		header.Set("Authorization", "Bearer "+token)
	case config.Place("username") != "":
		basic := &http.Request{Header: header}
		name, err := o.resolve(ctx, "username", config.Place("username"))
		if err != nil {
			return err
		}
		password, err := o.resolve(ctx, "password", config.Place("password"))
		if err != nil {
			return err
		}
		basic.SetBasicAuth(name, password)
		o.reader.Secrets = append(o.reader.Secrets, header.Get("Authorization")[len("Basic "):])
	case isSigned:
		sign = o.signer(cmp.Or(region, o.env.Region))
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
	for _, h := range o.provider.Config.Headers() {
		value, err := o.resolve(ctx, "headers."+h.Key, h.Value)
		if err != nil {
			return nil, err
		}
		header.Set(h.Key, value)
	}
	return header, nil
}

// resolve returns the value of a text or of a reference. Values of references are never shown.
func (o *opener) resolve(ctx context.Context, key, ref string) (string, error) {
	if !values.IsReference(ref) {
		return ref, nil
	}
	value, err := o.env.Resolve(ctx, ref)
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

func (o *opener) adviceFor(ref string, err error) string {
	if next := sluice.NextStep(err); next != "" {
		return next
	}
	kind, name, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		return "set the environment variable " + name
	case "ssm":
		return "create the parameter " + name + " in Systems Manager, and allow ssm:GetParameter for it"
	}
	return "create the file " + name
}

// signer returns the function that signs requests for Amazon Managed Service for Prometheus.
func (o *opener) signer(region string) func(context.Context, *http.Request, string) error {
	signer := v4.NewSigner()
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

func (o *opener) openError(err error, next string) error {
	return &sluice.Error{Op: "open provider", Resource: o.provider.Name, Err: err, Next: next}
}
