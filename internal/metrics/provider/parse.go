package provider

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/metrics/datadog"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Problem is what is wrong with a provider.
type Problem struct {
	Key string // of its config, as "headers.X-Scope-OrgID"; "name", "type" or "config" of itself
	Err error
	// Meant is the key that was probably meant; "": none.
	Meant string
}

// Parse returns the provider of an entry of analysisProviders, as it is decoded from YAML or JSON, and
// everything that is wrong with it.
func Parse(name, kind string, config map[string]any) (Provider, []Problem) {
	p := &parser{config: config, out: Provider{Name: name, Type: Type(kind)}}
	if strings.TrimSpace(name) == "" {
		p.addProblem("name", errors.New("the provider has no name"))
	}
	switch p.out.Type {
	case Prometheus:
		p.takeAddress()
		p.takeBasic()
		p.takeHeaders()
		p.takeSigV4()
		p.checkOneCredential()
	case Datadog:
		p.takeSite()
		p.out.Config.APIKey = p.takeKey("apiKey")
		p.out.Config.ApplicationKey = p.takeKey("applicationKey")
	case CloudWatch:
	case Web:
		p.takeAddress()
		p.takeBasic()
		p.takeHeaders()
		p.checkOneCredential()
	default:
		p.addProblem("type", typeError(kind))
		return p.out, p.problems
	}
	p.refuseOtherKeys()
	return p.out, p.problems
}

func typeError(kind string) error {
	const types = "PROMETHEUS, DATADOG, CLOUDWATCH or WEB"
	if strings.EqualFold(kind, "STACKDRIVER") {
		return errors.New("sluice does not read metrics of STACKDRIVER, which needs Google's client; use " + types +
			", or a command")
	}
	known := []Type{Prometheus, Datadog, CloudWatch, Web}
	if up := strings.ToUpper(kind); up != kind && slices.Contains(known, Type(up)) {
		return fmt.Errorf("%q is no type of provider: write %s", kind, up)
	}
	return fmt.Errorf("%q is no type of provider: use %s", kind, types)
}

// parser takes the keys of a config one by one.
type parser struct {
	config   map[string]any
	out      Provider
	taken    []string
	problems []Problem
}

func (p *parser) addProblem(key string, err error) {
	p.problems = append(p.problems, Problem{Key: key, Err: err})
}

// takeText returns the text of a key; "" if it is missing or is no text.
func (p *parser) takeText(key string) string {
	p.taken = append(p.taken, key)
	switch v := p.config[key].(type) {
	case nil:
		return ""
	case string:
		if v == "" {
			p.addProblem(key, fmt.Errorf("%s is empty", key))
		}
		return v
	}
	p.addProblem(key, fmt.Errorf("%s is not a text", key))
	return ""
}

func (p *parser) has(key string) bool { return p.config[key] != nil }

// takeAddress takes a URL without credentials.
func (p *parser) takeAddress() {
	text := p.takeText("address")
	p.out.Config.Address = strings.TrimSuffix(text, "/")
	u, err := url.Parse(text)
	switch {
	case !p.has("address"):
		p.addProblem("address", fmt.Errorf("a provider of type %s needs an address, as in https://prometheus.test:9090",
			p.out.Type))
	case text == "":
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		p.addProblem("address", fmt.Errorf("%s is no URL with http:// or https://", secret.URL(text)))
	case u.User != nil:
		p.out.Config.Address = ""
		p.addProblem("address", errors.New("the address contains a password: write username and password as "+
			"references, as in password: env:PROMETHEUS_PASSWORD"))
	case secret.Mask(text) != text:
		p.out.Config.Address = ""
		p.addProblem("address", errors.New("the address contains text that looks like a secret: write it as a header "+
			"with a reference, as in headers: {X-Token: env:NAME}"))
	case p.out.Type == Prometheus && (u.RawQuery != "" || u.Fragment != ""):
		p.addProblem("address", fmt.Errorf("the address has a query: write only %s://%s%s", u.Scheme, u.Host, u.Path))
	}
}

func (p *parser) takeSite() {
	p.out.Config.Address = p.takeText("address")
	if u, err := url.Parse(p.out.Config.Address); err == nil && u.User != nil {
		p.out.Config.Address = ""
		p.addProblem("address", errors.New("the address contains a password: Datadog needs apiKey and applicationKey"))
	} else if _, err := datadog.Address(p.out.Config.Address); err != nil {
		p.addProblem("address", err)
	}
}

func (p *parser) takeBasic() {
	c := &p.out.Config
	c.Username = p.takeTextOrRef("username")
	c.Password = p.takeSecret("password")
	c.Bearer = p.takeSecret("bearer")
	if (c.Username == "") != (c.Password == "") && len(p.problems) == 0 {
		missing := "username"
		if c.Password == "" {
			missing = "password"
		}
		p.addProblem(missing, fmt.Errorf("%s is missing: basic authentication needs username and password", missing))
	}
}

// takeTextOrRef returns a value that need not be secret: a text, a reference, or a file of piped.
func (p *parser) takeTextOrRef(key string) Ref {
	value, file := p.takeText(key), p.takeText(key+"File")
	switch {
	case value != "" && file != "":
		p.addProblem(key, fmt.Errorf("%s and %sFile are both given: use one", key, key))
	case file != "":
		return Ref("file:" + file)
	}
	return Ref(value)
}

// takeSecret returns a reference, and refuses a literal: files of applications are in Git, and plans
// are shown.
func (p *parser) takeSecret(key string) Ref {
	ref := p.takeTextOrRef(key)
	if ref != "" && !ref.IsReference() {
		p.addProblem(key, fmt.Errorf("%s is a literal, and files and plans must not contain secrets: write a "+
			"reference, as in %s: env:NAME or ssm:/path", key, key))
		return ""
	}
	return ref
}

// takeKey is takeSecret for a key that must be given.
func (p *parser) takeKey(key string) Ref {
	before := len(p.problems)
	ref := p.takeSecret(key)
	p.taken = append(p.taken, key+"Data")
	switch {
	case p.has(key + "Data"):
		p.addProblem(key+"Data", fmt.Errorf("%sData is a literal, and files and plans must not contain secrets: write "+
			"%s as a reference, as in %s: env:NAME, or %sFile", key, key, key, key))
	case ref == "" && len(p.problems) == before:
		p.addProblem(key, fmt.Errorf("%s is missing: write a reference, as in %s: env:NAME, or %sFile", key, key, key))
	}
	return ref
}

func (p *parser) takeHeaders() {
	p.taken = append(p.taken, "headers")
	all, ok := p.config["headers"].(map[string]any)
	if !ok && p.has("headers") {
		p.addProblem("headers", errors.New("headers is not a map of names and values"))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key := "headers." + name
		value, isText := all[name].(string)
		switch {
		case !isText || strings.ContainsAny(value, "\r\n"):
			p.addProblem(key, fmt.Errorf("the value of header %s is not a line of text", name))
		case !isHeaderName(name):
			p.addProblem(key, fmt.Errorf("%q is no name of a header", name))
		case isSecretHeader(name, value) && !Ref(value).IsReference():
			p.addProblem(key, fmt.Errorf("the value of header %s is a literal that looks like a secret: write a "+
				"reference, as in env:NAME or ssm:/path", name))
		default:
			p.out.Config.Headers = append(p.out.Config.Headers, Header{name, Ref(value)})
		}
	}
}

func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	})
}

// isSecretHeader reports whether a header has credentials by its name, or by the shape of its value.
func isSecretHeader(name, value string) bool {
	name = http.CanonicalHeaderKey(name)
	return name == "Cookie" || name == "Proxy-Authorization" || secret.IsName(name) || secret.Mask(value) != value
}

func (p *parser) takeSigV4() {
	p.taken = append(p.taken, "sigv4")
	switch v := p.config["sigv4"].(type) {
	case nil:
	case bool:
		if v {
			p.out.Config.SigV4 = &SigV4{}
		}
	case map[string]any:
		region, ok := v["region"].(string)
		if !ok || region == "" || len(v) != 1 {
			p.addProblem("sigv4",
				errors.New("sigv4 is true, or has the key region, as in sigv4: {region: eu-central-1}"))
			return
		}
		p.out.Config.SigV4 = &SigV4{Region: region}
	default:
		p.addProblem("sigv4", errors.New("sigv4 is neither true nor a map with the key region"))
	}
}

// checkOneCredential refuses two ways of authentication: the second would replace the first.
func (p *parser) checkOneCredential() {
	c := p.out.Config
	var have []string
	for _, x := range []struct {
		name string
		is   bool
	}{{"username", c.Username != ""}, {"bearer", c.Bearer != ""}, {"sigv4", c.SigV4 != nil},
		{"headers.Authorization", slices.ContainsFunc(c.Headers, func(h Header) bool {
			return strings.EqualFold(h.Name, "Authorization")
		})}} {
		if x.is {
			have = append(have, x.name)
		}
	}
	if len(have) > 1 {
		p.addProblem(have[1], fmt.Errorf("%s are given: use one way to authenticate", strings.Join(have, " and ")))
	}
}

func (p *parser) refuseOtherKeys() {
	for _, key := range slices.Sorted(maps.Keys(p.config)) {
		if slices.Contains(p.taken, key) {
			continue
		}
		problem := Problem{Key: key, Meant: definition.Nearest(key, p.taken)}
		text := fmt.Sprintf("a provider of type %s has no key %s", p.out.Type, key)
		if len(p.taken) == 0 {
			text += ": it reads the account of the deployment and needs no config"
		} else if problem.Meant != "" {
			text += ": probably " + problem.Meant
		}
		problem.Err = errors.New(text)
		p.problems = append(p.problems, problem)
	}
}
