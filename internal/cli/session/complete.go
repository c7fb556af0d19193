package session

import (
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/journal"
)

// CompleteIDs returns the shell completion of deployment IDs, each with its service and state. The
// shell completes folders in addition.
func (s *Session) CompleteIDs(open bool) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		j, err := s.FindJournal()
		if len(args) > 0 || err != nil || j == nil {
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
			ids = append(ids, d.ID+"\t"+d.Cluster+"/"+d.Service+" "+string(d.State))
		}
		return ids, cobra.ShellCompDirectiveDefault
	}
}
