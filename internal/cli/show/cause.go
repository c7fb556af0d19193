package show

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// causeMemory is the cause of the last write or stage that failed, which was shown in full. The zero value has
// none.
type causeMemory struct{ cause, short string }

// shorten returns the words of an event with a cause that was shown before in its short form, which names the operation
// or the stage. The end of a deployment whose service is gone keeps its cause: it says what is gone.
func (m *causeMemory) shorten(ev sluice.Event, words line) line {
	end, ends := ev.(sluice.DeploymentEnded)
	switch ev.(type) {
	case sluice.StageEnded, sluice.RollbackStarted, sluice.DeploymentEnded, sluice.DeploymentPaused:
		if m.cause != "" && !(ends && end.Outcome == sluice.Gone) {
			words.text = strings.Replace(words.text, m.cause, m.short, 1)
		}
	}
	switch e := ev.(type) {
	case sluice.Wrote:
		if e.Cause != "" {
			*m = causeMemory{cause: e.Cause, short: e.Operation + " failed"}
		}
	case sluice.StageEnded:
		if e.Status == "failed" {
			ended := e.Result()
			if e.Outcome != "" {
				ended = "was " + ended
			}
			*m = causeMemory{cause: e.Cause, short: fmt.Sprintf("stage %d %s %s", e.Index+1, e.Name, ended)}
		}
	}
	return words
}
