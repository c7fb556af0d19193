package piped

import (
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/eventtest"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// Reasons why PipeCD's page shows nothing for an event.
const (
	pipedShows    = "silent: piped runs deployments and stages, and its page shows them"
	resultFollows = "silent: the event wrote follows and has the result"
	logHasIt      = "silent: the text next to the stage is its state, and the log of the stage has the event"
)

// Every kind of event has words in the log of a stage, and those that change the state of a stage
// in the text next to its name.
func TestEveryEventHasWords(t *testing.T) {
	ofPiped := map[string]string{
		"approvalAwaited":   pipedShows,
		"approved":          pipedShows,
		"deploymentEnded":   pipedShows,
		"deploymentPaused":  pipedShows,
		"deploymentResumed": pipedShows,
		"deploymentStarted": pipedShows,
		"rollbackStarted":   pipedShows,
		"stageEnded":        pipedShows,
		"stageStarted":      pipedShows,
		"writing":           resultFollows,
	}
	display := map[string]string{
		"adopted":          logHasIt,
		"failureSeen":      logHasIt,
		"gateRead":         logHasIt,
		"lifecycleChanged": logHasIt,
		"noted":            logHasIt,
		"printed":          logHasIt,
		"requestsCounted":  logHasIt,
		"taskEnded":        logHasIt,
		"unanswered":       logHasIt,
		"waiting":          logHasIt,
		"warned":           logHasIt,
		"wrote":            logHasIt,
	}
	for kind, reason := range ofPiped {
		display[kind] = reason
	}
	eventtest.Run(t,
		eventtest.FrontEnd{Name: "log of a stage", Show: stageLogOutput, Silent: ofPiped},
		eventtest.FrontEnd{Name: "text next to a stage", Show: displayOutput, Silent: display})
}

// logOf returns a log that has got one event and sent nothing.
func logOf(e sluice.Envelope) *stageLog {
	l := &stageLog{wake: make(chan struct{}, 1)}
	l.logEvent(e.Open())
	return l
}

func stageLogOutput(t *testing.T, e sluice.Envelope) (text string) {
	for _, block := range logOf(e).unsent {
		if err := contracttest.Check(&contract.ReportStageLogsRequest{DeploymentId: "d", StageId: "s",
			Blocks: []*contract.LogBlock{block}}); err != nil {
			t.Errorf("piped refuses the line of event %s: %v", e.Kind, err)
		}
		text += block.GetLog() + "\n"
	}
	return text
}

func displayOutput(_ *testing.T, e sluice.Envelope) string { return logOf(e).display }
