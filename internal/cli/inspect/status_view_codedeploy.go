package inspect

import (
	"bytes"
	"fmt"
	"text/tabwriter"
)

// writeCodeDeploy writes the CodeDeploy deployments with their lifecycle events.
func (v serviceView) writeCodeDeploy(b *bytes.Buffer, t *ServiceReport) {
	for _, d := range t.CodeDeploy {
		what := "CodeDeploy deployment"
		if d.RollbackOf != "" {
			what = "CodeDeploy rollback"
		}
		fmt.Fprintf(b, "%s %s of %s/%s: %s%s\n", what, d.ID, d.Application, d.Group, v.Bold(d.Status),
			codeDeployText(d))
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, e := range d.Lifecycle {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Name, e.Status, e.Message)
		}
		w.Flush()
		if d.Detail != "" {
			fmt.Fprintf(b, "  %s\n", d.Detail)
		}
	}
}

func codeDeployText(d codeDeployReport) string {
	text := ""
	if d.Revision != "" {
		text += ", deploys " + d.Revision
	}
	if d.RollbackOf != "" {
		text += ", rolls back " + d.RollbackOf
	}
	if d.Config != "" && d.RollbackOf == "" {
		text += ", with " + d.Config
	}
	if d.ErrorMessage != "" {
		text += ": " + d.ErrorMessage
	}
	return text
}
