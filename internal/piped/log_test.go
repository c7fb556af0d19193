package piped

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// page keeps what piped is told of a log.
type page struct {
	contract.PluginServiceClient
	mu     sync.Mutex
	blocks []*contract.LogBlock
	ended  bool
	t      *testing.T
}

func (p *page) ReportStageLogs(_ context.Context, in *contract.ReportStageLogsRequest,
	_ ...grpc.CallOption) (*contract.ReportStageLogsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := contracttest.Check(in); err != nil {
		p.t.Error(err)
	}
	p.blocks = append(p.blocks, in.GetBlocks()...)
	return &contract.ReportStageLogsResponse{}, nil
}

func (p *page) ReportStageLogsFromLastCheckpoint(_ context.Context,
	in *contract.ReportStageLogsFromLastCheckpointRequest,
	_ ...grpc.CallOption) (*contract.ReportStageLogsFromLastCheckpointResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := contracttest.Check(in); err != nil {
		p.t.Error(err)
	}
	p.ended = in.GetCompleted()
	return &contract.ReportStageLogsFromLastCheckpointResponse{}, nil
}

// piped refuses all lines of a report if one is empty: none is ever sent, whatever
// is written. A log without a line ends too.
func TestEmptyLinesAreNeverSent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "",
		"\n \n\t\r\n":       "",
		"a\n\n  \nb\r\n":    "a|b",
		"\xff\xfe":          "\ufffd\ufffd",
		"web | ":            "web |",
		" indented stays  ": " indented stays",
	} {
		p := &page{t: t}
		log := openLog(p, "d", &contract.PipelineStage{Id: "s"})
		log.writeLines(contract.LogSeverity_INFO, text)
		log.close()
		var all []string
		for _, b := range p.blocks {
			all = append(all, b.GetLog())
		}
		if got := strings.Join(all, "|"); got != want || !p.ended {
			t.Errorf("%q became %q, ended %t", text, got, p.ended)
		}
	}
}
