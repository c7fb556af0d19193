package mode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// checkGates refuses gates that cannot judge anything: where no canary gets requests, or where AWS has no
// metrics of them.
func checkGates(p *plan.Plan, live plan.AWSState) error {
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
		if !steered {
			return &sluice.Error{Op: "plan the gates of the pipeline", Resource: p.ServiceResource(),
				Err:  fmt.Errorf("gate %s is never evaluated: no stage waits while the canary gets requests", g.Name),
				Next: "add a stage WAIT or ANALYSIS between ECS_TRAFFIC_ROUTING and ECS_PRIMARY_ROLLOUT"}
		}
		if err := checkGate(p, g, steered, "plan the gates of the pipeline"); err != nil {
			return err
		}
	}
	return nil
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
