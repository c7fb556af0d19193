package local

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
)

var rehearsalHead = []string{"scenario", "ends", "requests", "failed", "worst share", "to safety", "took"}

// rehearsalCells returns a row of the table.
func rehearsalCells(r catalogue.Row) []string {
	return []string{r.Scenario, rehearsalEnd(r), fmt.Sprintf("%.0f", r.Requests), fmt.Sprintf("%.0f", r.Failed),
		fmt.Sprintf("%.0f%%", 100*r.WorstShare),
		shortDuration(r.TimeToSafety), shortDuration(r.Took)}
}

func rehearsalEnd(r catalogue.Row) string {
	if r.Safe {
		return string(r.Outcome)
	}
	if r.Outcome == "" {
		return "UNSAFE"
	}
	return "UNSAFE: " + string(r.Outcome)
}

func shortDuration(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return plan.FormatDuration(d.Round(time.Second))
}

func (r rehearsalReport) textReport(p show.Paint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", p.Bold(r.Service), r.Shape)
	lines := [][]string{rehearsalHead}
	for _, row := range r.Rows {
		lines = append(lines, rehearsalCells(row))
	}
	wide := make([]int, len(rehearsalHead))
	for _, l := range lines {
		for i, cell := range l {
			wide[i] = max(wide[i], len(cell))
		}
	}
	for n, l := range lines {
		line := fmt.Sprintf("%-*s  %-*s", wide[0], l[0], wide[1], l[1])
		for i := 2; i < len(l); i++ {
			line += fmt.Sprintf("  %*s", wide[i], l[i])
		}
		if n > 0 && !r.Rows[n-1].Safe {
			line = p.Bad(line)
		}
		fmt.Fprintln(&b, line)
	}
	r.writeNotes(&b, func(name, s string) { fmt.Fprintf(&b, "  %s: %s\n", name, s) })
	fmt.Fprintf(&b, "\n%s\n", r.summaryLine())
	return b.String()
}

// writeNotes writes the broken promises and the suggestions.
func (r rehearsalReport) writeNotes(b *strings.Builder, line func(name, s string)) {
	told := false
	for _, row := range r.Rows {
		for _, v := range row.Flaws {
			if !told {
				told = true
				fmt.Fprintf(b, "\nguarantees not met:\n")
			}
			line(row.Scenario, v)
		}
	}
	better := false
	say := func(name, s string) {
		if !better {
			better = true
			fmt.Fprintf(b, "\nsuggestions:\n")
		}
		line(name, s)
	}
	for _, s := range r.Advice {
		say("always", s)
	}
	for _, row := range r.Rows {
		for _, s := range row.Suggestions {
			say(row.Scenario, s)
		}
	}
}

func (r rehearsalReport) summaryLine() string {
	virtual := time.Duration(0)
	for _, row := range r.Rows {
		virtual += row.Took
	}
	s := fmt.Sprintf("%s, %s of deployments in %s: ", sluice.Plural(len(r.Rows), "scenario"),
		plan.FormatDuration(virtual.Round(time.Second)), r.Took.Round(100*time.Millisecond))
	if len(r.NotPlayed) > 0 {
		return s + fmt.Sprintf("a good version is not deployed safely, so the %s would show nothing and were not played. "+
			"Correct what the scenario %s says first", sluice.Plural(len(r.NotPlayed), "other scenario"), r.Rows[0].Scenario)
	}
	if n := r.countUnsafe(); n > 0 {
		return s + sluice.Plural(n, "scenario") + " not safe"
	}
	return s + "all deployments ended safely; no avoidable request was lost"
}

func (r rehearsalReport) markdownReport() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Rehearsal of %s\n\n%s\n\n| %s |\n|%s\n", r.Service, r.Shape,
		strings.Join(rehearsalHead, " | "), strings.Repeat("---|", len(rehearsalHead)))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(rehearsalCells(row), " | "))
	}
	r.writeNotes(&b, func(name, s string) { fmt.Fprintf(&b, "\n- %s: %s", name, s) })
	fmt.Fprintf(&b, "\n\n%s\n", r.summaryLine())
	return b.String()
}
