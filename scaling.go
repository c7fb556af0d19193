package sluice

import (
	"fmt"
	"slices"
	"strings"
)

// Scalable is a scalable target of Application Auto Scaling at one poll: one dimension of a
// service, with its bounds and its suspended activities.
type Scalable struct {
	Dimension string     `json:"dimension"` // "ecs:service:DesiredCount"
	Min       int        `json:"min"`       // tasks
	Max       int        `json:"max"`
	Suspended Suspension `json:"suspended,omitzero"`
}

// Suspension lists the suspended activities of Application Auto Scaling. In the zero value, none is
// suspended.
type Suspension struct {
	In        bool `json:"in,omitempty"`        // by policies
	Out       bool `json:"out,omitempty"`       // by policies
	Scheduled bool `json:"scheduled,omitempty"` // by scheduled actions
}

// AllSuspended suspends all activities.
var AllSuspended = Suspension{In: true, Out: true, Scheduled: true}

// noneSuspended is the text of the zero value.
const noneSuspended = "none"

// String returns "none", or the suspended activities: "in, out, scheduled".
func (s Suspension) String() string {
	if words := s.Words(); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	return noneSuspended
}

// Words returns the suspended activities: "in", "out" and "scheduled".
func (s Suspension) Words() (all []string) {
	for _, w := range []struct {
		is   bool
		word string
	}{{s.In, "in"}, {s.Out, "out"}, {s.Scheduled, "scheduled"}} {
		if w.is {
			all = append(all, w.word)
		}
	}
	return all
}

// Suspensions returns the suspensions of targets in one line that fits into the value of a tag:
// "ecs:service:DesiredCount=in+out", one word per target.
func Suspensions(all []Scalable) string {
	var words []string
	for _, t := range all {
		state := noneSuspended
		if w := t.Suspended.Words(); len(w) > 0 {
			state = strings.Join(w, "+")
		}
		words = append(words, t.Dimension+"="+state)
	}
	return strings.Join(words, " ")
}

// ParseSuspensions parses the output of [Suspensions], by dimension.
func ParseSuspensions(line string) (map[string]Suspension, error) {
	all := map[string]Suspension{}
	for _, word := range strings.Fields(line) {
		dimension, state, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not \"<dimension>=<suspended activities>\"", word)
		}
		words := strings.Split(state, "+")
		for _, w := range words {
			if !slices.Contains([]string{noneSuspended, "in", "out", "scheduled"}, w) {
				return nil, fmt.Errorf("%q: unknown state %q, must be none, in, out or scheduled", word, w)
			}
		}
		all[dimension] = Suspension{In: slices.Contains(words, "in"), Out: slices.Contains(words, "out"),
			Scheduled: slices.Contains(words, "scheduled")}
	}
	return all, nil
}
