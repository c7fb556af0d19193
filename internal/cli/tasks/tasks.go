package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// tasksFlags are the flags of sluice tasks.
type tasksFlags struct {
	id    string
	stop  bool
	force bool
}

func (p *program) newTasksCommand() *cobra.Command {
	var at session.ApplicationFlag
	var o tasksFlags
	c := &cobra.Command{
		Use:   "tasks [DIR | -c FILE]",
		Short: "List the running tasks of an application, or stop one",
		Long: `List the tasks of the service, or of the task definition's family if there is no
service. With --id and --stop, stop one: ECS sends SIGTERM, and a service then starts
another one. Enter the first characters of the task's ID to confirm, or give --force.`,
		Example: `  sluice tasks examples/canary
  sluice tasks --output json | jq -r .id
  sluice tasks --id 0123abcd --stop`,
		Args: session.AtMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, _, err := at.Path(c, args)
			if err != nil {
				return err
			}
			return p.runTasks(c.Context(), path, o)
		},
	}
	at.Register(c)
	c.Flags().StringVar(&o.id, "id", "", "only the task with this `ID`, or its first characters")
	c.Flags().BoolVar(&o.stop, "stop", false, "stop the task of --id")
	c.Flags().BoolVar(&o.force, "force", false, "stop without confirmation")
	return c
}

// taskEntry is a task in a list, in JSON.
type taskEntry struct {
	ID       string    `json:"id"`
	ARN      string    `json:"arn"`
	Revision string    `json:"revision"`
	Status   string    `json:"status"`
	Health   string    `json:"health"`
	Address  string    `json:"address,omitempty"`
	Zone     string    `json:"zone,omitempty"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"`
}

func (p *program) runTasks(ctx context.Context, path string, o tasksFlags) error {
	if o.stop && o.id == "" {
		return &sluice.Error{Op: "sluice tasks", Err: errors.New("--stop needs the task"), Next: "give --id ID"}
	}
	t, err := p.open(ctx, path)
	if err != nil {
		return err
	}
	all, err := t.list(ctx)
	if err != nil {
		return err
	}
	if o.id != "" {
		one, err := findTask(all, o.id)
		if err != nil {
			return err
		}
		all = []ecs.Task{one}
	}
	if o.stop {
		return p.stopTask(ctx, t, all[0], o.force)
	}
	return p.printTasks(all)
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
		return ecs.Task{}, &sluice.Error{Op: "find the task", Resource: id, Kind: sluice.NotFound,
			Err: errors.New("no running task of the application has this ID"), Next: "run sluice tasks to list the tasks"}
	}
	return ecs.Task{}, &sluice.Error{Op: "find the task", Resource: id,
		Err: fmt.Errorf("%d tasks have an ID that begins so", len(found)), Next: "give more characters of the ID"}
}

// stopTask stops a task after a confirmation.
func (p *program) stopTask(ctx context.Context, t *target, task ecs.Task, force bool) error {
	short := task.ID[:min(8, len(task.ID))]
	if !force {
		if err := p.Confirm("stop task "+task.ID+" of "+task.Revision, short); err != nil {
			return err
		}
	}
	if err := upkeep.StopTask(ctx, t.service, p.NewAct("tasks"), task.ID, "stopped by sluice tasks --stop"); err != nil {
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
		for _, t := range all {
			e := taskEntry{ID: t.ID, ARN: t.ARN, Revision: t.Revision, Status: t.Status, Health: t.Health, Address: t.Address,
				Zone: t.Zone, Created: t.CreatedAt, Started: t.StartedAt}
			if err := json.NewEncoder(p.Env.Out).Encode(e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		p.PrintResult("no running tasks")
		return nil
	}
	w := show.NewTable(p.Env.Out)
	fmt.Fprintln(w, "TASK\tREVISION\tSTATUS\tHEALTH\tADDRESS\tCREATED")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Revision, t.Status, t.Health, cmp.Or(t.Address, "-"),
			show.FormatTime(t.CreatedAt))
	}
	return w.Flush()
}
