package cli

import (
	"bytes"
	"fmt"
	"text/tabwriter"
)

// writeCodeDeploy writes the CodeDeploy deployments with their lifecycle events.
func (v treeView) code(b *bytes.Buffer, t *tree) {
	for _, d := range t.Code {
		what := "CodeDeploy deployment"
		if d.RollbackOf != "" {
			what = "CodeDeploy rollback"
		}
		fmt.Fprintf(b, "%s %s of %s/%s: %s%s\n", what, d.ID, d.Application, d.Group, v.bold(d.Status), codeWords(d))
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

func codeWords(d treeCode) string {
	text := ""
	if d.Revision != "" {
		text += ", brings " + d.Revision
	}
	if d.RollbackOf != "" {
		text += ", takes " + d.RollbackOf + " back"
	}
	if d.Config != "" && d.RollbackOf == "" {
		text += ", by " + d.Config
	}
	if d.Message != "" {
		text += ": " + d.Message
	}
	return text
}
