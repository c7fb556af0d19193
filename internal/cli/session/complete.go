package session

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// CompleteIDs returns the shell completion of deployment IDs, each with its service and state. The
// shell completes folders in addition. With several set, it completes every argument.
func (s *Session) CompleteIDs(open, several bool) cobra.CompletionFunc {
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

// CompleteStages returns the shell completion of the numbers of stages, each with its name, of the
// deployment that the arguments name.
func (s *Session) CompleteStages(verb string, applies func(plan.Stage) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		none := cobra.ShellCompDirectiveNoFileComp
		j, err := s.FindJournal()
		if err != nil || j == nil {
			return nil, none
		}
		defer j.Close()
		path := append(args, ".")[0]
		d, err := s.FindDeployment(c.Context(), j, verb, path, len(args) > 0)
		if err != nil {
			return nil, none
		}
		pl, err := ReadPlan(d)
		if err != nil {
			return nil, none
		}
		var all []string
		for _, x := range pl.Stages {
			if applies(x) {
				all = append(all, fmt.Sprintf("%d\t%s %s", x.Index+1, x.Name, x.Desc))
			}
		}
		return all, none
	}
}
