package definitions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

func (p *program) newRevisionsCommand() *cobra.Command {
	var at session.ApplicationFlag
	var of string
	c := &cobra.Command{
		Use:   "revisions [DIR | CLUSTER/SERVICE | -c FILE]",
		Short: "List the registered task definitions of a family",
		Long: `List the ACTIVE revisions of the task definition's family, newest first, with what uses
them: services of all clusters of the Region, and running tasks. With --revision, print
one of them as JSON.`,
		Example: `  sluice revisions examples/canary
  sluice revisions prod/web            of the revision that it serves
  sluice revisions --revision current
  sluice revisions --revision 41 | jq .containerDefinitions`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runRevisions(c.Context(), path, of) }),
	}
	at.Register(c)
	c.Flags().StringVar(&of, "revision", "", "print this one: a `number`, current (of the service) or latest")
	return c
}

// revisionEntry is a revision in a list, in JSON.
type revisionEntry struct {
	Revision string   `json:"revision"`
	ARN      string   `json:"arn"`
	UsedBy   []string `json:"usedBy"`
}

func (p *program) runRevisions(ctx context.Context, path, of string) error {
	open := p.openFamily
	if _, isService := p.Env.Disk.ServiceAt(path); isService {
		open = p.openFamilyOfService
	}
	f, err := open(ctx, path)
	if err != nil {
		return err
	}
	if of != "" {
		return p.printRevision(ctx, f, of)
	}
	all, users, err := f.read(ctx)
	if err != nil {
		return err
	}
	if p.Flags.Output == session.JSON {
		for _, rev := range all {
			e := revisionEntry{Revision: rev.Name, ARN: rev.ARN, UsedBy: append([]string{}, users[rev.Name]...)}
			if err := show.WriteJSON(p.Env.Out, e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		p.PrintResult("no revisions of " + f.Name)
		return nil
	}
	w := show.NewTable(p.Env.Out)
	fmt.Fprintln(w, "REVISION\tUSED BY")
	for _, rev := range all {
		text := strings.Join(users[rev.Name], ", ")
		if text == "" {
			text = "-"
		}
		fmt.Fprintf(w, "%s\t%s\n", rev.Name, text)
	}
	return w.Flush()
}

// printRevision prints one revision as the request that registers it.
func (p *program) printRevision(ctx context.Context, f *family, of string) error {
	name, err := f.nameOf(ctx, of)
	if err != nil {
		return err
	}
	td, err := ecs.ReadDefinition(ctx, f.API, name)
	if err != nil {
		return err
	}
	data, err := definition.TaskOf(td).JSON()
	if err != nil {
		return err
	}
	text, err := indented(data)
	if err == nil {
		_, err = p.Env.Out.Write(text)
	}
	return err
}

// family is the task definitions of an application's family.
type family struct {
	upkeep.Family
	app     *appfile.Application // nil: a service that is named without files
	account *account.Account
	service *ecs.Service // nil: a standalone task
}

// openFamily reads the files of the application.
func (p *program) openFamily(ctx context.Context, path string) (*family, error) {
	app, err := p.LoadApplication(path)
	if err != nil {
		return nil, err
	}
	a, _, err := p.OpenAccountOf(ctx, app)
	if err != nil {
		return nil, err
	}
	f := &family{Family: upkeep.Family{API: a.ECS(), Name: *app.Task.Input.Family}, app: app, account: a}
	if app.Service != nil {
		f.service = &ecs.Service{API: a.ECS(), Cluster: app.ClusterName(), Name: *app.Service.Input.ServiceName}
	}
	return f, nil
}

// openFamilyOfService reads which family a service uses that path names as CLUSTER/SERVICE.
func (p *program) openFamilyOfService(ctx context.Context, path string) (*family, error) {
	of, _ := p.Env.Disk.ServiceAt(path)
	a, _, err := p.OpenAccount(ctx, "", "")
	if err != nil {
		return nil, err
	}
	service := ecs.Service{API: a.ECS(), Cluster: of.Cluster, Name: of.Name}
	live, err := service.Observe(ctx)
	switch {
	case err != nil:
		return nil, p.Env.Disk.NoSuchService(of, survey.NameMissing(ctx, service, err))
	case !live.IsActive():
		return nil, p.Env.Disk.NoSuchService(of, survey.NoServiceError(ctx, service, "name the application's folder"))
	}
	name, _, _ := strings.Cut(live.Serving(), ":")
	if name == "" {
		return nil, &sluice.Error{Op: "select the revision", Resource: service.Resource(), Kind: sluice.NotFound,
			Err: errors.New("no revision of the service is PRIMARY"), Next: "name the application's folder"}
	}
	return &family{Family: upkeep.Family{API: a.ECS(), Name: name}, account: a, service: &service}, nil
}

// read returns the ACTIVE revisions, newest first, and what uses each.
func (f *family) read(ctx context.Context) (all []ecs.Revision, users map[string][]string, err error) {
	if all, err = f.ListActive(ctx); err == nil {
		users, err = f.Users(ctx)
	}
	return all, users, err
}

// nameOf returns the family:revision of a number, "current" or "latest".
func (f *family) nameOf(ctx context.Context, of string) (string, error) {
	switch of {
	case "latest":
		return f.Name, nil
	case "current":
		if f.service == nil {
			return "", &sluice.Error{Op: "select the revision", Resource: f.Name,
				Err: errors.New("the application has no service, so no revision is current"), Next: "give a number, or latest"}
		}
		live, err := f.service.Observe(ctx)
		if err != nil {
			return "", err
		}
		if !live.IsActive() || live.Serving() == "" {
			return "", &sluice.Error{Op: "select the revision", Resource: f.service.Resource(), Kind: sluice.NotFound,
				Err: errors.New("no revision of the service is PRIMARY"), Next: "give a number, or latest"}
		}
		return live.Serving(), nil
	}
	if n, err := strconv.Atoi(of); err != nil || n < 1 {
		return "", &sluice.Error{Op: "select the revision", Err: fmt.Errorf("--revision is %q", of),
			Next: "give a number, current or latest"}
	}
	return f.Name + ":" + of, nil
}
