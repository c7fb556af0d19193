package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// tasksFlags are the flags of sluice tasks.
type tasksFlags struct {
	id    string
	find  bool
	stop  bool
	force bool
}

func (p *program) newTasksCommand() *cobra.Command {
	var at session.ApplicationFlag
	var o tasksFlags
	c := &cobra.Command{
		Use:   "tasks [DIR | CLUSTER/SERVICE | -c FILE]",
		Short: "List the running tasks of an application, or stop one",
		Long: `List the tasks of the service, or of the task definition's family if there is no
service. With --id and --stop, stop one: ECS sends SIGTERM, and a service then starts
another one. Enter the first characters of the task's ID to confirm, or give --force.
With --find, it lists the tasks and asks for the ID; then it prints that task as JSON,
or stops it.`,
		Example: `  sluice tasks examples/canary
  sluice tasks prod/web
  sluice tasks --output json | jq -r .id
  sluice tasks --id 0123abcd --stop
  sluice tasks --find --stop`,
		Args: session.AtMost(1, "name the task with --id: sluice tasks DIR --id ID"),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runTasks(c.Context(), path, o) }),
	}
	at.Register(c)
	c.Flags().StringVar(&o.id, "id", "", "only the task with this `ID`, or its first characters")
	c.Flags().BoolVar(&o.find, "find", false, "ask for the ID of a task of the list")
	c.Flags().BoolVar(&o.stop, "stop", false, "stop the task of --id or --find")
	c.Flags().BoolVar(&o.force, "force", false, "stop without confirmation")
	return c
}

func (p *program) runTasks(ctx context.Context, path string, o tasksFlags) error {
	if o.stop && o.id == "" && !o.find {
		next := "give --id ID"
		if _, isService := p.Env.Disk.ServiceAt(path); !isService && !p.Env.Disk.Exists(path) {
			next = "name the task with --id: sluice tasks --id " + session.ShellLine([]string{path}) + " --stop"
		}
		return &sluice.Error{Op: "sluice tasks", Err: errors.New("--stop needs the task"), Next: next}
	}
	t, err := p.open(ctx, path)
	if err != nil {
		return adviseSubcommand(path, err)
	}
	all, err := t.list(ctx)
	if err != nil {
		return err
	}
	if o.find && o.id == "" && len(all) > 0 {
		if o.id, err = p.askForTask(ctx, all); err != nil {
			return err
		}
	}
	if o.id != "" {
		one, err := findTask(all, o.id)
		if err != nil {
			return err
		}
		all = []ecs.Task{one}
	}
	if o.stop && len(all) > 0 {
		return p.stopTask(ctx, t, all[0], o.force)
	}
	if o.find {
		return p.printTasksJSON(all)
	}
	return p.printTasks(all)
}

// askForTask lists the tasks and asks for the ID of one.
func (p *program) askForTask(ctx context.Context, all []ecs.Task) (string, error) {
	if err := printTaskTable(p.Env.Err, all); err != nil {
		return "", err
	}
	id, err := p.Env.Ask(ctx, "find a task", "Enter the first characters of a task's ID")
	if err == nil && id == "" {
		err = &sluice.Error{Op: "find a task", Err: errors.New("no ID was entered"), Next: "give --id ID"}
	}
	return id, err
}

// adviseSubcommand adds the flag that does the same to the error of a word that ecspresso 2.8 has as a subcommand.
func adviseSubcommand(word string, err error) error {
	next := map[string]string{"list": "run sluice tasks", "find": "run sluice tasks --find",
		"stop": "run sluice tasks --id ID --stop", "logs": "run sluice logs",
		"trace": "run sluice status, which says why tasks fail, and sluice logs"}[word]
	if next == "" || !session.IsNoApplication(err) {
		return err
	}
	return &sluice.Error{Op: "sluice tasks", Err: fmt.Errorf("there is no subcommand %s, and no folder", word), Next: next}
}

// findTask returns the task with an ID, an ARN or the first characters of an ID.
func findTask(all []ecs.Task, id string) (ecs.Task, error) {
	var found []ecs.Task
	for _, t := range all {
		if strings.HasPrefix(t.ID, sluice.ARNName(id)) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var short []string
		for _, t := range all {
			short = append(short, shortID(t))
		}
		why := "no running task of the application has this ID"
		if len(short) > 0 {
			why += "; they begin with " + definition.ListNames(short)
		}
		return ecs.Task{}, &sluice.Error{Op: "find the task", Resource: id, Kind: sluice.NotFound, Err: errors.New(why),
			Next: "run sluice tasks to list the tasks"}
	}
	return ecs.Task{}, &sluice.Error{Op: "find the task", Resource: id,
		Err: fmt.Errorf("%d tasks have an ID that begins so", len(found)), Next: "give more characters of the ID"}
}

// shortID returns the first characters of a task's ID, for people.
func shortID(t ecs.Task) string { return t.ID[:min(8, len(t.ID))] }

// stopTask stops a task after a confirmation.
func (p *program) stopTask(ctx context.Context, t *target, task ecs.Task, force bool) error {
	short := shortID(task)
	if !force {
		if err := p.Env.Confirm(ctx, "stop task "+task.ID+" of "+task.Revision, short); err != nil {
			return err
		}
	}
	err := upkeep.StopTask(ctx, t.service, p.Env.NewAct("tasks"), task.ID, "stopped by sluice tasks --stop")
	if err != nil {
		return err
	}
	p.PrintResult("ECS stops task " + task.ID)
	return nil
}

func (p *program) printTasks(all []ecs.Task) error {
	slices.SortFunc(all, func(a, b ecs.Task) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	if p.Flags.Output == session.JSON {
		return p.printTasksJSON(all)
	}
	if len(all) == 0 {
		p.PrintResult("no running tasks")
		return nil
	}
	return printTaskTable(p.Env.Out, all)
}

// printTasksJSON prints a line for each task.
func (p *program) printTasksJSON(all []ecs.Task) error {
	for _, t := range all {
		if err := show.WriteJSON(p.Env.Out, t); err != nil {
			return err
		}
	}
	return nil
}

// healthText is the result of the health checks of a task's containers, in the words of sluice status. A task without such
// checks has none, although ECS returns UNKNOWN for it.
func healthText(health string) string {
	if health == "UNKNOWN" {
		return "-"
	}
	return cmp.Or(strings.ToLower(health), "-")
}

func printTaskTable(to io.Writer, all []ecs.Task) error {
	w := show.NewTable(to)
	fmt.Fprintln(w, "TASK\tREVISION\tSTATUS\tHEALTH\tADDRESS\tCREATED")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Revision, t.Status, healthText(t.Health), cmp.Or(t.Address, "-"),
			show.FormatTime(t.CreatedAt))
	}
	return w.Flush()
}
