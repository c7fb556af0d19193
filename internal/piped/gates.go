package piped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/filekind"
	"github.com/sluice-ecs/sluice/internal/signedread"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// refuseGates refuses gates that piped cannot have: commands, which would run on piped's machine, and those that send a
// secret of piped's machine to an address in the application's file.
func (e *pluginEntry) refuseGates(app *appfile.Application) error {
	var all []error
	for _, g := range app.AllGates() {
		refuse := func(next, why string) {
			all = append(all, &sluice.Error{Op: "read the application", Resource: fmt.Sprintf("%s:%d", app.File, g.Line),
				Err: fmt.Errorf("gate %s %s", g.Name, why), Next: next})
		}
		if len(g.Read.Command) > 0 {
			refuse("use a stage of PipeCD's own for scripts, or an https check", "runs a command, and piped runs none")
		}
		if p := g.Read.Provider; p != nil && !e.settings.hasProvider(p.Name) && hasSecret(p.Config) {
			refuse("move the provider to config.analysisProviders of this plugin in piped's configuration",
				"has a provider with a secret of piped's machine")
		}
		if h := g.Read.HTTPS; h != nil && slices.ContainsFunc(h.Headers, func(h appfile.Header) bool {
			return values.IsReference(h.Value)
		}) {
			refuse("remove the header", "sends a secret of piped's machine")
		}
	}
	return errors.Join(all...)
}

// hasSecret reports whether a provider's configuration names the place of a secret.
func hasSecret(config map[string]string) bool {
	for key, value := range config {
		if strings.HasSuffix(key, "File") || values.IsReference(value) {
			return true
		}
	}
	return false
}

// maxSecretFile is the size up to which a file with a secret is read.
const maxSecretFile = 64 << 10

// outsideAWS returns what gates use besides AWS. Secrets are read only for providers of piped's configuration;
// see refuseGates.
func outsideAWS(a *account.Account) *stage.OutsideAWS {
	return &stage.OutsideAWS{HTTP: &http.Client{}, Secret: func(ctx context.Context, place string) (string, error) {
		kind, name, _ := strings.Cut(place, ":")
		switch kind {
		case "env":
			if value, ok := os.LookupEnv(name); ok {
				return value, nil
			}
			return "", secretError(place, errors.New("the environment variable of piped is not set"))
		case "ssm":
			p, err := signedread.Reader{Sender: a}.Parameter(ctx, name)
			return p.Value, err
		case "file":
			return readSecretFile(name)
		}
		return "", secretError(place, errors.New("this place is not known"))
	}}
}

func readSecretFile(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil {
		if err := filekind.Check(info); err != nil {
			return "", secretError(name, err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return "", secretError(name, errors.New("the file cannot be read"))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile))
	if err != nil {
		return "", secretError(name, errors.New("the file cannot be read"))
	}
	return string(data), nil
}

func secretError(place string, why error) error {
	return &sluice.Error{Op: "read secret", Resource: place, Err: why,
		Next: "correct analysisProviders of this plugin in piped's configuration"}
}
