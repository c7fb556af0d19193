package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// nameReport is a Cloud Map name of the service, and which tasks are registered under it.
type nameReport struct {
	Name     string          `json:"name"` // that callers look up
	Registry string          `json:"registry"`
	Percent  float64         `json:"canaryPercent"` // of the registered and healthy tasks
	Variants []variantReport `json:"found"`
	Others   []string        `json:"otherInstances,omitempty"` // neither ECS's nor sluice's
	Orphaned []string        `json:"deadInstances,omitempty"`  // of the canary, whose tasks have stopped
	Problem  string          `json:"problem,omitempty"`        // why callers of the name get errors
	Next     string          `json:"next,omitempty"`           // shows what they resolve
}

// variantReport is how many tasks of a variant are registered.
type variantReport struct {
	Variant    sluice.Variant `json:"variant"`
	Registered int            `json:"found"`
	Healthy    int            `json:"healthy"`
	Tasks      int            `json:"tasks"` // running
}

// addNames adds which tasks are registered under the service's Cloud Map names. A role that may not
// read them is no error, because not every role has these permissions.
func (r serviceReader) addNames(ctx context.Context) error {
	for _, arn := range r.report.RegistryARNs() {
		err := r.addName(ctx, arn)
		switch {
		case err == nil:
		case sluice.KindOf(err) == sluice.Denied, sluice.KindOf(err) == sluice.NotFound:
			r.report.addProblem("cannot read which tasks are registered in Cloud Map: " + err.Error())
		default:
			return err
		}
	}
	return nil
}

func (r serviceReader) addName(ctx context.Context, arn string) error {
	api, t := r.account.CloudMap(), r.report
	registry, err := cloudmap.FindRegistry(ctx, api, arn, 0)
	if err != nil {
		return err
	}
	all, err := cloudmap.InstanceClient{API: api, Registry: registry}.ListInstances(ctx)
	if err != nil {
		return err
	}
	n := countRegistered(registry, all, t.runningTasks())
	if t.Desired == 0 {
		n.Problem, n.Next = "", ""
	}
	t.Names = append(t.Names, n)
	return nil
}

// runningTasks returns the variant of each running task, by the task's ID.
func (t *ServiceReport) runningTasks() map[string]sluice.Variant {
	all := map[string]sluice.Variant{}
	add := func(tasks []taskReport, v sluice.Variant) {
		for _, task := range tasks {
			if task.Status == "RUNNING" {
				all[task.ID] = v
			}
		}
	}
	for _, s := range t.TaskSets {
		v := sluice.Primary
		if s.Role == string(sluice.Canary) {
			v = sluice.Canary
		}
		add(s.Tasks, v)
	}
	for _, d := range t.Rollouts {
		add(d.Tasks, sluice.Primary)
	}
	if t.CanaryService != nil {
		add(t.CanaryService.Tasks, sluice.Canary)
	}
	return all
}

// countRegistered counts the registered tasks of each variant. The ID of an instance that ECS
// registered is the task's ID. The ID of an instance that sluice registered ends with it.
func countRegistered(r plan.Registry, all []cloudmap.Instance, running map[string]sluice.Variant) nameReport {
	n := nameReport{Name: r.FullName(), Registry: r.ARN}
	count := map[sluice.Variant]*variantReport{}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		count[v] = &variantReport{Variant: v}
	}
	for _, v := range running {
		count[v].Tasks++
	}
	for _, i := range all {
		v, runs := running[i.ID[strings.LastIndexByte(i.ID, '-')+1:]]
		switch {
		case runs:
			count[v].Registered++
			if i.Healthy {
				count[v].Healthy++
			}
		case cloudmap.IsUnknown(i.ID):
			n.Others = append(n.Others, i.ID)
		case strings.HasPrefix(i.ID, cloudmap.OwnPrefix):
			n.Orphaned = append(n.Orphaned, i.ID)
		}
	}
	resolved := cloudmap.NameOf(r, all, func(id string) bool {
		_, runs := running[id]
		return runs || len(running) == 0 // the tasks were not read, or are starting
	})
	n.Problem, n.Next = resolved.Problem(), resolved.Next()
	slices.Sort(n.Others)
	slices.Sort(n.Orphaned)
	n.Variants = []variantReport{*count[sluice.Primary], *count[sluice.Canary]}
	n.Percent = plan.Split{Primary: n.Variants[0].Healthy, Canary: n.Variants[1].Healthy}.Percent()
	return n
}

func (v serviceView) writeNames(b *bytes.Buffer, t *ServiceReport) {
	for _, n := range t.Names {
		asked := ""
		if t.Deployment != nil && t.Deployment.Requested != nil {
			asked = fmt.Sprintf(", requested %d%%", t.Deployment.Requested.Canary())
		}
		fmt.Fprintf(b, "name %s: %.3g%% of the healthy registered tasks are canary tasks%s\n", v.Bold(n.Name),
			n.Percent, asked)
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, f := range n.Variants {
			fmt.Fprintf(w, "  %s\t%d of %s registered\t%d healthy\n", f.Variant, f.Registered,
				sluice.Plural(f.Tasks, "task"), f.Healthy)
		}
		w.Flush()
		if n.Problem != "" {
			fmt.Fprintln(b, v.Warn("warning: "+unreached+": "+n.Problem))
		}
		for _, id := range n.Others {
			fmt.Fprintf(b, "  instance %s was not registered by ECS or sluice\n", id)
		}
		for _, id := range n.Orphaned {
			fmt.Fprintf(b, "  %s\n", v.Warn("instance "+id+
				" belongs to a stopped task; the next stage deregisters it"))
		}
	}
}
