package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// escapes are the characters that Markdown, HTML or a table of GitHub and GitLab obey. An entity is shown, and never
// obeyed. An underscore within a word is none of them.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*", "&#42;",
	"[", "&#91;", "]", "&#93;", `\`, "&#92;", "~", "&#126;", "#", "&#35;", "$", "&#36;")

// words returns words of sluice, with names of files in them, as one line of Markdown.
func words(s string) string { return escapes.Replace(printable.Line(s)) }

// text returns a text of AWS, a container or a file as one line of Markdown. It is an element of code, so that an @ in it
// notifies no one.
func text(s string) string { return "<code>" + strings.ReplaceAll(words(s), "_", "&#95;") + "</code>" }

// lines returns the lines of a text as they are, for a problem of a file with the line that it is in; empty: there are none.
func lines(s string) string {
	if s == "" {
		return ""
	}
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = words(all[i])
	}
	return "<pre>" + strings.Join(all, "\n") + "</pre>\n"
}

// firstLine returns the first line of a text that is shown where only one has room.
func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

// Markdown returns a summary of how a command ended.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n%s\n", words(r.Name), words(r.Outcome), r.facts())
	if r.Cause != "" {
		first, rest, _ := strings.Cut(r.Cause, "\n")
		fmt.Fprintf(&b, "\n**Cause:** %s\n%s", text(first), lines(rest))
	}
	b.WriteString(lines(strings.Join(r.Log, "\n")))
	if r.Next != "" {
		fmt.Fprintf(&b, "\n**Next:** %s\n", text(r.Next))
	}
	r.writeStages(&b)
	writeList(&b, "Warnings", r.Warnings)
	return b.String()
}

// facts returns the revisions, the Region, the time and the ID in one line.
func (r Report) facts() string {
	var all []string
	add := func(s string) {
		if s != "" {
			all = append(all, s)
		}
	}
	switch {
	case r.From != "" && r.Revision != "" && r.From != r.Revision:
		add(text(r.From) + " → " + text(r.Revision))
	case r.Revision != "":
		add(text(r.Revision) + " serves")
	}
	add(r.Region)
	add(took(r.Took))
	if r.Deployment != "" {
		add("deployment " + text(r.Deployment))
	}
	if r.URL != "" {
		add("[AWS console](" + r.URL + ")")
	}
	add(fmt.Sprintf("exit code %d", r.Exit))
	return strings.Join(all, ", ")
}

func (r Report) writeStages(b *strings.Builder) {
	if len(r.Stages) == 0 {
		return
	}
	b.WriteString("\n| stage | result | took | weights | requests | gates |\n|---|---|---|---|---|---|\n")
	for _, s := range r.Stages {
		weights, gates := "", make([]string, len(s.Gates))
		if s.Weights != nil {
			weights = s.Weights.String()
		}
		for i, g := range s.Gates {
			gates[i] = text(g.Text())
		}
		title := "**" + words(s.title()) + "**"
		if s.Does != "" {
			title += " " + words(s.Does)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", title, s.status(), took(s.Took), weights, s.Requests(),
			strings.Join(gates, "<br>"))
	}
}

func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s**\n\n", title)
	for _, s := range items {
		fmt.Fprintf(b, "- %s\n", text(s))
	}
}

func took(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return plan.FormatDuration(d.Round(time.Second))
}

// cutNote ends a summary that is cut.
const cutNote = "\n\nThis summary is cut: the log of the job has all of it.\n"

// Summary returns the summaries of several reports with at most so many bytes. It cuts at the end of a line.
func Summary(all []Report, most int) string {
	parts := make([]string, len(all))
	for i, r := range all {
		parts[i] = r.Markdown()
	}
	return cut(strings.Join(parts, "\n"), most)
}

// cut returns at most so many bytes of a text: whole lines, and a note that lines are missing.
func cut(s string, most int) string {
	switch {
	case len(s) <= most:
		return s
	case most < len(cutNote):
		return ""
	}
	s = s[:most-len(cutNote)]
	return s[:strings.LastIndexByte(s, '\n')+1] + cutNote
}
