package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// renderTargets are what sluice render prints, by name.
func renderTargets() []string { return []string{"config", "servicedef", "taskdef"} }

func (p *program) newRenderCommand() *cobra.Command {
	var at session.ApplicationFlag
	var showSecrets bool
	c := &cobra.Command{
		Use:   "render config|servicedef|taskdef [DIR | -c FILE]",
		Short: "Print a file of an application, evaluated",
		Long: `Print a file of an application after Jsonnet and templates have been evaluated: the
application file (config), or the service or task definition as the JSON of the request
that AWS gets. It calls no AWS, unless the files have lookups in it. A value that a lookup
read and that is secret, such as a SecureString, is masked unless --show-secrets is given.`,
		Example: `  sluice render taskdef examples/ecspresso --envfile examples/ecspresso/prod.env
  sluice render servicedef examples/canary | jq .loadBalancers
  sluice render config examples/ecspresso`,
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: renderTargets(),
		RunE: func(c *cobra.Command, args []string) error {
			path, _, err := at.Path(c, args[1:])
			if err != nil {
				return err
			}
			return p.runRender(args[0], path, showSecrets)
		},
	}
	at.Register(c)
	c.Flags().BoolVar(&showSecrets, "show-secrets", false, "print secret values that lookups read")
	return c
}

func (p *program) runRender(target, path string, showSecrets bool) error {
	app, err := p.LoadApplication(path)
	if err != nil {
		return err
	}
	text, err := renderedText(app, target)
	if err != nil {
		return err
	}
	if showSecrets {
		p.ShowKnownSecrets()
	} else if len(app.Secrets) > 0 {
		fmt.Fprintln(p.Env.Err, "note: secret values of lookups are masked; --show-secrets prints them")
	}
	_, err = p.Env.Out.Write(text)
	return err
}

// renderedText returns one file of the application.
func renderedText(app *appfile.Application, target string) ([]byte, error) {
	var data []byte
	var err error
	switch {
	case target == "config":
		return configText(app.Text)
	case target == "taskdef" && app.Task != nil:
		data, err = app.Task.JSON()
	case target == "servicedef" && app.Service != nil:
		data, err = app.Service.JSON()
	case target == "taskdef", target == "servicedef":
		return nil, &sluice.Error{Op: "render " + target, Resource: app.File,
			Err: errors.New("the application has no such definition"), Next: "run sluice render config"}
	default:
		return nil, &sluice.Error{Op: "render", Err: fmt.Errorf("there is no file %q", target),
			Next: "give one of " + strings.Join(renderTargets(), ", ")}
	}
	if err != nil {
		return nil, err
	}
	return indented(data)
}

// configText returns an application file, indented if it is JSON.
func configText(text []byte) ([]byte, error) {
	if json.Valid(text) {
		return indented(text)
	}
	var any any
	if err := yaml.Unmarshal(text, &any); err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(text, "\n"), '\n'), nil
}

func indented(data []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
