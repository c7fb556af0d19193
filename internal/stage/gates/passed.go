package gates

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// PassedUndecided describes the gates of stages that had values and no verdict at the end of their stage, by their reaction
// or by an approval; empty: there is none.
func PassedUndecided(ctx context.Context, s *step.Step) (string, error) {
	var all []string
	for i, st := range s.Plan.Stages {
		if len(st.Gates) == 0 {
			continue
		}
		saved, err := s.Memory.Gates(i).Load(ctx)
		if err != nil {
			return "", err
		}
		for _, g := range st.Gates {
			state, ok := saved[g.Name]
			if !ok || g.DryRun {
				continue
			}
			if j := g.How.JudgeAtEnd(state.State); j.Verdict == analysis.Undecided && j.HasValues {
				all = append(all, fmt.Sprintf("gate %s passed with too little evidence: %s", g.Name, j.Text()))
			}
		}
	}
	return strings.Join(all, "; "), nil
}
