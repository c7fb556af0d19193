package piped

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// plugin implements the services that piped calls. All its methods may be called concurrently.
type plugin struct {
	contract.UnimplementedDeploymentServiceServer
	contract.UnimplementedLivestateServiceServer
	contract.UnimplementedPlanPreviewServiceServer

	entry   *pluginEntry
	clock   clock.Clock
	targets *targetPool
	piped   contract.PluginServiceClient

	pausesPlanned atomic.Int64 // see notePauses
}

// FetchDefinedStages returns the names of the stages that piped must send to this plugin.
func (p *plugin) FetchDefinedStages(context.Context,
	*contract.FetchDefinedStagesRequest) (*contract.FetchDefinedStagesResponse, error) {
	return &contract.FetchDefinedStagesResponse{Stages: slices.Clone(p.entry.stages())}, nil
}

// DetermineVersions returns the images of the target's task definition.
func (p *plugin) DetermineVersions(_ context.Context,
	r *contract.DetermineVersionsRequest) (*contract.DetermineVersionsResponse, error) {
	target, err := p.entry.loadApplication(r.GetInput().GetTargetDeploymentSource())
	if err != nil {
		return nil, grpcError(err)
	}
	p.notePauses(target.app)
	return &contract.DetermineVersionsResponse{Versions: versionsOf(target.app.Task)}, nil
}

// BuildPipelineSyncStages returns this plugin's stages of the pipeline unchanged. The rollback gets
// the smallest of their indexes: piped accepts only the indexes it sent.
func (p *plugin) BuildPipelineSyncStages(_ context.Context,
	r *contract.BuildPipelineSyncStagesRequest) (*contract.BuildPipelineSyncStagesResponse, error) {
	var all []*contract.PipelineStage
	for _, s := range r.GetStages() {
		if !p.entry.runs(s.GetName()) || s.GetName() == appfile.StageRollback {
			return nil, status.Errorf(codes.InvalidArgument, "stage %q: this plugin has %s", s.GetName(),
				strings.Join(slices.DeleteFunc(slices.Clone(p.entry.stages()), isRollbackStage), ", "))
		}
		stage := newStage(s.GetName(), s.GetDesc(), s.GetIndex(), false)
		stage.AvailableOperation = p.operationOf(s.GetName(), s.GetConfig())
		all = append(all, stage)
	}
	if r.GetRollback() && len(all) > 0 {
		first := slices.MinFunc(all, func(a, b *contract.PipelineStage) int { return int(a.GetIndex() - b.GetIndex()) })
		all = append(all, newStage(appfile.StageRollback, "Restore the previous state", first.GetIndex(), true))
	}
	return &contract.BuildPipelineSyncStagesResponse{Stages: all}, nil
}

// BuildQuickSyncStages returns one stage, and the rollback.
func (p *plugin) BuildQuickSyncStages(_ context.Context,
	r *contract.BuildQuickSyncStagesRequest) (*contract.BuildQuickSyncStagesResponse, error) {
	all := []*contract.PipelineStage{newStage(appfile.StageSync, "Deploy the new revision to the complete service", 0,
		false)}
	all[0].AvailableOperation = p.operationOf(appfile.StageSync, nil)
	if r.GetRollback() {
		all = append(all, newStage(appfile.StageRollback, "Restore the previous state", 0, true))
	}
	return &contract.BuildQuickSyncStagesResponse{Stages: all}, nil
}

// newStage leaves the id to piped. The times are the machine's, whatever the clock: piped's control
// plane shows them.
func newStage(name, desc string, index int32, rollback bool) *contract.PipelineStage {
	now := time.Now().Unix()
	return &contract.PipelineStage{Name: name, Desc: desc, Index: index, Rollback: rollback,
		Status: contract.StageStatus_STAGE_NOT_STARTED_YET, CreatedAt: now, UpdatedAt: now,
		AvailableOperation: contract.ManualOperation_MANUAL_OPERATION_NONE}
}

// grpcError converts an error of the user's files or of AWS to a gRPC error, with the next step.
func grpcError(err error) error {
	code := codes.FailedPrecondition
	if sluice.KindOf(err) == sluice.Throttled {
		code = codes.Unavailable
	}
	return status.Error(code, explainError(err))
}

// explainError returns an error with its advice.
func explainError(err error) string {
	text := err.Error()
	if next := sluice.NextStep(err); next != "" {
		text += "; next: " + pipedAdvice(next)
	}
	return text
}

// targetsOf returns the names of the deploy targets of a deployment, in order.
func (p *plugin) targetsOf(d *contract.Deployment) ([]string, error) {
	names := d.GetDeployTargetsByPlugin()[p.entry.Name].GetDeployTargets()
	if len(names) == 0 {
		return nil, &sluice.Error{Op: "find the deploy target", Resource: d.GetApplicationName(),
			Err:  errors.New("the application has no deploy target of plugin " + p.entry.Name),
			Next: "choose one in PipeCD's settings of the application"}
	}
	return names, nil
}

func isRollbackStage(name string) bool { return name == appfile.StageRollback }
