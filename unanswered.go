package sluice

import (
	"fmt"
	"time"
)

// Unanswered is emitted when AWS has not responded for Seconds, and when it responds again (Over).
type Unanswered struct {
	Seconds int       `json:"seconds"`         // how long AWS has not responded
	Cause   string    `json:"cause,omitempty"` // of the last attempt: the operation and its error
	Until   time.Time `json:"until,omitzero"`  // when sluice stops trying and pauses; zero: it does not stop
	Over    bool      `json:"over,omitempty"`  // AWS responds again
}

// Text describes the event for users.
func (e Unanswered) Text() string {
	lasted := time.Duration(e.Seconds) * time.Second
	if e.Over {
		return fmt.Sprintf("AWS responds again after %s", lasted)
	}
	text := fmt.Sprintf("no response from AWS for %s", lasted)
	if e.Cause != "" {
		text += " (" + e.Cause + ")"
	}
	if e.Until.IsZero() {
		return text + "; trying again"
	}
	return text + "; trying again until " + e.Until.UTC().Format("15:04:05") + " UTC, then pausing"
}
