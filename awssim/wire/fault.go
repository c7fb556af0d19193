package wire

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Faulter decides what goes wrong with a call. It is asked once per call,
// before the room is; it must be safe for concurrent use.
type Faulter interface {
	Before(key world.Key, service, operation string, now time.Time) *Injected
}

// Injected is what goes wrong with one call; the first that is set holds.
type Injected struct {
	// DropRequest ends the connection before the effect, without an answer.
	DropRequest bool
	// Outage is what comes instead of an answer; empty: an answer.
	Outage Outage
	// Silence blocks a call that is not answered until its context ends.
	Silence func(context.Context)
	// Refuse is the answer, without an effect.
	Refuse *world.Refusal
	// Throttle is the service's own way to say "Rate exceeded", without an
	// effect.
	Throttle bool
	// Status 500 or above is an answer with that status (500
	// InternalFailure, 503 ServiceUnavailable), without an effect.
	Status int
	// DropReply carries the call out and ends the connection without an answer.
	DropReply bool
	// StaleBy answers a read as of that long ago; writes are not touched. The newest
	// answer to the same question is served that is that old, at most twice as old.
	// A question that was not asked then is answered as of then object by object: an
	// object as an earlier answer to the operation showed it, none that is younger.
	StaleBy time.Duration
}

// refusal is the answer in place of the room's, or nil.
func (i *Injected) refusal() *world.Refusal {
	switch {
	case i.Refuse != nil:
		return i.Refuse
	case i.Throttle:
		return rateExceeded()
	case i.Status == 503:
		return &world.Refusal{Code: "ServiceUnavailable", Message: "Service Unavailable", Status: 503}
	case i.Status >= 500:
		return &world.Refusal{Code: "InternalFailure", Message: "The request processing has failed because of an unknown error, exception or failure.", Status: i.Status}
	}
	return nil
}

// rateExceeded is throttling; the query protocols drop the suffix.
func rateExceeded() *world.Refusal { return world.Refuse("ThrottlingException", "Rate exceeded") }
