package wire

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Faulter decides which fault a call meets. It is called once per call, before the API. It must be
// safe for concurrent use.
type Faulter interface {
	Before(key world.Key, service, operation string, now time.Time) *Injected
}

// Injected is the fault of one call; the first field that is set applies.
type Injected struct {
	// DropRequest closes the connection before the effect, without an answer.
	DropRequest bool
	// Outage replaces the answer; empty: no outage.
	Outage Outage
	// Silence blocks a call without an answer until its context ends.
	Silence func(context.Context)
	// Refuse is the error response, without an effect.
	Refuse *world.Refusal
	// Throttle answers with the service's error for "Rate exceeded", without an effect.
	Throttle bool
	// Status of 500 or above answers with that status (500 InternalFailure, 503
	// ServiceUnavailable), without an effect.
	Status int
	// DropReply carries out the call and closes the connection without an answer.
	DropReply bool
	// StaleBy answers a read with the state of that long ago; writes are not affected. The server
	// returns the newest earlier answer to the same request that is at least that old and at most
	// twice as old. If there is none, it builds the answer object by object: each object as an
	// earlier answer to the operation returned it, without younger objects.
	StaleBy time.Duration
}

// injectedRefusal returns the answer in place of the API's, or nil.
func (i *Injected) injectedRefusal() *world.Refusal {
	switch {
	case i.Refuse != nil:
		return i.Refuse
	case i.Throttle:
		return rateExceeded()
	case i.Status == 503:
		return &world.Refusal{Code: "ServiceUnavailable", Message: "Service Unavailable", Status: 503}
	case i.Status >= 500:
		return &world.Refusal{Code: "InternalFailure",
			Message: "The request processing has failed because of an unknown error, exception or failure.",
			Status:  i.Status}
	}
	return nil
}

// rateExceeded returns the throttling error; the query protocols drop the suffix.
func rateExceeded() *world.Refusal { return world.Refuse("ThrottlingException", "Rate exceeded") }
