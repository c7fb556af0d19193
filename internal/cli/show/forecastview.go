package show

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// writeForecast writes how long a plan will take, and the assumptions of the forecast.
func (v planView) writeForecast(w io.Writer, p *plan.Plan, f forecast.Forecast) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s\n  about %s", v.Bold("Forecast"), plan.FormatDuration(f.Took))
	longest := 0
	for i, d := range f.Stages {
		if d > f.Stages[longest] {
			longest = i
		}
	}
	if len(f.Stages) > 1 {
		fmt.Fprintf(&b, ", of which %d %s takes %s", longest+1, p.Stages[longest].Name,
			plan.FormatDuration(f.Stages[longest]))
	}
	b.WriteByte('\n')
	for _, s := range f.Assumes {
		fmt.Fprintf(&b, "  - if %s\n", s)
	}
	_, err := w.Write(b.Bytes())
	return err
}
