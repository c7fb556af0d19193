package definitions

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

func (p *program) newRegisterCommand() *cobra.Command {
	var at session.ApplicationFlag
	var dry bool
	var images *session.ImageFlags
	c := &cobra.Command{
		Use:   "register [DIR | -c FILE]",
		Short: "Register the task definition of an application",
		Long: `Register the task definition of an application, without a deployment, and print its
revision. If the newest revision equals the file, nothing is registered and that one is
printed. sluice deploy registers the task definition itself.`,
		Example: `  sluice register examples/canary
  sluice register --output json | jq -r .arn`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error {
			return p.runRegister(c.Context(), path, images, dry)
		}),
	}
	at.Register(c)
	images = session.RegisterImages(c.Flags())
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be registered and write nothing")
	return c
}

func (p *program) runRegister(ctx context.Context, path string, images *session.ImageFlags, dry bool) error {
	f, err := p.openFamily(ctx, path)
	if err != nil {
		return err
	}
	if err := images.Choose(ctx, f.account, f.app); err != nil {
		return err
	}
	rev, err := ecs.FindRegistered(ctx, f.API, f.app.Task)
	if err != nil {
		return err
	}
	if rev.ARN == "" && dry {
		p.PrintResult("would register a new revision of " + f.Name)
		return nil
	}
	registered := rev.ARN == ""
	if registered {
		if rev, err = p.register(ctx, f); err != nil {
			return err
		}
	}
	if p.Flags.Output == session.JSON {
		return show.WriteJSON(p.Env.Out, map[string]any{"revision": rev.Name, "arn": rev.ARN,
			"registered": registered})
	}
	text := "registered " + rev.Name
	if !registered {
		text = rev.Name + " equals the file; nothing was registered"
	}
	_, err = fmt.Fprintln(p.Env.Out, text)
	return err
}

// register registers the task definition once, also if the response of ECS is lost.
func (p *program) register(ctx context.Context, f *family) (ecs.Revision, error) {
	c, _, err := p.OpenClock()
	if err != nil {
		return ecs.Revision{}, err
	}
	act := p.Env.NewAct("register")
	return ecs.EnsureRevision(ctx, f.API, act, f.app.Task, func(ctx context.Context) (ecs.Revision, error) {
		if err := c.Sleep(ctx, ecs.ReadLag); err != nil {
			return ecs.Revision{}, err
		}
		return ecs.FindRecent(ctx, f.API, f.app.Task)
	})
}
