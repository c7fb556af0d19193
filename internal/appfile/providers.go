package appfile

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// The types of metric providers.
const (
	ProviderCloudWatch = "CLOUDWATCH"
	ProviderPrometheus = "PROMETHEUS"
	ProviderDatadog    = "DATADOG"
	ProviderWeb        = "WEB"
)

// Provider is a metric provider of the file, in piped's shape.
type Provider struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"`
	Config ProviderConfig `json:"config,omitempty"`
}

// ProviderConfig has the settings of a provider by key, as the plan keeps them: a header is under its name after
// "headers.", and sigv4 is true, false or a Region. It has no secrets, only their places.
type ProviderConfig map[string]string

// Place returns a setting, which is a text or the place of a secret: env:NAME, ssm:/name, or file:path for a file of piped.
func (c ProviderConfig) Place(key string) string {
	if file := c[key+"File"]; file != "" {
		return "file:" + file
	}
	return c[key]
}

// Headers returns the headers of each request, in the order of their names.
func (c ProviderConfig) Headers() (all []Header) {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if name, is := strings.CutPrefix(key, "headers."); is {
			all = append(all, Header{Key: name, Value: c[key]})
		}
	}
	return all
}

// SigningRegion reports whether requests are signed for Amazon Managed Service for Prometheus, and for which Region: that
// of the file, or of the address. Region is empty if neither has one.
func (c ProviderConfig) SigningRegion() (region string, isSigned bool) {
	switch region = c["sigv4"]; region {
	case "", "false":
		return "", false
	case "true":
		if u, err := url.Parse(c["address"]); err == nil {
			parts := strings.Split(u.Hostname(), ".")
			if len(parts) > 3 && strings.HasPrefix(parts[0], "aps-workspaces") {
				return parts[1], true
			}
		}
		return "", true
	}
	return region, true
}

// providerType is a row of the table of provider types. Package metrics/provider opens them.
type providerType struct {
	name   string
	keys   []string // of its config; analysisProvidersKey has their shapes
	needed []string // of keys; a file in place of the value is enough
}

func providerTypes() []providerType {
	web := []string{"address", "username", "password", "usernameFile", "passwordFile", "bearer", "headers"}
	return []providerType{
		{name: ProviderCloudWatch},
		{ProviderPrometheus, append([]string{"sigv4"}, web...), []string{"address"}},
		{ProviderDatadog, []string{"address", "apiKeyFile", "applicationKeyFile", "apiKey", "applicationKey"},
			[]string{"apiKey", "applicationKey"}},
		{ProviderWeb, web, []string{"address"}},
	}
}

// ProviderTypes returns the types that a file may name.
func ProviderTypes() (all []string) {
	for _, t := range providerTypes() {
		all = append(all, t.name)
	}
	return all
}

// analysisProvidersKey returns the key of the metric providers, in piped's shape.
func analysisProvidersKey() key {
	config := shape{kind: object, keys: []key{
		honouredKey("address", shape{kind: text, min: 1}, "PROMETHEUS, WEB: the URL of the API. DATADOG: the site."),
		honouredKey("username", shape{kind: text, min: 1}, "PROMETHEUS, WEB: the user name, or its place."),
		honouredKey("password", shape{kind: secretPlace}, "PROMETHEUS, WEB: the place of the password: env:NAME or ssm:/name."),
		honouredKey("headers", shape{kind: labels}, "PROMETHEUS, WEB: headers of each request; secrets by their place."),
		honouredKey("usernameFile", shape{kind: text, min: 1}, "PROMETHEUS: the file with the user name."),
		honouredKey("passwordFile", shape{kind: text, min: 1}, "PROMETHEUS: the file with the password."),
		honouredKey("bearer", shape{kind: secretPlace}, "PROMETHEUS, WEB: the place of the token: env:NAME or ssm:/name."),
		honouredKey("sigv4", shape{}, "PROMETHEUS: true, or {region: NAME}: sign the requests for Amazon Managed Service for "+
			"Prometheus."),
		honouredKey("apiKeyFile", shape{kind: text, min: 1}, "DATADOG: the file with the API key."),
		honouredKey("applicationKeyFile", shape{kind: text, min: 1}, "DATADOG: the file with the application key."),
		honouredKey("apiKey", shape{kind: secretPlace}, "DATADOG: the place of the API key: env:NAME or ssm:/name."),
		honouredKey("applicationKey", shape{kind: secretPlace}, "DATADOG: the place of the application key."),
	}}
	return honouredKey("analysisProviders", shape{kind: list, of: &shape{kind: object, keys: []key{
		neededKey("name", shape{kind: text, min: 1}, "The name of the provider."),
		neededKey("type", shape{kind: choice, words: ProviderTypes(),
			refused: []refusedWord{{"STACKDRIVER", "sluice has no provider for Google Cloud; use PROMETHEUS or WEB"}}},
			"The kind of provider."),
		honouredKey("config", config, "Its settings."),
	}}}, "The metric providers, in the shape of piped's configuration. Secrets are named by their place only.")
}

// fileProvider is a provider, and its entry in a file.
type fileProvider struct {
	Provider
	src   *definition.Source
	entry *definition.Node
}

func (r *gateReader) addProviders(src *definition.Source, list *definition.Node) {
	for _, n := range values.Items(list) {
		p := fileProvider{Provider{Name: values.Text(n.Get("name")), Type: values.Text(n.Get("type")),
			Config: readConfig(n.Get("config"))}, src, n}
		if _, twice := r.providers[p.Name]; twice {
			r.addProblem(src.At(n, "analysisProviders: %s is given twice", p.Name))
		}
		r.checkKeys(p)
		r.providers[p.Name] = p
	}
}

func readConfig(n *definition.Node) ProviderConfig {
	config := ProviderConfig{}
	for _, e := range values.Entries(n) {
		switch {
		case e.Key == "headers":
			for _, h := range values.Entries(e.Value) {
				config["headers."+h.Key] = h.Value.Text
			}
		case e.Key == "sigv4" && e.Value.Kind == definition.Map:
			config[e.Key] = values.Text(e.Value.Get("region"))
		case values.IsGiven(e.Value):
			config[e.Key] = e.Value.Text
		}
	}
	return config
}

// checkKeys refuses a provider without a setting that its type needs, or with one of another type.
func (r *gateReader) checkKeys(p fileProvider) {
	var of providerType
	for _, t := range providerTypes() {
		if t.name == p.Type {
			of = t
		}
	}
	for _, name := range of.needed {
		if p.Config.Place(name) == "" {
			problem := p.src.At(p.entry, "analysisProviders: %s (%s) has no config.%s", p.Name, p.Type, name)
			r.addProblem(problem.LacksIn(p.entry, "config", name))
		}
	}
	for _, e := range values.Entries(p.entry.Get("config")) {
		if !slices.Contains(of.keys, e.Key) {
			r.addProblem(p.src.AtKey(e, "analysisProviders: %s (%s) does not use config.%s", p.Name, p.Type, e.Key))
		}
	}
}

// refuseSetting adds a problem of a provider's setting; nil: of the provider. A place that has one gets no second: it is the
// same one of another gate, or one of the check of the keys.
func (r *gateReader) refuseSetting(p fileProvider, n *definition.Node, format string, args ...any) {
	if n == nil {
		n = p.entry
	}
	if r.hasProblemAt(p.src, n.Line, n.Column) {
		return
	}
	problem := p.src.At(n, "analysisProviders: %s (%s): %s", p.Name, p.Type, fmt.Sprintf(format, args...))
	problem.Source = "" // the line may show a secret
	r.addProblem(problem)
}

// checkConfig refuses settings with which no request can be sent, and secrets in the file itself. It checks only a provider
// that a gate uses: a file of piped has others too.
func (r *gateReader) checkConfig(p fileProvider) {
	r.checkAddress(p)
	r.checkHeaders(p)
	config := p.entry.Get("config")
	for _, key := range []string{"username", "password", "apiKey", "applicationKey"} {
		if p.Config[key] != "" && p.Config[key+"File"] != "" {
			r.refuseSetting(p, config.Get(key), "%s and %sFile are both given: use one", key, key)
		}
	}
	if (p.Config.Place("username") == "") != (p.Config.Place("password") == "") {
		r.refuseSetting(p, nil, "basic authentication needs username and password")
	}
	switch n := config.Get("sigv4"); {
	case !values.IsGiven(n), n.IsFlag():
	case n.Kind != definition.Map, len(n.Entries) != 1, values.Text(n.Get("region")) == "":
		r.refuseSetting(p, n, "sigv4 is true, or {region: NAME}")
	}
	if ways := waysToAuthenticate(p.Config); len(ways) > 1 {
		r.refuseSetting(p, config, "%s are given: use one way to authenticate", strings.Join(ways, " and "))
	}
}

func (r *gateReader) checkAddress(p fileProvider) {
	address, n := p.Config["address"], p.entry.Get("config").Get("address")
	switch u, err := url.Parse(address); {
	case address == "": // refused already, or the default of Datadog
	case err == nil && u.User != nil, secret.Mask(address) != address:
		r.refuseSetting(p, n, "the address has a secret in it: name its place under another key, as env:NAME or ssm:/name")
	case p.Type == ProviderDatadog: // package datadog knows the sites
	case !values.IsWebAddress(address):
		r.refuseSetting(p, n, "%s is no URL with http:// or https://", secret.URL(address))
	case p.Type == ProviderPrometheus && (u.RawQuery != "" || u.Fragment != ""):
		r.refuseSetting(p, n, "the address has a query: write only %s://%s%s", u.Scheme, u.Host, u.Path)
	}
}

func (r *gateReader) checkHeaders(p fileProvider) {
	for _, e := range values.Entries(p.entry.Get("config").Get("headers")) {
		switch h := (Header{e.Key, e.Value.Text}); {
		case !isHeaderName(h.Key):
			r.refuseSetting(p, e.Value, "%q is no name of a header", h.Key)
		case strings.ContainsAny(h.Value, "\r\n"):
			r.refuseSetting(p, e.Value, "the value of header %s has several lines", h.Key)
		case values.IsReference(h.Value):
		case isSecretHeader(h), secret.Mask(h.Value) != h.Value:
			r.refuseSetting(p, e.Value, "the value of header %s is a secret: name its place, env:NAME or ssm:/name", h.Key)
		}
	}
}

// waysToAuthenticate returns the keys by which a provider authenticates. A second one would replace the first.
func waysToAuthenticate(c ProviderConfig) (ways []string) {
	if c.Place("username") != "" {
		ways = append(ways, "username")
	}
	if c["bearer"] != "" {
		ways = append(ways, "bearer")
	}
	if _, isSigned := c.SigningRegion(); isSigned {
		ways = append(ways, "sigv4")
	}
	if slices.ContainsFunc(c.Headers(), func(h Header) bool { return strings.EqualFold(h.Key, "Authorization") }) {
		ways = append(ways, "headers.Authorization")
	}
	return ways
}

func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	})
}
