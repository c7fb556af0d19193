package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// nameReport is a Cloud Map name of the service, and which tasks are registered under it.
type treeName struct {
	Name     string      `json:"name"` // that callers look up
	Registry string      `json:"registry"`
	Percent  float64     `json:"canaryPercent"` // of the registered and healthy tasks
	Found    []treeFound `json:"found"`
	Others   []string    `json:"otherInstances,omitempty"` // neither ECS's nor sluice's
	Dead     []string    `json:"deadInstances,omitempty"`  // of the canary, whose tasks have stopped
}

// variantReport is how many tasks of a variant are registered.
type treeFound struct {
	Variant sluice.Variant `json:"variant"`
	Found   int            `json:"found"`
	Healthy int            `json:"healthy"`
	Tasks   int            `json:"tasks"` // running
}

// addNames adds which tasks are registered under the service's Cloud Map names. A role that may not
// read them is no error, because not every role has these permissions.
func (t *tree) names(ctx context.Context, a *account.Account, live *ecs.Live) error {
	for _, r := range registriesOf(live.Raw) {
		err := t.name(ctx, a, r)
		switch {
		case err == nil:
		case sluice.KindOf(err) == sluice.Denied, sluice.KindOf(err) == sluice.NotFound:
			t.Problem = "who is found by name cannot be read: " + err.Error()
		default:
			return err
		}
	}
	return nil
}

// serviceRegistries returns the registries of the PRIMARY task set, or of the service if that set has
// none.
func registriesOf(s ecstypes.Service) []ecstypes.ServiceRegistry {
	for _, set := range s.TaskSets {
		if aws.ToString(set.Status) == "PRIMARY" && len(set.ServiceRegistries) > 0 {
			return set.ServiceRegistries
		}
	}
	return s.ServiceRegistries
}

func (t *tree) name(ctx context.Context, a *account.Account, registry ecstypes.ServiceRegistry) error {
	r, err := cloudmap.Find(ctx, a.CloudMap(), aws.ToString(registry.RegistryArn), 0)
	if err != nil {
		return err
	}
	all, err := cloudmap.Names{API: a.CloudMap(), Registry: r}.Instances(ctx)
	if err != nil {
		return err
	}
	t.Names = append(t.Names, nameOfTasks(r, all, t.running()))
	return nil
}

// runningTasks returns the variant of each running task, by the task's ID.
func (t *tree) running() map[string]sluice.Variant {
	all := map[string]sluice.Variant{}
	add := func(tasks []treeTask, v sluice.Variant) {
		for _, task := range tasks {
			if task.Status == "RUNNING" {
				all[task.ID] = v
			}
		}
	}
	for _, s := range t.Sets {
		v := sluice.Primary
		if s.Role == string(sluice.Canary) {
			v = sluice.Canary
		}
		add(s.Tasks, v)
	}
	for _, d := range t.Rolling {
		add(d.Tasks, sluice.Primary)
	}
	if t.Beside != nil {
		add(t.Beside.Tasks, sluice.Canary)
	}
	return all
}

// countRegistered counts the registered tasks of each variant. The ID of an instance that ECS
// registered is the task's ID. The ID of an instance that sluice registered ends with it.
func nameOfTasks(r plan.Registry, all []cloudmap.Instance, running map[string]sluice.Variant) treeName {
	n := treeName{Name: r.FullName(), Registry: r.ARN}
	count := map[sluice.Variant]*treeFound{}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		count[v] = &treeFound{Variant: v}
	}
	for _, v := range running {
		count[v].Tasks++
	}
	for _, i := range all {
		v, runs := running[i.ID[strings.LastIndexByte(i.ID, '-')+1:]]
		switch {
		case runs:
			count[v].Found++
			if i.Healthy {
				count[v].Healthy++
			}
		case cloudmap.Stranger(i.ID):
			n.Others = append(n.Others, i.ID)
		case strings.HasPrefix(i.ID, cloudmap.OwnPrefix):
			n.Dead = append(n.Dead, i.ID)
		}
	}
	slices.Sort(n.Others)
	slices.Sort(n.Dead)
	n.Found = []treeFound{*count[sluice.Primary], *count[sluice.Canary]}
	n.Percent = plan.Split{Primary: n.Found[0].Healthy, Canary: n.Found[1].Healthy}.Percent()
	return n
}

func (v treeView) names(b *bytes.Buffer, t *tree) {
	for _, n := range t.Names {
		asked := ""
		if t.Deployment != nil && t.Deployment.Asked != nil {
			asked = fmt.Sprintf(", asked %d%%", t.Deployment.Asked.Canary())
		}
		fmt.Fprintf(b, "name %s: %.3g%% of those that are found are the canary's%s\n", v.bold(n.Name), n.Percent, asked)
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, f := range n.Found {
			fmt.Fprintf(w, "  %s\t%d of %s found\t%d healthy\n", f.Variant, f.Found, sluice.Plural(f.Tasks, "task"), f.Healthy)
		}
		w.Flush()
		for _, id := range n.Others {
			fmt.Fprintf(b, "  instance %s is neither ECS's nor sluice's\n", id)
		}
		for _, id := range n.Dead {
			fmt.Fprintf(b, "  %s\n", v.warn("instance "+id+" is of a task that runs no more; the next stage takes it out"))
		}
	}
}
