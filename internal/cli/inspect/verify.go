package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/registry"
	"github.com/sluice-ecs/sluice/internal/signedread"
	"github.com/sluice-ecs/sluice/internal/upkeep"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// registryTimeout is how long verify waits for a registry, which may not be reachable from this machine.
const registryTimeout = 5 * time.Second

// verifyFlags are the flags of sluice verify.
type verifyFlags struct {
	putLogs, getSecrets bool
	images              *session.ImageFlags
}

func (p *program) newVerifyCommand() *cobra.Command {
	var at session.SeveralFlag
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify [DIR… | -c FILE]",
		Short: "Check that what the files name exists in AWS",
		Long: `Check that the resources which the files of an application name exist in AWS and fit
together: the cluster, the execution and task role and whom they trust, images and their
platforms, secrets and parameters, log groups, environment files, target groups and
ports, the network, and hook functions. It sends each query of a gate once, except to
CloudWatch, where a read costs money: sluice gate test does that. It compares the images
that tags of ECR name with those that the serving tasks run. It prints all findings, and
reads only.

An error is what would make a deployment fail; the exit code is then 1. What you may not
read, or what cannot be reached, is a warning. Images of registries other than ECR are
looked for over HTTPS, without credentials.

The value of a secret is read only if a container gets one key of its JSON, to check the
key. It is neither printed nor kept. --get-secrets=false does not read it.

` + session.SeveralHelp,
		Example: `  sluice verify examples/ecspresso --envfile examples/ecspresso/prod.env
  sluice verify --output json
  sluice verify --put-logs`,
		RunE: at.RunNamed(p.Session, func(c *cobra.Command, n session.Named) error {
			f.images.ForSeveral(len(n.Paths))
			return n.Run(c.Context(), p.Session, c.Name(),
				func(ctx context.Context, s *session.Session, path string, _ bool) (string, error) {
					return (&program{Session: s}).runVerify(ctx, path, f)
				})
		}),
	}
	at.Register(c)
	f.images = session.RegisterImages(c.Flags())
	c.Flags().BoolVar(&f.putLogs, "put-logs", false, "also write a line to each log group, in a log stream of its own")
	session.RegisterOpposite(c.Flags(), &f.putLogs, "no-put-logs", "leave the log groups alone, as is the default")
	c.Flags().BoolVar(&f.getSecrets, "get-secrets", true, "get secrets of which a container gets one JSON key")
	session.RegisterOpposite(c.Flags(), &f.getSecrets, "no-get-secrets", "the same as --get-secrets=false")
	return c
}

func (p *program) runVerify(ctx context.Context, path string, f verifyFlags) (result string, err error) {
	app, err := p.LoadApplication(path)
	if err != nil {
		return "", err
	}
	defer p.ShowCalls()()
	a, c, err := p.OpenAccountOf(ctx, app)
	if err != nil {
		return "", err
	}
	from, err := p.verifyReads(ctx, a, app.Role)
	if err != nil {
		return "", err
	}
	if err := f.images.Choose(ctx, a, app); err != nil {
		return "", err
	}
	app.LocalAWS = p.Endpoint(ctx).World != ""
	all, err := verify.Run(ctx, app, from, imageRegistry{registry.Client{HTTP: p.Env.WebClient()}},
		verify.Options{Secrets: f.getSecrets})
	if err != nil {
		return "", err
	}
	callers, err := verifyCallers(ctx, a, c, app)
	if err != nil {
		return "", err
	}
	rules, err := verifyRules(ctx, a, app)
	if err != nil {
		return "", err
	}
	all = slices.Concat(all, rules, callers, p.verifyGates(ctx, a, c, app))
	if f.putLogs {
		written, err := p.putLogs(ctx, a, app)
		if err != nil {
			return "", err
		}
		all = append(all, written...)
	}
	if err := p.printFindings(app, all); err != nil {
		return "", err
	}
	result = fmt.Sprintf("%s, %s", sluice.Plural(verify.Count(all, verify.Error), "error"),
		sluice.Plural(verify.Count(all, verify.Warning), "warning"))
	if verify.Count(all, verify.Error) > 0 {
		err = session.ExitWith(sluice.ExitUsage)
	}
	return result, err
}

// verifyReads returns the clients that read. Without valid credentials it returns an error: then nothing could be read.
func (p *program) verifyReads(ctx context.Context, a *account.Account, role string) (verify.AWS, error) {
	id, err := a.ID(ctx)
	if err != nil {
		return verify.AWS{}, err
	}
	return verify.Open(a, id, func(ctx context.Context, region string) (signedread.Reader, error) {
		other, _, err := p.OpenAccountIn(ctx, region, role)
		return signedread.Reader{Sender: other}, err
	}), nil
}

// imageRegistry looks for images in registries other than ECR.
type imageRegistry struct{ client registry.Client }

func (r imageRegistry) Platforms(ctx context.Context, i definition.Image) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	return r.client.Platforms(ctx, i.Host, i.Repository, i.Reference())
}

// putLogs writes a line to each log group that exists.
func (p *program) putLogs(ctx context.Context, a *account.Account, app *appfile.Application) ([]verify.Finding, error) {
	var all []verify.Finding
	w := upkeep.LogWriter{API: a.Logs(), Act: p.Env.NewAct("verify")}
	c, _, err := p.OpenClock()
	if err != nil {
		return nil, err
	}
	stream := "sluice-verify/" + strings.ToLower(p.NewEngine(a, c, nil).NewID())
	for _, g := range definition.LogGroups(app.Task.Input.ContainerDefinitions, a.Region()) {
		found := verify.Finding{Status: verify.OK, Subject: "write to log group " + g.Name, Detail: "stream " + stream}
		if err := w.Put(ctx, g.Name, g.Region, stream, "sluice verify", c.Now()); err != nil {
			found = verify.Finding{Status: verify.Error, Subject: found.Subject, Detail: sluice.Inner(err).Error(),
				Next: sluice.NextStep(err)}
			if g.IsCreated && sluice.KindOf(err) == sluice.NotFound {
				found = verify.Finding{Status: verify.OK, Subject: found.Subject, Detail: "it does not exist yet"}
			}
		}
		all = append(all, found)
	}
	return all, nil
}

// verifySchema names the format of the findings in JSON.
const verifySchema = "sluice.verify/1"

// verifyView is the findings in JSON.
type verifyView struct {
	Schema   string           `json:"schema"`
	File     string           `json:"file"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Findings []verify.Finding `json:"findings"`
}

func (p *program) printFindings(app *appfile.Application, all []verify.Finding) error {
	errors, warnings := verify.Count(all, verify.Error), verify.Count(all, verify.Warning)
	if p.Flags.Output == session.JSON {
		return show.WriteJSON(p.Env.Out, verifyView{verifySchema, app.File, errors, warnings, all})
	}
	for _, f := range all {
		f.Next = p.NextStep(f.Next)
		writeFinding(p.Env.Out, f)
	}
	_, err := fmt.Fprintf(p.Env.Out, "\n%s, %s, %d ok\n", sluice.Plural(errors, "error"),
		sluice.Plural(warnings, "warning"), len(all)-errors-warnings)
	return err
}

func writeFinding(w io.Writer, f verify.Finding) {
	line := fmt.Sprintf("%-8s %s", f.Status, f.Subject)
	if f.Detail != "" {
		line += ": " + f.Detail
	}
	if f.Place != "" {
		line += " (" + f.Place + ")"
	}
	fmt.Fprintln(w, line)
	if f.Next != "" {
		fmt.Fprintf(w, "%-8s next: %s\n", "", f.Next)
	}
}
