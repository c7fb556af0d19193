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
	maxLineLength = 4000
	// displayKey is the key under which PipeCD's page expects a short text about a stage's state.
	displayKey = "pipecd/stage-display-metadata"
	// lastReportTimeout is how long sending one report may take, including retries.
	lastReportTimeout = 10 * time.Second
)

// stageLog is the log of one stage on PipeCD's page. Lines are sent immediately, in the background;
// only close waits for piped's responses. All times are the machine's.
type stageLog struct {
	piped      contract.PluginServiceClient
	deployment string
	stage      *contract.PipelineStage

	mu              sync.Mutex
	unsent          []*contract.LogBlock // not sent yet
	sinceCheckpoint []*contract.LogBlock // lines since the last checkpoint
	lastIndex       int64                // index of the newest block
	display         string               // not sent yet
	wake            chan struct{}
	isClosing       bool
	done            chan struct{}
}

func openLog(c contract.PluginServiceClient, deployment string, stage *contract.PipelineStage) *stageLog {
	l := &stageLog{piped: c, deployment: deployment, stage: stage, wake: make(chan struct{}, 1),
		done: make(chan struct{})}
	go l.runSender()
	return l
}

// writeLines adds the lines of a message. It omits empty lines, since one of them makes piped
// refuse the whole report.
func (l *stageLog) writeLines(severity contract.LogSeverity, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(printable.Text(message)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" {
			continue
		}
		l.unsent = append(l.unsent, l.newBlock(severity, printable.Clip(line, maxLineLength)))
	}
	l.wakeSender()
}

// newBlock numbers a line by the machine's microseconds. So the lines of a later attempt come after
// those of an earlier one, however many those are.
func (l *stageLog) newBlock(severity contract.LogSeverity, line string) *contract.LogBlock {
	now := time.Now()
	l.lastIndex = max(l.lastIndex+1, now.UnixMicro())
	return &contract.LogBlock{Index: l.lastIndex, Log: line, Severity: severity, CreatedAt: now.Unix()}
}

// setDisplay sets the short text about the stage's state.
func (l *stageLog) setDisplay(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.display = printable.Line(text)
	l.wakeSender()
}

// logEvent logs an event of a stage.
func (l *stageLog) logEvent(ev sluice.Event) {
	severity, text := formatEvent(ev)
	l.writeLines(severity, text)
	if text := displayText(ev); text != "" {
		l.setDisplay(text)
	}
}

func (l *stageLog) wakeSender() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// runSender is the only sender of the log.
func (l *stageLog) runSender() {
	defer close(l.done)
	checkpoint := time.Now()
	for {
		<-l.wake
		closing := l.flush()
		if closing {
			l.sendCheckpoint(true)
			return
		}
		if time.Since(checkpoint) > checkpointEvery && l.sendCheckpoint(false) {
			checkpoint = time.Now()
		}
	}
}

// flush sends the unsent lines. If piped does not accept a line, the next checkpoint contains it.
func (l *stageLog) flush() (closing bool) {
	l.mu.Lock()
	blocks, display := l.unsent, l.display
	l.unsent, l.display = nil, ""
	l.sinceCheckpoint = append(l.sinceCheckpoint, blocks...)
	closing = l.isClosing
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastReportTimeout)
	defer cancel()
	for _, part := range splitBlocks(blocks) {
		_, _ = l.piped.ReportStageLogs(ctx, &contract.ReportStageLogsRequest{
			DeploymentId: l.deployment, StageId: l.stage.GetId(), RetriedCount: l.stage.GetRetriedCount(),
			Blocks: part})
	}
	if display != "" {
		_, _ = l.piped.PutStageMetadata(ctx, &contract.PutStageMetadataRequest{
			DeploymentId: l.deployment, StageId: l.stage.GetId(), Key: displayKey, Value: display})
	}
	return closing
}

// sendCheckpoint sends all lines since the last checkpoint for permanent storage; complete ends the
// log.
func (l *stageLog) sendCheckpoint(complete bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lastReportTimeout)
	defer cancel()
	all := splitBlocks(l.sinceCheckpoint)
	if complete && len(all) == 0 {
		all = append(all, nil)
	}
	for i, part := range all {
		r := &contract.ReportStageLogsFromLastCheckpointRequest{DeploymentId: l.deployment, StageId: l.stage.GetId(),
			RetriedCount: l.stage.GetRetriedCount(), Blocks: part, Completed: complete && i == len(all)-1}
		if err := callPiped(ctx, func(ctx context.Context) error {
			_, err := l.piped.ReportStageLogsFromLastCheckpoint(ctx, r)
			return err
		}); err != nil {
			return false
		}
		l.sinceCheckpoint = l.sinceCheckpoint[len(part):]
	}
	return true
}

// splitBlocks splits blocks into reports of a size that gRPC accepts.
func splitBlocks(blocks []*contract.LogBlock) [][]*contract.LogBlock {
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
	l.isClosing = true
	l.wakeSender()
	l.mu.Unlock()
	<-l.done
}
