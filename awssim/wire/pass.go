package wire

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// errDropped ends a call without an answer.
var errDropped = errors.New("connection closed without an answer")

// call is one call that the server handles.
type call struct {
	ctx  context.Context
	key  world.Key
	room *room
	op   *operation
	in   reflect.Value // *In, owned by the call
}

// callDecision is what the server decided about a call before carrying it out.
type course struct {
	injected *Injected
	ref      *world.Refusal
	past     *answer       // returned instead of the new answer, which is stored
	age      time.Duration // the new answer is changed to that long ago; 0: unchanged
	record   string        // key under which the answer is stored, or ""
}

// handleCall carries out a call: throttle, fault, stale read, API, log. The error is a
// *world.Refusal, an Outage or errDropped.
func (s *Server) pass(c *call) (reflect.Value, error) {
	var none reflect.Value
	p := s.decide(c)
	if p.injected.DropRequest {
		s.log(c, "dropped before the effect")
		return none, errDropped
	}
	if o := p.injected.Outage; o != "" && !o.takesEffect() {
		s.log(c, "not answered: "+string(o))
		if o == "silent" {
			p.injected.Silence(c.ctx)
		}
		return none, o
	}
	if p.ref != nil {
		s.log(c, p.ref.Error())
		return none, p.ref
	}
	var a answer
	a.out, a.ref = s.invoke(c)
	s.finish(c, &p, a)
	if p.past != nil {
		a = *p.past
	}
	switch {
	case p.injected.DropReply:
		return none, errDropped
	case p.injected.Outage != "":
		return none, p.injected.Outage
	case a.ref != nil:
		return none, a.ref
	}
	return a.out, nil
}

// decideCall asks the faulter outside the world's lock, then the world.
func (s *Server) decide(c *call) course {
	p := course{injected: &Injected{}}
	f := s.faulter()
	if f != nil {
		if i := f.Before(c.key, c.room.Name, c.op.name, s.world.Now()); i != nil {
			p.injected = i
			p.ref = i.refusal()
		}
	}
	if p.injected.DropRequest || p.ref != nil || p.injected.Outage != "" && !p.injected.Outage.takesEffect() {
		return p
	}
	_ = s.world.Do(c.key, func(tx *world.Tx) error {
		s.weigh(tx, c, &p, f != nil)
		return nil
	})
	return p
}

func (s *Server) weigh(tx *world.Tx, c *call, p *course, faults bool) {
	knobs := tx.Knobs()
	if knobs.Throttle && !state(tx).take(bucketsOf(c.room.Name, c.op.name), tx.Now()) {
		p.ref = throttled(c)
		return
	}
	stale := knobs.StaleReads
	if !isRead(c.op.name) || (!faults && stale.Max <= 0) {
		return
	}
	p.record = c.question()
	age := p.injected.StaleBy
	if age <= 0 && stale.Max > 0 {
		age = tx.Between(stale.Min, stale.Max, "stale read", p.record, tx.Count("stale read"))
	}
	if age <= 0 {
		return
	}
	if a, ok := recall(&state(tx).answers, p.record, tx.Now(), age); ok {
		p.past = &a
		return
	}
	p.age = age
}

func throttled(c *call) *world.Refusal {
	if c.room.Name == "servicediscovery" {
		return world.Refuse("RequestLimitExceeded", "Rate exceeded")
	}
	return rateExceeded()
}

func state(tx *world.Tx) *regionState { return world.Room[regionState](tx.Region, "wire") }

// recordAnswer stores the answer and writes the line of the log. No copy is needed: APIs do not
// keep their outputs, and wire only reads them.
func (s *Server) finish(c *call, p *course, a answer) {
	quiet := s.quiet.Load()
	if quiet && p.record == "" {
		return
	}
	_ = s.world.Do(c.key, func(tx *world.Tx) error {
		if p.record != "" {
			a.at = tx.Now()
			s.recallObjects(tx, c, p, a)
			state(tx).remember(p.record, a)
			state(tx).rememberObjects(c, a)
		}
		if !quiet {
			tx.Log("call", c.room.Name+"."+c.op.name, "%s", outcome(*p, a))
		}
		return nil
	})
}

func outcome(p course, a answer) string {
	text := "ok"
	if a.ref != nil {
		text = a.ref.Error()
	}
	if p.past != nil {
		text += ", answered as of " + p.past.at.Format(timeFormat)
	}
	if o := p.injected.Outage; o != "" {
		text += ", the reply is " + string(o)
	}
	if p.injected.DropReply {
		text += ", reply dropped"
	}
	return text
}

func (s *Server) log(c *call, text string) {
	if s.quiet.Load() {
		return
	}
	_ = s.world.Do(c.key, func(tx *world.Tx) error {
		tx.Log("call", c.room.Name+"."+c.op.name, "%s", text)
		return nil
	})
}

// invokeOperation calls the API's method. In a strict world a panic is passed on; otherwise it
// becomes AWS's 500 and a line of the log.
func (s *Server) invoke(c *call) (out reflect.Value, ref *world.Refusal) {
	if !s.world.Strict() {
		defer func() {
			if x := recover(); x != nil {
				s.log(c, fmt.Sprintf("panic: %v\n%s", x, debug.Stack()))
				out, ref = reflect.Value{}, (&Injected{Status: 500}).refusal()
			}
		}()
	}
	results := c.op.call.Call([]reflect.Value{reflect.ValueOf(c.ctx), c.in})
	if !results[1].IsNil() {
		err := results[1].Interface().(error)
		ref, ok := asRefusal(err)
		if !ok {
			s.log(c, "defect: "+err.Error())
		}
		return out, ref
	}
	if results[0].IsNil() {
		return reflect.New(c.op.out), nil
	}
	return results[0], nil
}
