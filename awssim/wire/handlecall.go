package wire

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// errDropped ends a call without an answer.
var errDropped = errors.New("connection closed without an answer")

// call is one call that the server handles.
type call struct {
	ctx context.Context
	key world.Key
	api *preparedAPI
	op  *operation
	in  reflect.Value // *In, owned by the call
}

// callDecision is what the server decided about a call before carrying it out.
type callDecision struct {
	injected   *Injected
	ref        *world.Refusal
	pastAnswer *answer       // returned instead of the new answer, which is stored
	age        time.Duration // the new answer is changed to that long ago; 0: unchanged
	question   string        // key under which the answer is stored, or ""
}

// handleCall carries out a call: throttle, fault, stale read, API, log. The error is a
// *world.Refusal, an Outage or errDropped.
func (s *Server) handleCall(c *call) (reflect.Value, error) {
	var none reflect.Value
	p := s.decideCall(c)
	if p.injected.DropRequest {
		s.logCall(c, "dropped before the effect")
		return none, errDropped
	}
	if o := p.injected.Outage; o != "" && !o.takesEffect() {
		s.logCall(c, "not answered: "+string(o))
		if o == "silent" {
			p.injected.Silence(c.ctx)
		}
		return none, o
	}
	if p.ref != nil {
		s.logCall(c, p.ref.Error())
		return none, p.ref
	}
	var a answer
	a.out, a.ref = s.invokeOperation(c)
	s.recordAnswer(c, &p, a)
	if p.pastAnswer != nil {
		a = *p.pastAnswer
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
func (s *Server) decideCall(c *call) callDecision {
	p := callDecision{injected: &Injected{}}
	f := s.currentFaulter()
	if f != nil {
		if i := f.Before(c.key, c.api.Name, c.op.name, s.world.Now()); i != nil {
			p.injected = i
			p.ref = i.injectedRefusal()
		}
	}
	if p.injected.DropRequest || p.ref != nil || p.injected.Outage != "" && !p.injected.Outage.takesEffect() {
		return p
	}
	_ = s.world.Do(c.key, func(tx *world.Tx) error {
		s.decideInStep(tx, c, &p, f != nil)
		return nil
	})
	return p
}

func (s *Server) decideInStep(tx *world.Tx, c *call, p *callDecision, faults bool) {
	knobs := tx.Settings()
	if knobs.Throttle && !regionStateOf(tx).takeTokens(bucketsOf(c.api.Name, c.op.name), tx.Now()) {
		p.ref = throttleRefusal(c)
		return
	}
	stale := knobs.StaleReads
	if !isRead(c.op.name) || (!faults && stale.Max <= 0) {
		return
	}
	p.question = c.questionKey()
	age := p.injected.StaleBy
	if age <= 0 && stale.Max > 0 {
		age = tx.RandomBetween(stale.Min, stale.Max, "stale read", p.question, tx.NextCount("stale read"))
	}
	if age <= 0 {
		return
	}
	if a, ok := recallAnswer(&regionStateOf(tx).answers, p.question, tx.Now(), age); ok {
		p.pastAnswer = &a
		return
	}
	p.age = age
}

func throttleRefusal(c *call) *world.Refusal {
	if c.api.Name == "servicediscovery" && strings.HasPrefix(c.op.name, "Discover") { // only its model has the code
		return world.Refuse("RequestLimitExceeded", "Rate exceeded")
	}
	return rateExceeded()
}

func regionStateOf(tx *world.Tx) *regionState {
	return world.PrivateState[regionState](tx.Region, "wire")
}

// recordAnswer stores the answer and writes the line of the log. No copy is needed: APIs do not
// keep their outputs, and wire only reads them.
func (s *Server) recordAnswer(c *call, p *callDecision, a answer) {
	quiet := s.quiet.Load()
	if quiet && p.question == "" {
		return
	}
	_ = s.world.Do(c.key, func(tx *world.Tx) error {
		if p.question != "" {
			a.at = tx.Now()
			s.answerFromObjects(tx, c, p, a)
			regionStateOf(tx).rememberAnswer(p.question, a)
			regionStateOf(tx).rememberObjects(c, a)
		}
		if !quiet {
			tx.Log("call", c.api.Name+"."+c.op.name, "%s", outcomeText(*p, a))
		}
		return nil
	})
}

func outcomeText(p callDecision, a answer) string {
	text := "ok"
	if a.ref != nil {
		text = a.ref.Error()
	}
	if p.pastAnswer != nil {
		text += ", answered as of " + p.pastAnswer.at.Format(timeFormat)
	}
	if o := p.injected.Outage; o != "" {
		text += ", the reply is " + string(o)
	}
	if p.injected.DropReply {
		text += ", reply dropped"
	}
	return text
}

func (s *Server) logCall(c *call, text string) {
	if s.quiet.Load() {
		return
	}
	_ = s.world.Do(c.key, func(tx *world.Tx) error {
		tx.Log("call", c.api.Name+"."+c.op.name, "%s", text)
		return nil
	})
}

// invokeOperation calls the API's method. In a strict world a panic is passed on; otherwise it
// becomes AWS's 500 and a line of the log.
func (s *Server) invokeOperation(c *call) (out reflect.Value, ref *world.Refusal) {
	if !s.world.IsStrict() {
		defer func() {
			if x := recover(); x != nil {
				s.logCall(c, fmt.Sprintf("panic: %v\n%s", x, debug.Stack()))
				out, ref = reflect.Value{}, (&Injected{Status: 500}).injectedRefusal()
			}
		}()
	}
	results := c.op.call.Call([]reflect.Value{reflect.ValueOf(c.ctx), c.in})
	if !results[1].IsNil() {
		err := results[1].Interface().(error)
		ref, ok := asRefusal(err)
		if !ok {
			s.logCall(c, "defect: "+err.Error())
		}
		return out, ref
	}
	if results[0].IsNil() {
		return reflect.New(c.op.out), nil
	}
	return results[0], nil
}
