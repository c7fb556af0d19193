package plan

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Current is the verdict on the revision of the files where it is PRIMARY already,
// and what a deployment does about it.
type Current struct {
	Does    string         `json:"does"`              // nothing, idle, follow or start
	Outcome sluice.Outcome `json:"outcome,omitempty"` // of `sluice wait`; empty: not known yet
	Detail  string         `json:"detail"`
	Next    string         `json:"next,omitempty"`
}

// What a deployment does where the revision is PRIMARY already, in [Current].
const (
	DoesNothing = "nothing" // it serves
	DoesNotRun  = "idle"    // no task is to run
	Follows     = "follow"  // AWS still starts tasks of it
	StartsAnew  = "start"   // AWS has given it up
)

// Acts reports whether a deployment would do anything: change AWS, or wait for the
// end of what AWS does.
func (p *Plan) Acts() bool {
	return p.HasChanges() || p.Current != nil && p.Current.Does == Follows
}

// idleCause is why a service that is to run no task ends without success.
func (p *Plan) idleCause() string {
	return fmt.Sprintf("the desired count of %s is 0: no task shows whether the revision works", p.Service)
}

// anew reports whether a deployment is made even if nothing changes.
func (o Options) anew() bool { return o.Force || o.Restart != "" }

// restart plans a new deployment of the revision that is PRIMARY already, because
// AWS has given it up. A rolling service is not rolled back then: its state before
// the deployment is the same revision, which does not serve.
func (p *Plan) restart(o Options) {
	if o.Restart == "" {
		return
	}
	p.Changes = append(p.Changes, Change{Of: "service", Path: "deployment", Have: o.Restart, Want: "a new deployment"})
	if !p.Rolls() {
		return
	}
	p.Force = true
	if p.AutoRollback {
		p.AutoRollback = false
		p.Notes = append(p.Notes, "a failure is not rolled back: the state before is the same revision, which does not serve")
	}
}
