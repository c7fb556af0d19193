package view_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/sluice-ecs/sluice/internal/view"
)

// What one read means for an outcome, before the minute is over and after it.
func TestDecide(t *testing.T) {
	good, lost := rule("1", to(blue, 100), to(green, 0)), rule("1", to(blue, 0), to(green, 0))
	serves, breaks := traffic(4, 0, Scope{}, good), traffic(4, 0, Scope{}, lost)
	unused := traffic(4, 0, Scope{}, rule("1", to(others, 100)))
	ill := traffic(1, 0, Scope{}, good)
	ill.Groups[0].Targets, ill.Groups[0].Unhealthy = 4, 3
	named := Scope{Rules: []string{"1"}}
	beside := rule("0", to(green, 1))
	beside.Conditions = []Condition{{Field: "path-pattern", Values: []string{"/a"}}}
	stale, fresh := traffic(4, 0, named, good, beside), traffic(4, 0, named, good)
	shared := traffic(4, 0, Scope{}, rule("1", to(blue, 1), to(others, 9)))
	const minute = ConfirmGrace
	all := Tasks{Running: 4, Desired: 4}
	const wait, failed, says = "wait", "failed", ""
	for name, c := range map[string]struct {
		confirm Confirmation
		now     Traffic
		tasks   Tasks
		early   string // the kind of decision before the minute is over
		late    string // and after it
		text    string // of both
	}{
		"served":                   {now: serves, tasks: all},
		"nobody sends":             {now: unused, tasks: all, text: NoRequests},
		"no weight":                {now: breaks, tasks: all, early: wait, late: failed, text: "callers get 503"},
		"no weight before":         {now: breaks, tasks: all, confirm: Confirmation{Before: breaks}, early: wait, late: failed, text: "callers get 503"},
		"allowed":                  {now: breaks, tasks: all, confirm: Confirmation{Before: breaks, AllowsBefore: true}, text: "did not reach the service before"},
		"allowed, but is new":      {now: breaks, tasks: all, confirm: Confirmation{Before: serves, AllowsBefore: true}, early: wait, late: failed, text: "callers get 503"},
		"a rule beside":            {now: stale, tasks: all, confirm: Confirmation{Before: fresh, IsBegun: true}, early: wait, late: failed, text: "rule 0 of port 80"},
		"a rule beside, as before": {now: stale, tasks: all, confirm: Confirmation{Before: stale, IsBegun: true}, text: "callers of a rule did not reach the service before, and do not now: rule 0"},
		"a rule beside in a wait":  {now: stale, tasks: all, confirm: Confirmation{Before: stale}, early: wait, late: failed, text: "rule 0 of port 80"},
		"shared, as before":        {now: shared, tasks: all, confirm: Confirmation{Before: shared, IsBegun: true}},
		"shared in a wait":         {now: shared, tasks: all, text: "another service gets requests too: rule 1 of port 80 forwards to blue 1, others 9"},
		"most are unhealthy":       {now: ill, tasks: all, early: wait, late: failed, text: "3 of 4 targets of blue are unhealthy"},
		"a task is missing":        {now: serves, tasks: Tasks{3, 4}},
		"a restored task is missing": {now: serves, tasks: Tasks{3, 4}, confirm: Confirmation{IsRollback: true},
			early: wait, text: "3 of 4 tasks run"},
		"a restored task has ended": {now: serves, tasks: Tasks{3, 3}, confirm: Confirmation{IsRollback: true},
			early: wait, text: "4 targets get requests, and 3 tasks run"},
		"a target of others": {now: serves, tasks: Tasks{3, 3}, confirm: Confirmation{IsRollback: true, Others: 1},
			text: "1 more target than the service has tasks gets a part of the requests"},
		"targets of others": {now: serves, tasks: Tasks{2, 2}, text: "2 more targets than the service has tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			for waited, want := range map[time.Duration]string{0: c.early, minute - time.Nanosecond: c.early, minute: c.late} {
				c.confirm.Says = "web:1 runs"
				confirm := c.confirm
				d := confirm.Decide(c.now, c.now.Problems(Traffic{}), c.tasks, waited)
				kind := says
				switch {
				case d.Wait != "":
					kind = wait
				case d.Failed:
					kind = failed
				}
				if got := d.Wait + d.Cause; kind != want || !strings.Contains(got, c.text) || c.text == "" && got != "" {
					t.Errorf("after %s: %q %+v, want %q", waited, kind, d, want)
				}
				if (d.Next != "") != (kind == failed && d.Cause != "" && len(c.now.Problems(Traffic{})) > 0) {
					t.Errorf("after %s: next %q", waited, d.Next)
				}
			}
		})
	}
}

// A name must resolve to a task that runs the version, and to no task that stopped. Name servers follow within a
// minute, which no read shows.
func TestDecideByName(t *testing.T) {
	good, all := Name{FullName: "api.local", HasDNS: true, Resolved: 4, Serving: 4, Command: "aws x"}, Tasks{4, 4}
	empty, others, dead, someOthers, ill := good, good, good, good, good
	empty.Resolved, empty.Serving, others.Serving, someOthers.Serving = 0, 0, 0, 3
	ill.Serving, ill.Unhealthy = 0, 4
	dead.Dead = []string{"a"}
	for name, c := range map[string]struct {
		name Name
		text string // of a failure; empty: callers get the version
	}{
		"served":              {good, ""},
		"empty":               {empty, "no instance is registered under api.local"},
		"only other versions": {others, "callers of api.local get 4 instances, and none is of a task that runs it"},
		"only unhealthy ones": {ill, "callers of api.local get 4 instances, and none is healthy"},
		"one of another":      {someOthers, ""},
		"a task has stopped":  {dead, "callers of api.local get 4 instances, and 1 of tasks that stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			confirm, now := Confirmation{Says: "web:2 runs"}, Traffic{Name: &c.name}
			if d := confirm.Decide(now, nil, all, 0); d.Wait != c.text || d.Failed || d.Cause != "" {
				t.Fatalf("first: %+v", d)
			}
			d := confirm.Decide(now, nil, all, ConfirmGrace)
			if d.Failed != (c.text != "") ||
				d.Failed && (d.Cause != "web:2 runs, but "+c.text || !strings.Contains(d.Next, "aws x")) {
				t.Errorf("after the minute: %+v", d)
			}
			if d := confirm.Decide(Traffic{Name: &good}, nil, all, ConfirmGrace-1); (d.Wait != "") != (c.text != "") {
				t.Errorf("mended within the minute: %+v", d)
			}
		})
	}
}

// The nodes of a Network Load Balancer learn of targets within a minute, which no read shows: if anything lacked, the
// whole minute is waited for.
func TestDecideWithNodes(t *testing.T) {
	r := rule("1", to(blue, 100))
	r.Protocol = "TCP"
	now := traffic(4, 0, Scope{}, r)
	c := Confirmation{IsRollback: true}
	for i, step := range []struct {
		running int
		waited  time.Duration
		waits   bool
	}{{3, 0, true}, {4, 5 * time.Second, true}, {4, ConfirmGrace - 1, true}, {4, ConfirmGrace, false}} {
		if d := c.Decide(now, nil, Tasks{step.running, 4}, step.waited); (d.Wait != "") != step.waits || d.Failed {
			t.Errorf("step %d: %+v", i, d)
		}
	}
	if d := (&Confirmation{IsRollback: true}).Decide(now, nil, Tasks{4, 4}, 0); d.Wait != "" {
		t.Errorf("nothing lacked: %+v", d)
	}
}

// Tasks that ended during a rollback may already be replaced. Nodes of a Network Load Balancer send requests to their
// targets for up to a minute; an Application Load Balancer does not.
func TestDecideWithDrainingTargets(t *testing.T) {
	for name, c := range map[string]struct {
		protocol string
		rollback bool
		share    int // of the group with the draining targets
		waits    bool
	}{
		"nodes":                             {"TCP", true, 100, true},
		"the group gets no requests":        {"TCP", true, 0, false},
		"no nodes":                          {"", true, 100, false},
		"a success: its tasks were watched": {"TCP", false, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rule("1", to(blue, c.share), to(green, 100-c.share))
			r.Protocol = c.protocol
			now := traffic(4, 4, Scope{}, r)
			now.Groups[0].Draining = 2
			confirm := Confirmation{IsRollback: c.rollback}
			for waited, waits := range map[time.Duration]bool{0: c.waits, ConfirmGrace - 1: c.waits, ConfirmGrace: false} {
				if d := confirm.Decide(now, nil, Tasks{4, 4}, waited); (d.Wait != "") != waits || d.Failed {
					t.Errorf("after %s: %+v, want to wait: %v", waited, d, waits)
				}
			}
		})
	}
}

// Nodes of an Application Load Balancer follow a mended rule within seconds, which no read shows: the outcome waits for
// them, also past the minute. A wait that must end waits for nothing.
func TestDecideAfterAMendedRule(t *testing.T) {
	good, lost := traffic(4, 0, Scope{}, rule("1", to(blue, 100))), traffic(4, 0, Scope{}, rule("1", to(blue, 0)))
	type read struct {
		traffic Traffic
		waited  time.Duration
		want    string
	}
	const wait, failed, says = "wait", "failed", ""
	const late = ConfirmGrace - time.Second
	for name, reads := range map[string][]read{
		"nothing was wrong": {{good, 0, says}},
		"mended": {{lost, 0, wait}, {good, time.Second, wait}, {good, time.Second + RulePropagation - 1, wait},
			{good, time.Second + RulePropagation, says}},
		"mended late":       {{lost, late - 1, wait}, {good, late, wait}, {good, late + RulePropagation - 1, wait}, {good, late + RulePropagation, says}},
		"broken again":      {{lost, 0, wait}, {good, 5 * time.Second, wait}, {lost, 10 * time.Second, wait}, {good, 15 * time.Second, wait}, {good, 24 * time.Second, wait}, {good, 25 * time.Second, says}},
		"broken again late": {{lost, 0, wait}, {good, late, wait}, {lost, late + time.Second, failed}},
		"the wait ends":     {{lost, 0, wait}, {good, NoMoreWaits, says}},
		"it ends later":     {{lost, 0, wait}, {good, 5 * time.Second, wait}, {good, NoMoreWaits, says}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Confirmation{Says: "web:2 runs"}
			for _, r := range reads {
				d, kind := c.Decide(r.traffic, r.traffic.Problems(Traffic{}), Tasks{4, 4}, r.waited), says
				switch {
				case d.Wait != "":
					kind = wait
				case d.Failed:
					kind = failed
				}
				if kind != r.want || kind == says && d.Cause != "" {
					t.Errorf("after %s: %q %+v, want %q", r.waited, kind, d, r.want)
				}
			}
		})
	}
}

// A rule that is new since the deployment began and gets a part of the requests first is told. It is no failure.
func TestDecideTellsOfNewRulesInFront(t *testing.T) {
	when := func(r Route, field string, values ...string) Route {
		if len(values) > 0 {
			r.Conditions = []Condition{{Field: field, Values: values}}
		}
		return r
	}
	fixed := when(rule("2"), "path-pattern", "/api/*")
	fixed.Action = "fixed-response"
	all := rule("default", to(blue, 100))
	shop := when(rule("7", to(blue, 100)), "host-header", "shop.example")
	for name, c := range map[string]struct {
		before, now []Route
		want        string
	}{
		"a fixed response": {[]Route{all}, []Route{fixed, all},
			"rule 2 of port 80 is new and gets the requests for path /api/*, whose action is fixed-response"},
		"another service": {[]Route{all}, []Route{when(rule("3", to(others, 1)), "path-pattern", "/api/*"), all},
			"rule 3 of port 80 is new and gets the requests for path /api/*, which forwards to others 1"},
		"it was there before": {[]Route{fixed, all}, []Route{fixed, all}, ""},
		"to the service too":  {[]Route{all}, []Route{when(rule("3", to(blue, 1)), "path-pattern", "/api/*"), all}, ""},
		"behind the rule":     {[]Route{rule("1", to(blue, 1))}, []Route{rule("1", to(blue, 1)), fixed}, ""},
		"for another host": {[]Route{shop},
			[]Route{when(rule("3", to(others, 1)), "host-header", "blog.example"), shop}, ""},
		"for a path of each host": {[]Route{shop}, []Route{fixed, shop},
			"rule 2 of port 80 is new and gets the requests for path /api/*"},
		"behind one that was there": {[]Route{when(rule("1", to(others, 1)), "path-pattern", "/a*"), all},
			[]Route{when(rule("1", to(others, 1)), "path-pattern", "/a*"), fixed, all}, ""},
		"for a part of a host": {[]Route{shop}, []Route{inHost(fixed, shop), shop}, "rule 2 of port 80 is new"},
	} {
		t.Run(name, func(t *testing.T) {
			confirm := Confirmation{Says: "web:2 runs", Before: traffic(4, 0, Scope{}, c.before...)}
			now := traffic(4, 0, Scope{}, c.now...)
			d := confirm.Decide(now, now.Problems(confirm.Before), Tasks{4, 4}, 0)
			if d.Failed || d.Wait != "" || !strings.Contains(d.Cause, c.want) || c.want == "" && d.Cause != "" {
				t.Errorf("%+v, want %q", d, c.want)
			}
			confirm.Before.FrontRead = false // of an earlier version
			if d := confirm.Decide(now, nil, Tasks{4, 4}, 0); d.Cause != "" {
				t.Errorf("without an earlier read: %+v", d)
			}
		})
	}
}

// inHost returns a rule for the host of another rule.
func inHost(r, other Route) Route {
	r.Conditions = append([]Condition{}, append(r.Conditions, other.Conditions...)...)
	return r
}
