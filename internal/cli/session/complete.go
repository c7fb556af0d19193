package session

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/journal"
)

// CompleteIDs returns the shell completion of deployment IDs, each with its service and state. The
// shell completes folders in addition. With several set, it completes every argument.
func CompleteIDs(s *Session, open, several bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		j, err := s.FindJournal()
		if len(args) > 0 && !several || err != nil || j == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		defer j.Close()
		at := s.Endpoint(c.Context())
		all, err := j.Deployments(c.Context(), journal.Filter{Open: open, At: &at, Limit: 20})
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var ids []string
		for _, d := range all {
			if slices.Contains(args, d.ID) {
				continue
			}
			state := string(d.State)
			if d.State == journal.Ended {
				state = string(d.Outcome)
			}
			ids = append(ids, d.ID+"\t"+d.Cluster+"/"+d.Service+" "+state)
		}
		return ids, cobra.ShellCompDirectiveDefault
	}
}
