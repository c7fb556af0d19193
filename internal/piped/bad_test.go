package piped_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// What piped sends may lack anything: an answer is a sentence, or a state with its
// reason, and the plugin goes on. A deployment without a trigger, as it comes for a
// plan preview, is none of that: it is answered.
func TestBadInputOfTheOtherCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	ctx := context.Background()
	good := source{}.write(t)
	bad := source{app: appFile("  unknown: 1\n")}.write(t)
	preview := func(src *contract.DeploymentSource, targets ...string) error {
		_, err := r.plugin.preview.GetPlanPreview(ctx, &contract.GetPlanPreviewRequest{ApplicationName: "web",
			DeployTargets: targets, TargetDeploymentSource: src})
		return err
	}
	versions := func(in *contract.PlanPluginInput) error {
		_, err := r.plugin.DetermineVersions(ctx, &contract.DetermineVersionsRequest{Input: in})
		return err
	}
	strategy := func(in *contract.PlanPluginInput) error {
		_, err := r.plugin.DetermineStrategy(ctx, &contract.DetermineStrategyRequest{Input: in})
		return err
	}
	for name, c := range map[string]struct {
		err   error
		tells string
	}{
		"a preview without files":       {preview(nil, "dt"), "piped sent no files"},
		"a preview of bad files":        {preview(bad, "dt"), `unknown key "unknown"`},
		"a preview without a target":    {preview(good), "has no deploy target of plugin ecs"},
		"versions of nothing":           {versions(nil), "piped sent no files"},
		"versions of bad files":         {versions(r.input(nil, bad)), `unknown key "unknown"`},
		"versions without a trigger":    {versions(r.input(nil, good)), ""},
		"a strategy without a trigger":  {strategy(&contract.PlanPluginInput{TargetDeploymentSource: good}), ""},
		"an unknown target in previews": {preview(good, "mars"), ""}, // told in the preview itself
	} {
		if c.tells == "" && c.err == nil {
			continue
		}
		if s, _ := status.FromError(c.err); c.tells == "" || s.Code() != codes.FailedPrecondition ||
			!strings.Contains(s.Message(), c.tells) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	r.badLive(good)
	if out, err := r.plugin.ExecuteStage(ctx, &contract.ExecuteStageRequest{}); err != nil ||
		out.GetStatus() != contract.StageStatus_STAGE_FAILURE {
		t.Errorf("a stage without anything: %v %v", out, err)
	}
	r.piped.set(func() { r.piped.wrong = nil }) // that stage has no id to log under
}

// badLive asks for live states that there are none of.
func (r *rig) badLive(good *contract.DeploymentSource) {
	r.Helper()
	for name, c := range map[string]struct {
		in    *contract.GetLivestateRequest
		want  contract.ApplicationSyncStatus
		tells string
	}{
		"nothing": {&contract.GetLivestateRequest{}, contract.ApplicationSyncStatus_INVALID_CONFIG,
			"piped sent no files"},
		"no target": {&contract.GetLivestateRequest{DeploySource: good},
			contract.ApplicationSyncStatus_INVALID_CONFIG, "no deploy target"},
		"an unknown target": {&contract.GetLivestateRequest{DeploySource: good, DeployTargets: []string{"mars"}},
			contract.ApplicationSyncStatus_UNKNOWN, "has no deploy target of that name"},
	} {
		out, err := r.plugin.live.GetLivestate(context.Background(), c.in)
		if s := out.GetSyncState(); err != nil || s.GetStatus() != c.want || !strings.Contains(s.GetReason(), c.tells) {
			r.Errorf("live state of %s: %v %v", name, out, err)
		}
		must(r, contracttest.Check(out))
	}
}
