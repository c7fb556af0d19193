// Package eventtest checks that front ends have words for every kind of event. It fills the events
// by their types, so a new kind needs no entry here: it fails in each front end that prints nothing
// for it and does not say why. Start reading at [Run].
package eventtest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
)

// FrontEnd is an output that shows the events of a deployment.
type FrontEnd struct {
	Name string
	// Show returns the output for one event; "" if there is none.
	Show func(*testing.T, sluice.Envelope) string
	// Silent has a reason for each kind of event that has no output on purpose.
	Silent map[string]string
}

// Run asks each front end for its output for each kind of event.
func Run(t *testing.T, frontEnds ...FrontEnd) {
	samples := Samples()
	for _, f := range frontEnds {
		t.Run(f.Name, func(t *testing.T) {
			kinds := map[string]bool{}
			for _, e := range samples {
				kinds[e.Kind] = true
				if problem := problemOf(f, e.Kind, f.Show(t, e)); problem != "" {
					t.Error(problem)
				}
			}
			for kind := range f.Silent {
				if !kinds[kind] {
					t.Errorf("event %s does not exist: remove it from Silent", kind)
				}
			}
		})
	}
}

// problemOf returns the problem of one output; "" if there is none.
func problemOf(f FrontEnd, kind, output string) string {
	reason, silent := f.Silent[kind]
	switch shown := strings.TrimSpace(output) != ""; {
	case !shown && !silent:
		return fmt.Sprintf("event %s has no words in %s: add them, or list it under Silent with a reason", kind, f.Name)
	case shown && silent:
		return fmt.Sprintf("event %s is listed as silent in %s and prints %q", kind, f.Name, output)
	case silent && len(strings.Fields(reason)) < 3:
		return fmt.Sprintf("event %s is silent in %s without a reason", kind, f.Name)
	}
	return ""
}

// Samples returns an event of each kind, in an envelope. Every field has a value.
func Samples() []sluice.Envelope {
	var all []sluice.Envelope
	for _, zero := range sluice.Events() {
		e := sluice.Seal("slc-1", "2 ECS_TRAFFIC_ROUTING", sampleOf(zero))
		e.Seq, e.At = int64(len(all)+1), sampleTime()
		all = append(all, e)
	}
	return all
}

func sampleTime() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }

// sampleOf returns an event of the type of zero with values that a deployment can have.
func sampleOf(zero sluice.Event) sluice.Event {
	v := reflect.New(reflect.TypeOf(zero))
	fillValue(v.Elem(), "")
	switch e := v.Interface().(type) {
	case *sluice.TrafficShifted:
		e.FromPrimary, e.FromCanary, e.ToPrimary, e.ToCanary = 100, 0, 60, 40
	case *sluice.StageEnded:
		e.Status = "failed"
	case *sluice.Unanswered:
		e.Over = false
	case *sluice.RequestsCounted:
		e.Problem = ""
	case *sluice.ApprovalAwaited:
		e.Undecided = ""
	case *sluice.GateRead:
		e.Problem, e.Verdict = "", sluice.GateUndecided
	}
	return v.Elem().Interface().(sluice.Event)
}

// fillValue sets v and each field and element of it. Texts contain the name of their field.
func fillValue(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		if v.SetString("some " + field); v.Type() == reflect.TypeFor[sluice.Variant]() {
			v.SetString(string(sluice.Canary))
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), field)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), field)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(sampleTime()))
			return
		}
		for i := range v.NumField() {
			fillValue(v.Field(i), strings.ToLower(v.Type().Field(i).Name))
		}
	default:
		panic(fmt.Sprintf("field %s: no sample of a %s: add one to fillValue", field, v.Type()))
	}
}
