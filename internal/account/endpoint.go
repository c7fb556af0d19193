package account

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// IsLoopback reports whether the endpoint URL names this machine: localhost, a name under it, or a
// loopback address. It does not resolve names.
func IsLoopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ECSEndpoint returns the endpoint of Amazon ECS that the configuration selects, without a call. It
// is empty for AWS, also if the URL is one of AWS's own, such as a VPC endpoint.
func (c Config) ECSEndpoint(ctx context.Context) (string, error) {
	shared, err := c.loadConfig(ctx)
	if err != nil {
		return "", err
	}
	endpoint := c.EndpointURL
	if endpoint == "" {
		endpoint = aws.ToString(awsecs.NewFromConfig(shared).Options().BaseEndpoint)
	}
	if isAWSHost(endpoint) {
		return "", nil
	}
	return strings.TrimSuffix(secret.URL(endpoint), "/"), nil
}

// isAWSHost reports whether the host of a URL belongs to AWS: a Region's, FIPS or VPC endpoint.
func isAWSHost(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := "." + strings.ToLower(u.Hostname())
	return slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws"},
		func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// SpeedAllowed refuses SLUICE_SPEED unless endpoint is a loopback one. A fast clock would end waits
// on the real AWS too early.
func SpeedAllowed(endpoint string) error {
	if IsLoopback(endpoint) {
		return nil
	}
	where := secret.URL(endpoint)
	if where == "" {
		where = "AWS"
	}
	return &sluice.Error{
		Op:       "scale time by SLUICE_SPEED",
		Resource: where,
		Err:      errors.New("the endpoint is not on this machine"),
		Next:     "unset SLUICE_SPEED, or point --endpoint-url at `sluice sim`",
	}
}

// checkEndpoint refuses URLs on which the SDK would fail only at the first call. It never prints a
// user name, a password or a query of the URL.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	wrong := func(shown string, why error) error {
		return &sluice.Error{Op: "use endpoint URL", Resource: shown, Err: why,
			Next: "use a URL like http://127.0.0.1:4566, also in AWS_ENDPOINT_URL"}
	}
	if _, _, err := net.SplitHostPort(endpoint); err == nil && !strings.ContainsAny(endpoint, "/@?") {
		return wrong(endpoint, errors.New("it begins with neither http:// nor https://"))
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return wrong("", errors.New("it is not a URL with http:// or https://")) // the parser's error may quote secrets
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong(secret.URL(endpoint), fmt.Errorf("scheme %q is neither http nor https", u.Scheme))
	case u.Hostname() == "":
		return wrong(secret.URL(endpoint), errors.New("it has no host"))
	case u.User != nil:
		return wrong(secret.URL(endpoint), errors.New("it contains a user name"))
	case u.RawQuery != "" || u.Fragment != "":
		return wrong(secret.URL(endpoint), errors.New("it contains a query, which AWS's APIs do not accept"))
	}
	return nil
}
