package deploy

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// printSummary prints the results, and the commands that continue.
func (r *severalRun) printSummary(ctx context.Context) {
	if r.program.Flags.Output == session.Text {
		r.printTable()
	}
	for _, next := range r.nextSteps(ctx) {
		fmt.Fprintln(r.program.Env.Err, "next: "+next)
	}
}

// printTable prints a table of all jobs, and the causes of those that did not succeed.
func (r *severalRun) printTable() {
	if r.program.Env.IsTerminal(r.program.Env.Out) {
		fmt.Fprintln(r.program.Env.Out) // below the board
	}
	w := show.NewTable(r.program.Env.Out)
	fmt.Fprintln(w, "APPLICATION\tSERVICE\tRESULT\tTOOK\tRUNS")
	for _, x := range r.jobs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.name, x.service, x.resultText(), x.tookText(), x.revision())
	}
	_ = w.Flush()
	for _, x := range r.jobs {
		if text := x.causeText(); text != "" {
			fmt.Fprintln(r.program.Env.Out, x.name+": "+text)
		}
	}
}

// tookText returns how long the deployment of a job took, or "-" if it has not ended.
func (x *job) tookText() string {
	if d := x.end.deployment; d.State == journal.Ended {
		return show.FormatDuration(d.Took())
	}
	return "-"
}

// revision returns the revision that the job left as primary, or "-" if it is unknown.
func (x *job) revision() string { return cmp.Or(x.end.revision(), "-") }

// causeText returns why a job did not succeed, with the ID of its deployment. It is empty after a
// success.
func (x *job) causeText() string {
	d := x.end.deployment
	switch {
	case x.exit == sluice.ExitDone && x.err == nil || !x.started:
		return ""
	case x.err != nil:
		return firstLine(x.err.Error())
	case d.State == journal.Ended && d.Cause != "":
		return d.Cause + " (" + d.ID + ")"
	}
	return x.end.result
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// nextSteps returns the commands that continue what was not finished.
func (r *severalRun) nextSteps(ctx context.Context) (all []string) {
	var paused, skipped []string
	for _, x := range r.jobs {
		d := x.end.deployment
		switch {
		case !x.started:
			skipped = append(skipped, x.path)
		case d.ID != "" && d.State != journal.Ended && d.State != journal.Waiting:
			paused = append(paused, x.path)
		case x.end.Next != "":
			all = append(all, x.name+": "+x.end.Next)
		}
	}
	if len(paused) > 0 {
		all = append(all, fmt.Sprintf("run sluice resume %s to continue %s", strings.Join(paused, " "),
			sluice.Plural(len(paused), "paused deployment")))
	}
	if len(skipped) > 0 {
		first := "fix the failure, then "
		if ctx.Err() != nil {
			first = ""
		}
		all = append(all, fmt.Sprintf("%srun sluice %s %s to %s what was not started", first, r.command,
			strings.Join(skipped, " "), r.command))
	}
	return all
}
