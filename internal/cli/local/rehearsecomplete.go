package local

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
)

// completeScenarios is the shell completion of a list of scenarios. It completes the last name of the
// list with each scenario that is not in the list yet.
func completeScenarios(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	list, last := "", text
	if i := strings.LastIndexByte(text, ','); i >= 0 {
		list, last = text[:i+1], text[i+1:]
	}
	chosen := strings.Split(list, ",")
	var all []string
	for _, s := range catalogue.Scenarios() {
		if strings.HasPrefix(s.Name, last) && !slices.Contains(chosen, s.Name) {
			all = append(all, list+s.Name+"\t"+s.Summary)
		}
	}
	if list == "" && strings.HasPrefix("all", last) {
		all = append(all, "all\tall scenarios that apply")
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
