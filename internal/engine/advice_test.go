package engine

import (
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// TestAdviceAfterEnd checks next steps that were written while the deployment ran.
func TestAdviceAfterEnd(t *testing.T) {
	status := "run sluice status to see what is running, then deploy again"
	for _, c := range []struct {
		outcome    sluice.Outcome
		next, want string
	}{
		{sluice.RolledBack, "fix it; " + diagnosis.DeployOrRollBack, "fix it; then deploy again"},
		{sluice.RolledBack, "stop other processes, then run sluice resume", status},
		{sluice.RolledBack, "create the resource again; then run: sluice rollback slc-1", status},
		{sluice.RolledBack, "correct the image", "correct the image"},
		{sluice.Failed, "stop other processes, then run sluice resume", ""},
		{sluice.Failed, "fix it; " + diagnosis.DeployOrRollBack,
			"fix it; then deploy again, or roll back: sluice rollback slc-1"},
		{sluice.Failed, "create it; then run: sluice rollback slc-1", "create it; then run: sluice rollback slc-1"},
		{sluice.Failed, "run sluice rollback --cluster a --service b", "run sluice rollback --cluster a --service b"},
		{sluice.Superseded, "run sluice rollback slc-2 with its journal", "run sluice rollback slc-2 with its journal"},
		{sluice.Failed, "", ""},
	} {
		if got := adviceAfterEnd(c.outcome, c.next, "sluice rollback slc-1"); got != c.want {
			t.Errorf("after the outcome %q, the next step %q became %q, want %q", c.outcome, c.next, got, c.want)
		}
	}
}
