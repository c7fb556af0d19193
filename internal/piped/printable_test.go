package piped

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

const unprintable = "a\x1b[2J\u202eb --password=PLANTED9"

func checkCleaned(t *testing.T, text string) {
	t.Helper()
	if text != `a\u001b[2J\u202eb --password=***` {
		t.Errorf("%q", text)
	}
}

func TestAnswersArePrintable(t *testing.T) {
	out, err := makePrintable(context.Background(), nil, nil, func(context.Context, any) (any, error) {
		return &contract.GetPlanPreviewResponse{Results: []*contract.PlanPreviewResult{{Summary: unprintable,
			Details: []byte(unprintable)}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	result := out.(*contract.GetPlanPreviewResponse).GetResults()[0]
	checkCleaned(t, result.GetSummary())
	checkCleaned(t, string(result.GetDetails()))

	out, err = makePrintable(context.Background(), nil, nil, func(context.Context, any) (any, error) {
		return &contract.BuildQuickSyncStagesResponse{Stages: []*contract.PipelineStage{{Desc: unprintable,
			Metadata: map[string]string{"a": unprintable}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stage := out.(*contract.BuildQuickSyncStagesResponse).GetStages()[0]
	checkCleaned(t, stage.GetDesc())
	checkCleaned(t, stage.GetMetadata()["a"])

	_, err = makePrintable(context.Background(), nil, nil, func(context.Context, any) (any, error) {
		return nil, status.Error(codes.FailedPrecondition, unprintable)
	})
	checkCleaned(t, status.Convert(err).Message())
	if status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	_, err = makePrintable(context.Background(), nil, nil, func(context.Context, any) (any, error) {
		return nil,
			errors.New(unprintable)
	})
	checkCleaned(t, status.Convert(err).Message())
}

func TestStageLogIsPrintable(t *testing.T) {
	l := &stageLog{wake: make(chan struct{}, 1)}
	l.writeLines(contract.LogSeverity_INFO, unprintable+"\n::error::x")
	l.setDisplay(unprintable)
	if len(l.unsent) != 2 {
		t.Fatal(l.unsent)
	}
	checkCleaned(t, l.unsent[0].GetLog())
	checkCleaned(t, l.display)
	if strings.HasPrefix(l.unsent[1].GetLog(), "::") {
		t.Error(l.unsent[1].GetLog())
	}
}
