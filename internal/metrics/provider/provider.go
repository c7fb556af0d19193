package provider

import (
	"slices"
	"strings"
)

// Type is the kind of a provider.
type Type string

// The types of providers.
const (
	Prometheus Type = "PROMETHEUS"
	Datadog    Type = "DATADOG"
	CloudWatch Type = "CLOUDWATCH"
	Web        Type = "WEB"
)

// Provider is a system that has metrics.
type Provider struct {
	Name   string `json:"name"`
	Type   Type   `json:"type"`
	Config Config `json:"config,omitzero"`
}

// Config is how a provider is reached. Only the members of its type are set.
type Config struct {
	Address string `json:"address,omitempty"` // a URL; Datadog: the site, or the URL of a proxy

	Username Ref `json:"username,omitempty"` // with Password: basic authentication
	Password Ref `json:"password,omitempty"`
	Bearer   Ref `json:"bearer,omitempty"`

	APIKey         Ref `json:"apiKey,omitempty"` // Datadog
	ApplicationKey Ref `json:"applicationKey,omitempty"`

	Headers []Header `json:"headers,omitempty"` // in the order of their names
	SigV4   *SigV4   `json:"sigv4,omitempty"`   // Amazon Managed Service for Prometheus
}

// Header is a header of each request. Its value is a text or a reference.
type Header struct {
	Name  string `json:"name"`
	Value Ref    `json:"value"`
}

// SigV4 signs requests with the credentials of the account.
type SigV4 struct {
	Region string `json:"region,omitempty"` // "": that of the address, or of the account
}

// Ref is a reference to a secret: env:NAME, ssm:/path or file:/path. The values of headers and
// usernames may also be texts.
type Ref string

// references are the prefixes of references, with what follows them.
var references = [...]struct{ prefix, example string }{
	{"env:", "env:NAME"}, {"ssm:", "ssm:/path"}, {"file:", "file:/path"},
}

// IsReference reports whether the value is a reference and no text.
func (r Ref) IsReference() bool {
	return slices.ContainsFunc(references[:], func(x struct{ prefix, example string }) bool {
		return strings.HasPrefix(string(r), x.prefix) && len(r) > len(x.prefix)
	})
}
