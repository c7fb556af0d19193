package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// taskDefinitionPlaceholder replaces the ARN of a task definition that has no revision yet.
// AWS CodePipeline uses the same text.
const taskDefinitionPlaceholder = "<TASK_DEFINITION>"

func (p *program) newAppspecCommand() *cobra.Command {
	var at session.ApplicationFlag
	var of string
	var live survey.LiveDefinitions
	c := &cobra.Command{
		Use:   "appspec [DIR | -c FILE]",
		Short: "Print the AppSpec that CodeDeploy would get",
		Long: `Print the AppSpec that sluice deploy sends to CodeDeploy, for a service with
deployment controller CODE_DEPLOY: the task definition, the container and port of its
first load balancer, its network and capacity, and the hooks. The text output is YAML.
With --output json, it is byte for byte the AppSpec that sluice deploy sends.

The task definition is the registered revision that equals the files. If there is
none yet, the AppSpec has ` + taskDefinitionPlaceholder + ` instead. --task-definition selects another.`,
		Example: `  sluice appspec examples/codedeploy
  sluice appspec --task-definition current
  sluice appspec --task-definition web:41 --output json`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runAppSpec(c.Context(), path, of, live) }),
	}
	at.Register(c)
	session.RegisterOpposite(c.Flags(), &live.Service, "update-service",
		"--update-service=false: the attributes of the service as they are in AWS, instead of the file's")
	c.Flags().BoolVar(&live.Service, "no-update-service", false, "the same as --update-service=false")
	c.Flags().StringVar(&of, "task-definition", "",
		"latest (of the family), current (of the service), or a `family:revision` or ARN")
	return c
}

func (p *program) runAppSpec(ctx context.Context, path, of string, live survey.LiveDefinitions) error {
	app, err := p.LoadApplication(path)
	if err != nil {
		return err
	}
	if app.Service == nil {
		return &sluice.Error{Op: "print the AppSpec", Resource: app.File,
			Err:  errors.New("the application is a standalone task, and CodeDeploy deploys only services"),
			Next: "set input.serviceDefinitionFile"}
	}
	a, _, err := p.OpenAccountOf(ctx, app)
	if err != nil {
		return err
	}
	if err := live.ReplaceIn(ctx, a, app); err != nil {
		return err
	}
	arn, err := findTaskDefinition(ctx, a, app, of)
	if err != nil {
		return err
	}
	made := arn
	if arn == "" {
		made = "arn:" + taskDefinitionPlaceholder
	}
	spec, err := appspec.New(app.Service.Input, made, app.Hooks)
	if err != nil {
		return err
	}
	content := spec.Content
	if arn == "" {
		content = strings.Replace(content, made, taskDefinitionPlaceholder, 1)
		fmt.Fprintf(p.Env.Err, "note: no revision of %s equals the files yet; sluice deploy registers one\n",
			*app.Task.Input.Family)
	}
	if p.Flags.Output == session.JSON {
		fmt.Fprintln(p.Env.Out, content)
		return nil
	}
	text, err := yaml.JSONToYAML([]byte(content))
	if err == nil {
		_, err = p.Env.Out.Write(text)
	}
	return err
}

// findTaskDefinition returns the ARN of the task definition for an AppSpec. The ARN is empty if
// no registered revision equals the files.
func findTaskDefinition(ctx context.Context, a *account.Account, app *appfile.Application, of string) (string, error) {
	switch of {
	case "":
		rev, err := ecs.FindRegistered(ctx, a.ECS(), app.Task)
		return rev.ARN, err
	case "latest":
		of = *app.Task.Input.Family
	case "current":
		live, err := ecs.Service{API: a.ECS(), Cluster: app.ClusterName(),
			Name: *app.Service.Input.ServiceName}.Observe(ctx)
		if err != nil {
			return "", err
		}
		if of = ""; live != nil {
			of = live.Serving()
		}
		if of == "" {
			return "", &sluice.Error{Op: "print the AppSpec", Resource: app.ClusterName() + "/" +
				*app.Service.Input.ServiceName, Kind: sluice.NotFound,
				Err: errors.New("no revision is PRIMARY"), Next: "leave --task-definition out"}
		}
	}
	td, err := ecs.ReadDefinition(ctx, a.ECS(), of)
	if err != nil {
		return "", err
	}
	return *td.TaskDefinitionArn, nil
}
