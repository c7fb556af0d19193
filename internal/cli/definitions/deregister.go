package definitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// deregisterFlags are the flags of sluice deregister.
type deregisterFlags struct {
	revision  string
	keeps     int
	isCounted bool // keeps is given
	dry       bool
	deletes   bool
}

func (p *program) newDeregisterCommand() *cobra.Command {
	var at session.ApplicationFlag
	var o deregisterFlags
	c := &cobra.Command{
		Use:   "deregister --keeps N | --revision N [DIR | -c FILE]",
		Short: "Deregister task definitions that nothing uses",
		Long: `Deregister revisions of the task definition's family that nothing uses. A revision is
used if a service of any cluster of the Region deploys it, also with 0 tasks, or if a
task runs it. Such a revision is never deregistered. ECS does not know who starts tasks
on a schedule: keep the revisions that a schedule names.

--keeps N keeps the newest N of the unused revisions, for rollbacks. --revision selects
one. A deregistered revision starts no new tasks; with --delete, ECS also deletes it.`,
		Example: `  sluice deregister --keeps 10
  sluice deregister --revision 41
  sluice deregister --keeps 10 --delete --dry-run`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error {
			o.isCounted = c.Flags().Changed("keeps")
			return p.runDeregister(c.Context(), path, o)
		}),
	}
	at.Register(c)
	c.Flags().IntVar(&o.keeps, "keeps", 0, "`number` of unused revisions that stay, the newest ones")
	c.Flags().StringVar(&o.revision, "revision", "", "this one: a `number` or latest")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print what would be deregistered and write nothing")
	c.Flags().Bool("force", false, "accepted and without effect: nothing is asked, and no revision in use is deregistered")
	c.Flags().BoolVar(&o.deletes, "delete", false, "also delete what was deregistered")
	return c
}

func (o deregisterFlags) check() error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice deregister", Err: errors.New(why), Next: next}
	}
	switch {
	case o.keeps < 0:
		return wrong(fmt.Sprintf("--keeps is %d, and must be a number of revisions, 0 or more", o.keeps),
			"give the number of revisions to keep, such as --keeps 10")
	case !o.isCounted && o.revision == "":
		return wrong("nothing is selected", "give --keeps N or --revision N")
	case o.isCounted && o.revision != "":
		return wrong("--keeps and --revision exclude each other", "give one of them")
	case o.revision == "current":
		return wrong("the current revision is in use", "give a number, or latest")
	}
	return nil
}

func (p *program) runDeregister(ctx context.Context, path string, o deregisterFlags) error {
	if _, number, isRevision := strings.Cut(path, ":"); isRevision && o.revision == "" && !p.Env.Disk.Exists(path) {
		return &sluice.Error{Op: "sluice deregister", Resource: path, Err: errors.New("it is a revision, and the argument is the " +
			"folder of an application"), Next: "name the folder, and the revision by its flag: sluice deregister DIR --revision " + number}
	}
	if err := o.check(); err != nil {
		return err
	}
	f, err := p.openFamily(ctx, path)
	if err != nil {
		return err
	}
	all, users, err := f.read(ctx)
	if err != nil {
		return err
	}
	old, err := o.choose(f, all, users)
	if err != nil {
		return err
	}
	if o.dry {
		for _, rev := range old {
			p.PrintResult("would deregister " + rev.Name)
		}
	}
	if len(old) == 0 || o.dry {
		p.PrintResult(fmt.Sprintf("%s of %s; %d used, %d unused", sluice.Plural(len(all), "active revision"), f.Name,
			countUsed(all, users), len(all)-countUsed(all, users)))
		return nil
	}
	act := p.Env.NewAct("deregister")
	for _, rev := range old {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := ecs.Deregister(ctx, f.API, act, rev.Name, rev); err != nil {
			return err
		}
	}
	if o.deletes {
		if err := f.Delete(ctx, act, old); err != nil {
			return err
		}
	}
	p.PrintResult("deregistered " + sluice.Plural(len(old), "revision") + " of " + f.Name)
	return nil
}

func countUsed(all []ecs.Revision, users map[string][]string) (n int) {
	for _, rev := range all {
		if len(users[rev.Name]) > 0 {
			n++
		}
	}
	return n
}

// choose returns the revisions to deregister, oldest first.
func (o deregisterFlags) choose(f *family, all []ecs.Revision, users map[string][]string) ([]ecs.Revision, error) {
	if o.revision != "" {
		return o.chooseOne(f, all, users)
	}
	unused := slices.DeleteFunc(slices.Clone(all), func(rev ecs.Revision) bool { return len(users[rev.Name]) > 0 })
	old := unused[min(o.keeps, len(unused)):]
	slices.Reverse(old)
	return old, nil
}

// chooseOne returns the revision that the flag names.
func (o deregisterFlags) chooseOne(f *family, all []ecs.Revision, users map[string][]string) ([]ecs.Revision, error) {
	name := f.Name + ":" + strings.TrimPrefix(o.revision, f.Name+":")
	i := slices.IndexFunc(all, func(rev ecs.Revision) bool { return o.revision == "latest" || rev.Name == name })
	if i < 0 {
		return nil, &sluice.Error{Op: "deregister", Resource: name, Kind: sluice.NotFound,
			Err: errors.New("there is no such ACTIVE revision"), Next: "run sluice revisions to list the revisions"}
	}
	if by := users[all[i].Name]; len(by) > 0 {
		return nil, &sluice.Error{Op: "deregister", Resource: all[i].Name, Kind: sluice.Conflict,
			Err: fmt.Errorf("it is used by %s", strings.Join(by, ", ")), Next: "deploy another revision first"}
	}
	return all[i : i+1], nil
}
