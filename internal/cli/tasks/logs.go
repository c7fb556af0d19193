package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// logInterval is the time between two reads of logs that are followed. CloudWatch Logs ingests lines with a delay
// of seconds.
const logInterval = 2 * time.Second

// readsPerList is how many reads of the logs use one list of the tasks.
const readsPerList = 5

// logsFlags are the flags of sluice logs.
type logsFlags struct {
	id, container string
	lines         int
	follow        bool
}

func (p *program) newLogsCommand() *cobra.Command {
	var at session.ApplicationFlag
	var o logsFlags
	c := &cobra.Command{
		Use:   "logs [DIR | CLUSTER/SERVICE | -c FILE]",
		Short: "Print the log lines of the running tasks of an application",
		Long: `Print the last log lines of the running tasks of an application, in the order of their
times, from CloudWatch Logs. With --follow, it prints new lines as they arrive, also of
tasks that start later, until Ctrl-C. Containers with another log driver than awslogs
are named once.`,
		Example: `  sluice logs examples/canary
  sluice logs prod/web
  sluice logs --follow
  sluice logs --id 0123abcd --container web --lines 200
  sluice logs --output json | jq -r .line`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runLogs(c.Context(), path, o) }),
	}
	at.Register(c)
	c.Flags().StringVar(&o.id, "id", "", "only the task with this `ID`, or its first characters")
	c.Flags().StringVar(&o.container, "container", "", "only the container with this `name`")
	c.Flags().IntVar(&o.lines, "lines", 20, "`number` of last lines of each container, at most 10000")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "print new lines until Ctrl-C")
	return c
}

// logReader reads the logs of tasks.
type logReader struct {
	*program
	*target
	flags   logsFlags
	streams map[string][]*stream // by task
	noted   map[string]bool      // notes that were printed
}

// stream is the log of one container of a task.
type stream struct {
	ecs.Tail
	task, container string
	wasRead         bool
}

// printedLine is a log line in JSON.
type printedLine struct {
	At        time.Time `json:"at"`
	Task      string    `json:"task"`
	Container string    `json:"container"`
	Line      string    `json:"line"`
}

func (p *program) runLogs(ctx context.Context, path string, o logsFlags) error {
	if o.lines < 1 || o.lines > 10000 {
		return &sluice.Error{Op: "sluice logs", Err: fmt.Errorf("--lines is %d", o.lines), Next: "give a number from 1 to 10000"}
	}
	t, err := p.open(ctx, path)
	if err != nil {
		return err
	}
	r := &logReader{program: p, target: t, flags: o, streams: map[string][]*stream{}, noted: map[string]bool{}}
	for n := 0; ; n++ {
		if n%readsPerList == 0 {
			if err := r.openStreams(ctx); err != nil {
				return stopped(ctx, err)
			}
		}
		if err := r.printNew(ctx); err != nil {
			return stopped(ctx, err)
		}
		if !o.follow {
			return nil
		}
		if err := t.clock.Sleep(ctx, logInterval); err != nil {
			return stopped(ctx, err)
		}
	}
}

// stopped returns no error if Ctrl-C ended the command.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// openStreams finds the logs of tasks that are new, and forgets those of tasks that have stopped. The logs of a task
// that stops are read once more before.
func (r *logReader) openStreams(ctx context.Context) error {
	all, err := r.list(ctx)
	if err != nil {
		return err
	}
	if r.flags.id != "" {
		one, err := findTask(all, r.flags.id)
		if err != nil && len(r.streams) == 0 {
			return err
		}
		all = []ecs.Task{one}
	}
	if len(all) == 0 {
		r.note("no running tasks")
	}
	for _, t := range all {
		if _, known := r.streams[t.ID]; known || t.ID == "" {
			continue
		}
		if r.streams[t.ID], err = r.streamsOf(ctx, t); err != nil {
			return err
		}
	}
	for id := range r.streams {
		if !slices.ContainsFunc(all, func(t ecs.Task) bool { return t.ID == id }) {
			if err := r.print(ctx, r.streams[id]); err != nil {
				return err
			}
			delete(r.streams, id)
		}
	}
	return nil
}

// streamsOf returns the logs of the containers of a task.
func (r *logReader) streamsOf(ctx context.Context, t ecs.Task) ([]*stream, error) {
	td, err := ecs.ReadDefinition(ctx, r.account.ECS(), t.Revision)
	if err != nil {
		return nil, err
	}
	all, known := []*stream{}, false
	var names []string
	for _, o := range ecs.ContainerOutputs(td, t.ID) {
		names = append(names, o.Container)
		if r.flags.container != "" && o.Container != r.flags.container {
			continue
		}
		known = true
		if o.Err != nil {
			r.note(fmt.Sprintf("the log of container %s cannot be read: %v", o.Container, o.Err))
			continue
		}
		all = append(all, &stream{Tail: ecs.Tail{Place: o.Place}, task: t.ID, container: o.Container})
	}
	if !known {
		return nil, &sluice.Error{Op: "read the logs", Resource: t.Revision, Kind: sluice.NotFound,
			Err:  fmt.Errorf("it has no container %s, but %s", r.flags.container, definition.ListNames(names)),
			Next: "give one of them to --container"}
	}
	return all, nil
}

func (r *logReader) note(text string) {
	if !r.noted[text] {
		r.noted[text] = true
		fmt.Fprintln(r.Env.Err, "note: "+text)
	}
}

// printNew prints what all logs have since the last read.
func (r *logReader) printNew(ctx context.Context) error {
	var all []*stream
	for _, streams := range r.streams {
		all = append(all, streams...)
	}
	return r.print(ctx, all)
}

// print prints the new lines of logs, in the order of their times.
func (r *logReader) print(ctx context.Context, all []*stream) error {
	var lines []printedLine
	for _, s := range all {
		read, err := r.read(ctx, s)
		if sluice.KindOf(err) == sluice.Denied {
			r.note(fmt.Sprintf("the log of container %s cannot be read: %v", s.container, sluice.Inner(err)))
			continue
		}
		if err != nil {
			return err
		}
		for _, l := range read {
			lines = append(lines, printedLine{l.At, s.task, s.container, l.Text})
		}
	}
	slices.SortStableFunc(lines, func(a, b printedLine) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Container, b.Container))
	})
	var problems []error
	for _, l := range lines {
		if r.Flags.Output == session.JSON {
			problems = append(problems, show.WriteJSON(r.Env.Out, l))
			continue
		}
		_, err := fmt.Fprintf(r.Env.Out, "%s %s %s  %s\n", l.At.Format("15:04:05"), l.Task[:min(8, len(l.Task))], l.Container,
			l.Line)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// read returns the last lines at first, and then those that are new.
func (r *logReader) read(ctx context.Context, s *stream) ([]ecs.LogLine, error) {
	if s.wasRead {
		return s.Read(ctx, r.account.Logs())
	}
	lines, err := s.ReadLast(ctx, r.account.Logs(), r.flags.lines)
	s.wasRead = err == nil
	return lines, err
}
