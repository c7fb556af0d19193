package contracttest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

func TestCheckNamesTheFieldThatPipedWouldRefuse(t *testing.T) {
	block := func(log string, at int64) *contract.ReportStageLogsRequest {
		return &contract.ReportStageLogsRequest{DeploymentId: "d", StageId: "s",
			Blocks: []*contract.LogBlock{{Log: "first", CreatedAt: 1}, {Log: log, CreatedAt: at}}}
	}
	stage := func(change func(*contract.PipelineStage)) proto.Message {
		s := &contract.PipelineStage{Id: "i", Name: "n", CreatedAt: 1, UpdatedAt: 1}
		change(s)
		return &contract.BuildQuickSyncStagesResponse{Stages: []*contract.PipelineStage{s}}
	}
	for _, c := range []struct {
		m     proto.Message
		wrong string
	}{
		{block("second", 2), ""},
		{block("", 2), "blocks[1].log has fewer than 1 characters"},
		{block("second", 0), "blocks[1].created_at is 0, not above 0"},
		{stage(func(*contract.PipelineStage) {}), ""},
		{stage(func(s *contract.PipelineStage) { s.UpdatedAt = -1 }), "stages[0].updated_at"},
		{stage(func(s *contract.PipelineStage) { s.Status = 99 }), "stages[0].status is 99, which has no name"},
		{stage(func(s *contract.PipelineStage) { s.AvailableOperation = 9 }),
			"stages[0].available_operation is 9, which has no name"},
		{stage(func(s *contract.PipelineStage) { s.CompletedAt = -1 }), "stages[0].completed_at is -1, below 0"},
		{&contract.ExecuteStageRequest{}, "input is not set"},
		{&contract.ApplicationGitPath{Repo: &contract.ApplicationGitRepository{Id: "r"}, Path: "/web"},
			"path does not fit"},
	} {
		err := contracttest.Check(c.m)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%T: %v, want %q", c.m, err, c.wrong)
		}
	}
}
