package piped

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// drift compares what runs with the files, field by field, AWS's defaults known.
// The commit does not matter: one that changes other files changes nothing here.
func (p *plugin) drift(ctx context.Context, pl *place, app *appfile.Application, live *ecs.Live) (*contract.ApplicationSyncState, error) {
	if k, err := plan.ParseClaim(live.Tags[plan.ClaimTag]); err == nil && k.Until.After(p.clock.Now()) {
		return state(contract.ApplicationSyncStatus_DEPLOYING, "A deployment is under way", "deployment "+k.Deployment+" holds the service"), nil
	}
	diffs, err := differences(ctx, pl, app, live)
	if err != nil {
		return nil, err
	}
	if len(diffs) == 0 {
		return synced(), nil
	}
	return state(contract.ApplicationSyncStatus_OUT_OF_SYNC, shortReason(diffs), reason(pl.name, diffs)), nil
}

func differences(ctx context.Context, pl *place, app *appfile.Application, live *ecs.Live) ([]change, error) {
	var all []change
	add := func(of string, diffs []definition.Difference) {
		for _, d := range diffs {
			all = append(all, change{of, d})
		}
	}
	serving := live.Serving()
	if serving == "" {
		add("task definition", []definition.Difference{{Path: "family", Have: "nothing serves", Want: aws.ToString(app.Task.Input.Family)}})
	} else {
		td, err := pl.definition(ctx, serving)
		if err != nil {
			return nil, err
		}
		add("task definition", definition.CompareTask(app.Task, td))
	}
	add("service", definition.CompareService(app.Service, &live.Raw))
	for i := range live.Raw.TaskSets {
		if ts := &live.Raw.TaskSets[i]; aws.ToString(ts.Status) == "PRIMARY" {
			add("task set", definition.CompareTaskSet(app.Service, ts))
		}
	}
	for _, ts := range live.TaskSets {
		if ts.Status == "ACTIVE" && (plan.Ours(ts.ExternalID) || slices.Contains(makers, ts.Tags[tagManagedBy])) {
			add("task set", []definition.Difference{{Path: ts.ID, Have: fmt.Sprintf("a canary of %s, %d running", ts.Revision, ts.Running), Want: "none"}})
		}
	}
	return all, nil
}

func shortReason(diffs []change) string {
	if len(diffs) == 1 {
		return "There is 1 difference"
	}
	return fmt.Sprintf("There are %d differences", len(diffs))
}

// reason is one line for each difference, as they stand in AWS and in the files.
func reason(target string, diffs []change) string {
	lines := []string{"What runs on " + target + " differs from the files:"}
	for _, d := range diffs {
		lines = append(lines, fmt.Sprintf("- %s %s: is %s, should be %s", d.of, d.Path, d.Have, d.Want))
	}
	return strings.Join(lines, "\n")
}

func synced() *contract.ApplicationSyncState {
	return state(contract.ApplicationSyncStatus_SYNCED, "", "")
}

func state(status contract.ApplicationSyncStatus, short, reason string) *contract.ApplicationSyncState {
	return &contract.ApplicationSyncState{Status: status, ShortReason: short, Reason: reason, Timestamp: time.Now().Unix()}
}

// worse joins the states of two deploy targets, as piped joins those of plugins.
func worse(a, b *contract.ApplicationSyncState) *contract.ApplicationSyncState {
	order := []contract.ApplicationSyncStatus{contract.ApplicationSyncStatus_DEPLOYING, contract.ApplicationSyncStatus_INVALID_CONFIG,
		contract.ApplicationSyncStatus_OUT_OF_SYNC, contract.ApplicationSyncStatus_UNKNOWN, contract.ApplicationSyncStatus_SYNCED}
	switch x, y := slices.Index(order, a.GetStatus()), slices.Index(order, b.GetStatus()); {
	case x < y:
		return a
	case y < x:
		return b
	}
	if a.GetReason() != "" {
		b.Reason = a.GetReason() + "\n" + b.GetReason()
	}
	return b
}
