package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// readTaskRuns reads the tasks of a family that run without a service. ECS also returns tasks that
// stopped within the last hour.
func (t *ServiceReport) readTaskRuns(ctx context.Context, a *account.Account) error {
	hand := ecs.Tasks{API: a.ECS(), Cluster: t.Cluster, Family: strings.TrimPrefix(t.Service, plan.GroupPrefix)}
	var err error
	t.Tasks, err = hand.ReadFamily(ctx)
	slices.SortFunc(t.Tasks, func(a, b ecs.TaskRun) int { return strings.Compare(a.ID, b.ID) })
	return err
}

func (v serviceView) writeTaskRuns(b *bytes.Buffer, t *ServiceReport) {
	running := 0
	for _, r := range t.Tasks {
		if r.Ended == nil {
			running++
		}
	}
	fmt.Fprintf(b, "tasks of %s in %s: %d running, %d stopped within the hour\n", v.Bold(t.Cluster+"/"+t.Service),
		t.Region, running, len(t.Tasks)-running)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, r := range t.Tasks {
		end := "-"
		if r.Ended != nil {
			var all []string
			for _, c := range r.Ended.Containers {
				all = append(all, c.String())
			}
			end = strings.Join(all, ", ")
		}
		fmt.Fprintf(w, "  task %s\t%s\tby %s\t%s\n", r.ID, r.Status, cmp.Or(r.StartedBy, "-"), end)
	}
	w.Flush()
}
