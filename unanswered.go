package sluice

import (
	"fmt"
	"time"
)

// Unanswered: AWS has given no answer for Seconds, or answers again (Over). It is
// told once when the silence is noticed and once when it ends.
type Unanswered struct {
	Seconds int       `json:"seconds"`         // how long AWS has given no answer
	Cause   string    `json:"cause,omitempty"` // of the last attempt: the operation and what came instead of an answer
	Until   time.Time `json:"until,omitzero"`  // when sluice stops trying and pauses; zero: it does not stop
	Over    bool      `json:"over,omitempty"`  // AWS answers again
}

// Text is the event in words.
func (e Unanswered) Text() string {
	lasted := time.Duration(e.Seconds) * time.Second
	if e.Over {
		return fmt.Sprintf("AWS answers again, after %s", lasted)
	}
	text := fmt.Sprintf("no answer from AWS for %s", lasted)
	if e.Cause != "" {
		text += " (" + e.Cause + ")"
	}
	if e.Until.IsZero() {
		return text + "; trying again"
	}
	return text + "; trying again until " + e.Until.UTC().Format("15:04:05") + " UTC, then pausing"
}
