package report

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// PlanMarkdown returns a plan as the body of a comment on a pull request. f may be nil.
func PlanMarkdown(pl *plan.Plan, f *forecast.Forecast, exit int) string {
	var b strings.Builder
	from := pl.From
	if from == "" {
		from = "no version"
	}
	fmt.Fprintf(&b, "### Plan of %s\n\n%s → %s, %s, %s", words(pl.Cluster+"/"+pl.Service), text(from), text(pl.To),
		pl.Region, planResult(pl))
	if f != nil {
		fmt.Fprintf(&b, ", about %s", plan.FormatDuration(f.Took))
	}
	fmt.Fprintf(&b, ", exit code %d\n", exit)
	writeChanges(&b, pl)
	if pl.HasChanges() {
		writePlanStages(&b, pl)
	}
	writeList(&b, "Warnings", pl.Warnings)
	return b.String() + "\n" // a heading after an element of HTML needs an empty line before it
}

// Unplanned returns the report of an application that cannot be planned.
func Unplanned(path string, err error, exit int) Report {
	return Report{Name: "Plan of " + path, Outcome: "error", Exit: exit, Cause: err.Error(), Next: sluice.NextStep(err)}
}

func planResult(pl *plan.Plan) string {
	if !pl.HasChanges() {
		return "no changes"
	}
	return sluice.Plural(len(pl.Changes), "change") + " in " + sluice.Plural(len(pl.Stages), "stage")
}

// writeChanges writes the changes, folded.
func writeChanges(b *strings.Builder, pl *plan.Plan) {
	if len(pl.Changes) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n| | of | field | from | to |\n|---|---|---|---|---|\n",
		sluice.Plural(len(pl.Changes), "change"))
	for _, c := range pl.Changes {
		sign, have, want := "~", text(c.Have), text(c.Want)
		switch c.Kind {
		case plan.Adds:
			sign, have = "+", ""
		case plan.Removes:
			sign, want = "-", ""
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", sign, words(c.Of), text(c.Path), have, want)
	}
	b.WriteString("\n</details>\n")
}

// writePlanStages writes the stages as a table, and their writes folded.
func writePlanStages(b *strings.Builder, pl *plan.Plan) {
	b.WriteString("\n| stage | does | weights |\n|---|---|---|\n")
	var writes strings.Builder
	all := append(append([]plan.Stage{}, pl.Stages...), pl.Rollback)
	if !pl.Mode().HasService() {
		all = pl.Stages // the effects of a task cannot be rolled back
	}
	for i, s := range all {
		title := fmt.Sprintf("%d %s", s.Index+1, s.Name)
		if i == len(pl.Stages) {
			title = "if a stage fails: " + s.Name
			if !pl.AutoRollback {
				title = "only on request: " + s.Name
			}
		}
		weights := make([]string, len(s.Routes))
		for n, r := range s.Routes {
			weights[n] = words(r.Name) + ": " + r.Weights.String()
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", words(title), words(mode.StageText(pl, s)),
			strings.Join(weights, "<br>"))
		writeWrites(&writes, title, s.Writes)
	}
	writeWrites(&writes, "at the end", pl.Finish)
	if writes.Len() > 0 {
		fmt.Fprintf(b, "\n<details><summary>Every write to AWS</summary>\n\n%s\n</details>\n", writes.String())
	}
}

func writeWrites(b *strings.Builder, title string, all []sluice.Write) {
	for _, w := range all {
		fmt.Fprintf(b, "- %s: %s %s\n", words(title), text(w.Operation), text(w.Resource))
	}
}
