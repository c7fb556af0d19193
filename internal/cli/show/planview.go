package show

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// planView writes a plan as text.
type planView struct{ Paint }

// Plan writes a plan and, if f is not nil, its forecast.
func Plan(w io.Writer, p Paint, pl *plan.Plan, f *forecast.Forecast) error {
	v := planView{p.WithNames(pl)}
	if err := v.writePlan(w, pl); err != nil || f == nil {
		return err
	}
	return v.writeForecast(w, pl, *f)
}

func (v planView) writePlan(w io.Writer, p *plan.Plan) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s in %s, account %s: %s\n", v.Bold(p.Cluster+"/"+p.Service), p.Region, p.Account,
		PlanRevisions(p))
	v.writeChanges(&b, p)
	if p.HasChanges() {
		v.writeCodeDeploy(&b, p)
		v.writeStages(&b, p)
	}
	v.writeBullets(&b, "Warnings", p.Warnings, v.Warn)
	v.writeBullets(&b, "Notes", p.Notes, func(s string) string { return s })
	_, err := w.Write(b.Bytes())
	return err
}

// Differences writes the changes of a plan, tags that moved, and its notes.
func Differences(w io.Writer, p Paint, pl *plan.Plan) error {
	v := planView{p.WithNames(pl)}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s in %s, account %s: %s\n", v.Bold(pl.Cluster+"/"+pl.Service), pl.Region, pl.Account,
		PlanRevisions(pl))
	v.writeChanges(&b, pl)
	v.writeBullets(&b, "Warnings", pl.MovedTags, v.Warn)
	v.writeBullets(&b, "Notes", pl.Notes, func(s string) string { return s })
	_, err := w.Write(b.Bytes())
	return err
}

// PlanRevisions returns "web:1 -> web:2", or a text for a revision that does not exist yet.
func PlanRevisions(p *plan.Plan) string {
	to := p.To
	if !strings.Contains(to, ":") {
		to += " (a new revision)"
	}
	switch p.From {
	case "":
		if !p.Mode().HasService() {
			return to
		}
		return to + ", no version is running"
	case p.To:
		return to
	}
	return p.From + " -> " + to
}

func (v planView) writeChanges(b *bytes.Buffer, p *plan.Plan) {
	if !p.HasChanges() {
		fmt.Fprintf(b, "\n%s %s/%s is as the files specify.\n", v.Bold("No changes."), p.Cluster, p.Service)
		fmt.Fprint(b, unchangedText(p))
		return
	}
	fmt.Fprintf(b, "\n%s (%s add, %s change, %s remove)\n", v.Bold("Changes"), v.Good("+"), v.Warn("~"), v.Bad("-"))
	of := ""
	for _, c := range p.Changes {
		if c.Of != of {
			of = c.Of
			fmt.Fprintf(b, "  %s\n", of)
		}
		v.writeChange(b, c)
	}
	if now := p.Current; now != nil && now.Does == plan.DoesRestart {
		fmt.Fprintf(b, "  sluice deploy would start a new deployment: %s\n", now.Detail)
	}
}

// maxAdded is how many added members of one object [Changes] lists.
const maxAdded = 5

// Changes writes each change of a plan in one line, as `sluice deploy` begins. Of an object with many
// added members it writes only their number.
func Changes(w io.Writer, p Paint, pl *plan.Plan) {
	added := map[string]int{}
	for _, c := range pl.Changes {
		if c.Kind == plan.Adds {
			added[c.Of]++
		}
	}
	for _, c := range pl.Changes {
		if n := added[c.Of]; c.Kind == plan.Adds && n > maxAdded {
			fmt.Fprintf(w, "  %s %s: %s (sluice plan lists them)\n", p.Good("+"), c.Of, sluice.Plural(n, "member"))
			added[c.Of] = -1
		}
		if c.Kind == plan.Adds && added[c.Of] < 0 {
			continue
		}
		text := printable.Line(c.Have) + " -> " + printable.Line(c.Want)
		sign := p.Warn("~")
		switch c.Kind {
		case plan.Adds:
			sign, text = p.Good("+"), printable.Line(c.Want)
		case plan.Removes:
			sign, text = p.Bad("-"), printable.Line(c.Have)
		}
		fmt.Fprintf(w, "  %s %s %s: %s\n", sign, c.Of, printable.Line(c.Path), text)
	}
}

// maxChangeLine is the width up to which a change is one line.
const maxChangeLine = 80

// writeChange writes a change: its sign, what changes, and the values before and after.
func (v planView) writeChange(b *bytes.Buffer, c plan.Change) {
	path, have, want := printable.Line(c.Path), printable.Line(c.Have), printable.Line(c.Want)
	switch {
	case c.Kind == plan.Adds:
		fmt.Fprintf(b, "    %s %s:%s%s\n", v.Good("+"), path, beforeValue(path, want), v.Good(want))
	case c.Kind == plan.Removes:
		fmt.Fprintf(b, "    %s %s:%s%s\n", v.Bad("-"), path, beforeValue(path, have), v.Bad(have))
	case len([]rune("    ~ "+path+": "+have+" -> "+want)) <= maxChangeLine:
		fmt.Fprintf(b, "    %s %s: %s -> %s\n", v.Warn("~"), path, v.Bad(have), v.Good(want))
	default:
		fmt.Fprintf(b, "    %s %s\n        have  %s\n        want  %s\n", v.Warn("~"), path, v.Bad(have), v.Good(want))
	}
}

// beforeValue separates a value from its path: it begins a new line if both do not fit into one.
func beforeValue(path, value string) string {
	if len([]rune("    + "+path+": "+value)) > maxChangeLine {
		return "\n        "
	}
	return " "
}

func (v planView) writeStages(b *bytes.Buffer, p *plan.Plan) {
	fmt.Fprintf(b, "\n%s\n", v.Bold(mode.StagesTitle(p)))
	for _, s := range p.Stages {
		v.writeStage(b, fmt.Sprintf("%2d ", s.Index+1), p, s)
	}
	v.writeWithHead(b, "   at the end", p.Finish)
	if !p.Mode().HasService() || p.Rollback.Name == "" {
		return // the effects of a task cannot be rolled back, and a rollback has none of its own
	}
	head := "\nIf a stage fails"
	if !p.AutoRollback {
		head = "\nOnly on request (sluice rollback)"
	}
	fmt.Fprintln(b, v.Bold(head))
	v.writeStage(b, "   ", p, p.Rollback)
}

func (v planView) writeStage(b *bytes.Buffer, number string, p *plan.Plan, s plan.Stage) {
	line := number + s.Name
	if what := mode.StageText(p, s); what != "" {
		line += ": " + what
	}
	if s.Desc != "" {
		line += v.Dim("  (" + printable.Line(s.Desc) + ")")
	}
	fmt.Fprintln(b, line)
	for _, r := range s.Routes {
		fmt.Fprintf(b, "     %s %s\n", PadRight(r.Name, 24), r.Weights)
	}
	if s.Share != nil {
		fmt.Fprintf(b, "     %s\n", s.Share)
	}
	v.writeList(b, s.Writes)
}

func (v planView) writeWithHead(b *bytes.Buffer, head string, writes []sluice.Write) {
	if len(writes) > 0 {
		fmt.Fprintln(b, head)
		v.writeList(b, writes)
	}
}

func (v planView) writeList(b *bytes.Buffer, writes []sluice.Write) {
	width := 0
	for _, w := range writes {
		width = max(width, len(w.Operation))
	}
	for _, w := range writes {
		fmt.Fprintf(b, "     %s  %s\n", v.Dim(PadRight(w.Operation, width)), v.ARNs(printable.Line(w.Resource)))
	}
}

func (v planView) writeBullets(b *bytes.Buffer, title string, items []string, color func(string) string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", v.Bold(title))
	for _, s := range items {
		fmt.Fprintf(b, "  - %s\n", color(v.ARNs(strings.ReplaceAll(s, "\n", "\n    "))))
	}
}
