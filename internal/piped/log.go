package piped

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/printable"
)

const (
	// logBatch is the maximum number of bytes in one report: gRPC accepts 4 MiB.
	logBatch = 1 << 20
	// checkpointEvery is how often the lines are sent for permanent storage.
	checkpointEvery = 2 * time.Minute
	// maxLineLength is how many characters of one line are kept.
	longest = 4000
	// displayKey is the key under which PipeCD's page expects a short text about a stage's state.
	displayKey = "pipecd/stage-display-metadata"
	// lastReportTimeout is how long sending one report may take, including retries.
	endWait = 10 * time.Second
)

// stageLog is the log of one stage on PipeCD's page. Lines are sent immediately, in the background;
// only close waits for piped's responses. All times are the machine's.
type stageLog struct {
	piped      contract.PluginServiceClient
	deployment string
	stage      *contract.PipelineStage

	mu      sync.Mutex
	fresh   []*contract.LogBlock // not sent yet
	since   []*contract.LogBlock // lines since the last checkpoint
	last    int64                // index of the newest block
	display string               // not sent yet
	wake    chan struct{}
	closing bool
	done    chan struct{}
}

func openLog(c contract.PluginServiceClient, deployment string, stage *contract.PipelineStage) *stageLog {
	l := &stageLog{piped: c, deployment: deployment, stage: stage, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.send()
	return l
}

// writeLines adds the lines of a message. It omits empty lines, since one of them makes piped
// refuse the whole report.
func (l *stageLog) write(severity contract.LogSeverity, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(printable.Text(message)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" {
			continue
		}
		l.fresh = append(l.fresh, l.block(severity, printable.Clip(line, longest)))
	}
	l.nudge()
}

// newBlock numbers a line by the machine's microseconds. So the lines of a later attempt come after
// those of an earlier one, however many those are.
func (l *stageLog) block(severity contract.LogSeverity, line string) *contract.LogBlock {
	now := time.Now()
	l.last = max(l.last+1, now.UnixMicro())
	return &contract.LogBlock{Index: l.last, Log: line, Severity: severity, CreatedAt: now.Unix()}
}

// setDisplay sets the short text about the stage's state.
func (l *stageLog) show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.display = printable.Line(text)
	l.nudge()
}

// logEvent logs an event of a stage.
func (l *stageLog) event(ev sluice.Event) {
	severity, text := say(ev)
	l.write(severity, text)
	if text := displayed(ev); text != "" {
		l.show(text)
	}
}

func (l *stageLog) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// runSender is the only sender of the log.
func (l *stageLog) send() {
	defer close(l.done)
	checkpoint := time.Now()
	for {
		<-l.wake
		closing := l.flush()
		if closing {
			l.checkpoint(true)
			return
		}
		if time.Since(checkpoint) > checkpointEvery && l.checkpoint(false) {
			checkpoint = time.Now()
		}
	}
}

// flush sends the unsent lines. If piped does not accept a line, the next checkpoint contains it.
func (l *stageLog) flush() (closing bool) {
	l.mu.Lock()
	blocks, display := l.fresh, l.display
	l.fresh, l.display = nil, ""
	l.since = append(l.since, blocks...)
	closing = l.closing
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	for _, part := range parts(blocks) {
		_, _ = l.piped.ReportStageLogs(ctx, &contract.ReportStageLogsRequest{
			DeploymentId: l.deployment, StageId: l.stage.GetId(), RetriedCount: l.stage.GetRetriedCount(), Blocks: part})
	}
	if display != "" {
		_, _ = l.piped.PutStageMetadata(ctx, &contract.PutStageMetadataRequest{
			DeploymentId: l.deployment, StageId: l.stage.GetId(), Key: displayKey, Value: display})
	}
	return closing
}

// sendCheckpoint sends all lines since the last checkpoint for permanent storage; complete ends the
// log.
func (l *stageLog) checkpoint(complete bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	all := parts(l.since)
	if complete && len(all) == 0 {
		all = append(all, nil)
	}
	for i, part := range all {
		r := &contract.ReportStageLogsFromLastCheckpointRequest{DeploymentId: l.deployment, StageId: l.stage.GetId(),
			RetriedCount: l.stage.GetRetriedCount(), Blocks: part, Completed: complete && i == len(all)-1}
		if err := insist(ctx, func(ctx context.Context) error {
			_, err := l.piped.ReportStageLogsFromLastCheckpoint(ctx, r)
			return err
		}); err != nil {
			l.since = l.since[min(len(l.since), counted(all[:i])):]
			return false
		}
	}
	l.since = nil
	return true
}

func counted(all [][]*contract.LogBlock) (n int) {
	for _, part := range all {
		n += len(part)
	}
	return n
}

// splitBlocks splits blocks into reports of a size that gRPC accepts.
func parts(blocks []*contract.LogBlock) [][]*contract.LogBlock {
	var all [][]*contract.LogBlock
	size := logBatch
	for _, b := range blocks {
		n := proto.Size(b) + 8
		if size+n > logBatch {
			all, size = append(all, nil), 0
		}
		size += n
		all[len(all)-1] = append(all[len(all)-1], b)
	}
	return all
}

// close returns when piped has the whole log.
func (l *stageLog) close() {
	l.mu.Lock()
	l.closing = true
	l.nudge()
	l.mu.Unlock()
	<-l.done
}
