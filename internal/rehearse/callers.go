package rehearse

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// callers are the modelled callers of the service, and what they got.
type callers struct {
	env        *Environment
	report     *Report
	deployment *Deployment

	tallies     []*loadgen.Tally
	nameTallies []*loadgen.NameTally
	nameOutages []string // when the name led to no serving task
}

// attachNameCallers starts callers that resolve the name: some by DNS, some by DiscoverInstances.
func (cs *callers) attachNameCallers() {
	for _, c := range []loadgen.NameCaller{
		{},
		{KeepAlive: 30 * time.Second, Retry: true},
		{Poll: 10 * time.Second, Query: cloudmap.Query{Health: cloudmap.HealthyOrAny}},
	} {
		if cs.env.Case.World.Naming.HTTP && c.Poll == 0 {
			continue
		}
		c.Record = cs.env.Case.World.Naming.Records
		c.Key, c.Namespace, c.Service, c.Port, c.Rate = cs.env.worldKey(), shape.Namespace, cs.env.Case.World.Service,
			cs.env.Case.World.Port,
			float64(cmp.Or(cs.env.Case.World.Rate, Rate))
		cs.nameTallies = append(cs.nameTallies, loadgen.AttachByName(cs.env.Sim.World(), cs.env.Sim.Registry(), c))
	}
}

// attachCallers starts callers of each rule.
func (cs *callers) attachCallers() {
	w := cs.env.Case.World
	w.EachRule(func(l shape.Listener, r shape.Rule) {
		cs.tallies = append(cs.tallies, loadgen.Attach(cs.env.Sim.World(), cs.env.Sim.Balancer(),
			loadgen.Caller{Key: cs.env.worldKey(), Balancer: w.Balancer, Port: l.Port,
				Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web",
					Path: cmp.Or(strings.TrimSuffix(r.Path, "*"), "/")}, Rate: float64(cmp.Or(w.Rate, Rate)),
				Hold: connectionHold}))
	})
}

// requestReports returns the results of the callers of each rule, in the order of the rules, and of those by name.
func (cs *callers) requestReports() (all []loadgen.Report) {
	for _, t := range cs.tallies {
		all = append(all, t.Report())
	}
	for _, t := range cs.nameTallies {
		all = append(all, t.Report().Report)
	}
	return all
}

// callerReports returns the results of all callers' requests.
func (cs *callers) callerReports() (all []loadgen.Report) {
	for _, t := range cs.tallies {
		all = append(all, t.Report())
	}
	for _, t := range cs.nameTallies {
		r := t.Report()
		all = append(all, r.Report)
		for _, b := range r.Outages {
			cs.nameOutages = append(cs.nameOutages, fmt.Sprintf("%s to %s after the start: %s",
				b.From.Sub(cs.deployment.startedAt).Round(time.Second),
				b.Till.Sub(cs.deployment.startedAt).Round(time.Second), b.Why))
		}
	}
	return all
}

// summarizeTraffic sums up what the callers got during the deployment.
func (cs *callers) summarizeTraffic() {
	r := &cs.report.Result
	r.Took = cs.env.Clock.Now().Sub(cs.deployment.startedAt)
	for _, report := range cs.callerReports() {
		r.Requests += report.Requests
		r.Failed += report.Failed
		for _, l := range report.First {
			if len(r.Losses) < 5 {
				r.Losses = append(r.Losses, fmt.Sprintf("%s after the start: %.1f requests: %s (%s %s)",
					l.At.Sub(cs.deployment.startedAt).Round(time.Second), l.Requests, l.Cause, l.Group, l.Target))
			}
		}
		for _, w := range report.Worst {
			if w.Version == "new" {
				r.WorstShare = max(r.WorstShare, w.Share)
			}
		}
		cs.measureExposure(report)
	}
}

// measureExposure measures how long the new version had requests, and when it had none again.
func (cs *callers) measureExposure(report loadgen.Report) {
	var first, last time.Time
	var exposed time.Duration
	with := false
	until := cs.env.Clock.Now()
	for i, h := range report.History {
		share := 0.0
		for _, s := range h.Shares {
			if s.Version == "new" {
				share += s.Share
			}
		}
		end := until
		if i+1 < len(report.History) {
			end = report.History[i+1].At
		}
		with = share > 0
		if !with {
			continue
		}
		if first.IsZero() {
			first = h.At
		}
		last = end
		exposed += end.Sub(h.At)
	}
	cs.report.Result.Exposed = max(cs.report.Result.Exposed, exposed)
	if !with && !first.IsZero() {
		cs.report.Result.TimeToSafety = max(cs.report.Result.TimeToSafety, last.Sub(first))
	}
}
