package definitions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// renderTargets are what sluice render prints, by name.
func renderTargets() []string { return []string{"config", "servicedef", "taskdef"} }

// ecspressoTargets are ecspresso's other names of targets.
func ecspressoTargets() map[string]string {
	return map[string]string{"service-definition": "servicedef", "task-definition": "taskdef"}
}

// cutTargets returns the targets at the beginning of the arguments, and the other arguments.
func cutTargets(args []string) (targets, rest []string) {
	for i, arg := range args {
		name := cmp.Or(ecspressoTargets()[arg], arg)
		if !slices.Contains(renderTargets(), name) {
			return targets, args[i:]
		}
		targets = append(targets, name)
	}
	return targets, nil
}

func (p *program) newRenderCommand() *cobra.Command {
	var at session.ApplicationFlag
	var showSecrets bool
	var images *session.ImageFlags
	c := &cobra.Command{
		Use:   "render config|servicedef|taskdef… [DIR | -c FILE]",
		Short: "Print files of an application, evaluated",
		Long: `Print files of an application after Jsonnet and templates have been evaluated: the
application file (config), or the service or task definition as the JSON of the request
that AWS gets. It does not check whether they can be deployed: sluice plan does. It calls
no AWS, unless the files have lookups in it. A value that a lookup read and that is secret,
such as a SecureString, is masked unless --show-secrets is given.`,
		Example: `  sluice render taskdef examples/ecspresso --envfile examples/ecspresso/prod.env
  sluice render servicedef examples/canary | jq .loadBalancers
  sluice render config examples/ecspresso`,
		ValidArgs: renderTargets(),
		RunE: func(c *cobra.Command, args []string) error {
			targets, rest := cutTargets(args)
			if len(targets) == 0 {
				return unknownTarget(args)
			}
			if err := session.AtMost(1)(c, rest); err != nil {
				return err
			}
			path, _, err := at.Path(c, rest)
			if err != nil {
				return err
			}
			return p.runRender(targets, path, images, showSecrets)
		},
	}
	at.Register(c)
	images = session.RegisterImages(c.Flags())
	c.Flags().BoolVar(&showSecrets, "show-secrets", false, "print secret values of variables and lookups")
	return c
}

// unknownTarget is the error for arguments that begin with no target.
func unknownTarget(args []string) error {
	err := errors.New("it needs the name of what to print")
	if len(args) > 0 {
		err = fmt.Errorf("%q is not one of the files that it prints", args[0])
	}
	return &sluice.Error{Op: "render", Err: err, Next: "give one of " + strings.Join(renderTargets(), ", ") +
		", before the folder: sluice render taskdef DIR"}
}

func (p *program) runRender(targets []string, path string, images *session.ImageFlags, showSecrets bool) error {
	files, err := p.ReadFiles(path)
	if err != nil {
		return err
	}
	if err := images.Apply(files.Application); err != nil {
		return err
	}
	var all []byte
	for _, target := range targets {
		text, err := renderedText(files, target)
		if err != nil {
			return err
		}
		all = append(all, text...)
	}
	if showSecrets {
		p.Secrets.Show()
	} else if len(files.Application.Secrets) > 0 {
		fmt.Fprintln(p.Env.Err, "note: secret values of variables and lookups are masked; --show-secrets prints them")
	}
	_, err = p.Env.Out.Write(all)
	return err
}

// renderedText returns one file of the application.
func renderedText(files *appfile.Files, target string) ([]byte, error) {
	var data []byte
	var err error
	switch target {
	case "config":
		return configText(files.Application.Text)
	case "taskdef":
		data, err = files.TaskJSON()
	case "servicedef":
		data, err = files.ServiceJSON()
	}
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, &sluice.Error{Op: "render " + target, Resource: files.Application.File,
			Err: errors.New("the application has no such definition"), Next: "run sluice render config"}
	}
	return indented(data)
}

// configText returns an application file, indented if it is JSON, without the mark of its encoding.
func configText(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
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
