package report

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/printable"
)

// Outputs returns the outputs of a step of GitHub Actions, one `name=value` on each line. A value is one line, so that it
// cannot add an output.
func (r Report) Outputs() string {
	var b strings.Builder
	for _, o := range []struct{ name, value string }{{"outcome", r.Outcome}, {"deployment", r.Deployment},
		{"revision", r.Revision}, {"reason", firstLine(r.Cause)}, {"url", r.URL}} {
		fmt.Fprintf(&b, "%s=%s\n", o.name, printable.Line(o.value))
	}
	return b.String()
}
