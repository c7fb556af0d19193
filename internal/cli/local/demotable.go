package local

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
)

// printDemo prints the measurements as a table or as JSON.
func (d *demo) printDemo(r *demoResult) error {
	if d.Flags.Output == session.JSON {
		return show.WriteJSON(d.Env.Out, r)
	}
	var b strings.Builder
	width := 0
	if d.Env.Size != nil {
		width, _ = d.Env.Size(d.Env.Out)
	}
	writeTable(&b, demoTable(r), width)
	fmt.Fprintf(&b, "\nrequested, actual: weight of the canary as sluice wrote it and as AWS reported it\n"+
		"measured: share of the requests that the canary got, with its 95 %% confidence\n"+
		"interval; counted from %s after AWS reported the weight\n\n", show.FormatDuration(propagationTime))
	fmt.Fprintln(&b, d.endingText(r))
	for _, row := range r.Steps {
		for _, f := range row.failures {
			fmt.Fprintf(&b, "failed in %q: %d %s\n", row.Step, f.Count, f.Cause)
		}
	}
	fmt.Fprintf(&b, "\n%d requests, %d failed", r.Requests, r.Failed)
	if d.brokenBy != "" {
		fmt.Fprintf(&b, ", %d answered by the broken v2", r.New)
	}
	fmt.Fprintln(&b)
	_, err := io.WriteString(d.Env.Out, b.String())
	return err
}

// endingText describes how the deployment ended.
func (d *demo) endingText(r *demoResult) string {
	switch r.Outcome {
	case "":
		return "interrupted: the deployment had not ended"
	case sluice.Succeeded:
		return fmt.Sprintf("v1 to v2 in %s of AWS's time; %.0fs of real time, at speed %g",
			show.FormatDuration(r.took.Round(time.Second)), r.Seconds, r.Speed)
	}
	return string(r.Outcome) + ": " + r.Cause
}

func demoTable(r *demoResult) [][]string {
	rows := [][]string{{"step", "requested", "actual", "measured", "by v2", "requests", "failed", "p50", "p99"}}
	for _, s := range r.Steps {
		rows = append(rows, []string{s.Step, fmt.Sprintf("%d%%", s.Requested), fmt.Sprintf("%d%%", s.ReadBack),
			measuredText(s),
			percentText(float64(s.New), float64(s.Requests)), fmt.Sprint(s.Requests), fmt.Sprint(s.Failed),
			millisText(time.Duration(s.P50)), millisText(time.Duration(s.P99))})
	}
	return rows
}

// measuredText returns the share of the canary with the wider side of its interval.
func measuredText(s *demoRow) string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%% ±%.1f", 100*s.Share, 100*max(s.Share-s.Low, s.High-s.Share))
}

func percentText(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}

func millisText(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}

// writeTable writes rows in columns: the first is left-aligned, the others right-aligned. Columns are
// closer together on a terminal that would break the rows; a width of 0 is unknown.
func writeTable(w io.Writer, rows [][]string, terminal int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	total, gap := 2*(len(widths)-1), "  "
	for _, n := range widths {
		total += n
	}
	if terminal > 0 && total > terminal {
		gap = " "
	}
	for _, row := range rows {
		line := show.PadRight(row[0], widths[0])
		for i, cell := range row[1:] {
			line += gap + strings.Repeat(" ", widths[i+1]-len([]rune(cell))) + cell
		}
		fmt.Fprintln(w, line)
	}
}
