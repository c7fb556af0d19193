package mode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// checkGates refuses gates that cannot judge anything: where no canary gets requests, or where AWS has no
// metrics of them.
func checkGates(p *plan.Plan, app *appfile.Application) error {
	steered := false
	for i, s := range p.Stages {
		steered = steered || p.ReadsPipelineGates(i)
		for _, g := range s.Gates {
			if err := checkGate(p, g, p.JudgesCanary(i), s.PlanOp()); err != nil {
				return err
			}
		}
	}
	if p.QuickSync {
		return nil // a deployment without its pipeline has no canary to judge
	}
	for _, g := range p.Gates {
		op := placeOfGate(app, g) + ": plan the gates of the pipeline"
		if !steered {
			return &sluice.Error{Op: op, Resource: p.ServiceResource(),
				Err:  fmt.Errorf("gate %s is never evaluated: no stage waits while the canary gets requests", g.Name),
				Next: "add a stage WAIT or ANALYSIS between ECS_TRAFFIC_ROUTING and ECS_PRIMARY_ROLLOUT"}
		}
		if err := checkGate(p, g, steered, op); err != nil {
			return err
		}
		soonest, _ := g.FirstValue()
		if d, isLeast := p.PipelineGatesTime(); !isLeast && g.After+soonest > d {
			return &sluice.Error{Op: op, Resource: p.ServiceResource(),
				Err: fmt.Errorf("gate %s cannot have a value before %s, and the stages that wait while the canary gets requests "+
					"take %s", g.Name, plan.FormatDuration(g.After+soonest), plan.FormatDuration(d)),
				Next: "raise the duration of the WAIT or ANALYSIS"}
		}
	}
	return nil
}

func placeOfGate(app *appfile.Application, g appfile.Gate) string {
	return fmt.Sprintf("%s:%d", app.File, g.Line)
}

// warnShortGates warns about gates that have no value at the end of their time unless a minute, or a stage between,
// ends in time. The end asks a person then, or fails.
func warnShortGates(p *plan.Plan, app *appfile.Application) {
	warn := func(g appfile.Gate, d time.Duration) {
		soonest, latest := g.FirstValue()
		if g.After+latest > d {
			addWarningAt(p, placeOfGate(app, g), "gate %s may have no value at the end: it has the first one after %s to %s, and "+
				"judges for %s. Raise the duration of the stage", g.Name, plan.FormatDuration(g.After+soonest),
				plan.FormatDuration(g.After+latest), plan.FormatDuration(d))
		}
	}
	for _, s := range p.Stages {
		for _, g := range s.Gates {
			warn(g, s.Duration)
		}
	}
	last := plan.Stage{}
	for i, s := range p.Stages {
		if p.ReadsPipelineGates(i) {
			last = s
		}
	}
	if d, _ := p.PipelineGatesTime(); last.Name != "" && !last.NeedsApproval() {
		for _, g := range p.Gates {
			warn(g, d)
		}
	}
}

// noteGates notes the gates of the whole pipeline, and where gates of PipeCD's files differ from PipeCD.
func noteGates(p *plan.Plan) {
	if len(p.Gates) > 0 && !p.QuickSync {
		p.Notes = append(slices.Clone(p.Notes), "gates of the whole pipeline, while the canary gets requests"+
			strings.TrimPrefix(gatesText(plan.Stage{Gates: p.Gates}), "; gates"))
	}
	for _, s := range p.Stages {
		for _, g := range s.Gates {
			if g.How.PipeCD && g.Read.Provider != nil && !g.Counts() && !g.How.SkipOnNoData {
				p.Notes = append(slices.Clone(p.Notes), "a gate fails if no reading has a value; PipeCD passes it if all ranges were "+
					"empty. If no value is good, set skipOnNoData, or let the query return 0")
				return
			}
		}
	}
}

// steerAdvice says how the canary gets requests while a gate judges it. A gate that compares two series may judge one alone
// instead; a count of requests, as that of a signal, has no range.
func steerAdvice(p *plan.Plan, g appfile.Gate) string {
	next := "add ECS_TRAFFIC_ROUTING with a share for the canary before the stage"
	if slices.ContainsFunc(p.Stages, func(s plan.Stage) bool { return s.ShiftsTraffic() && s.Weights.Canary() > 0 }) {
		next = "move the stage between ECS_TRAFFIC_ROUTING with a share for the canary and ECS_PRIMARY_ROLLOUT"
	}
	if !g.Counts() {
		next += ", or use the strategy THRESHOLD"
	}
	return next
}

// checkGate refuses one gate. steered: the canary gets requests next to the previous version.
func checkGate(p *plan.Plan, g appfile.Gate, steered bool, op string) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: op, Resource: p.ServiceResource(), Err: fmt.Errorf(format, args...), Next: next}
	}
	if !g.Counts() && !g.Compares() {
		return nil // the gate does not need two variants
	}
	if !steered {
		return problem(steerAdvice(p, g), "gate %s judges requests of the canary, but no canary gets requests then", g.Name)
	}
	if g.Read.Signal == nil {
		return nil
	}
	if p.Access != sluice.ELB || p.Primary == nil || p.Canary == nil || p.Balancer != plan.ApplicationBalancer &&
		p.Balancer != "" {
		return problem("name a provider with queries of your own metrics",
			"gate %s reads metrics of an Application Load Balancer with two target groups, and the service has none", g.Name)
	}
	return nil
}
