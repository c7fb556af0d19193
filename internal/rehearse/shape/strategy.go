package shape

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Strategy is ECS's own strategy of a service, with which ECS itself shifts the requests from one target group to the
// other. The zero value is ROLLING.
type Strategy struct {
	Kind     string // of the deployment: BLUE_GREEN, LINEAR or CANARY
	TestRule string // ARN of the test listener rule, or of the test listener of a Network Load Balancer; empty: none
	Pauses   bool   // a hook waits for an answer
	// Serving is the service before the deployment, except for the image of Container. Nil: the service
	// has neither a strategy nor a pair of target groups.
	Serving   *ServiceEntry
	Container string
	Generated Generated
}

// Generated is the configuration of a strategy in generated files; times are in minutes.
type Generated struct {
	Percent, StepBake, Bake int
	Pause                   string // lifecycle stage with a hook that a person answers; empty: none
}

// AlternatesGroups reports whether either target group of a pair may serve, because deployments shift the requests
// from one to the other.
func (w World) AlternatesGroups() bool { return w.UsesCodeDeploy() || w.Strategy.Serving != nil }

// SetStrategy sets ECS's own strategy of the files, with the target groups and the rules of its advancedConfiguration.
// A rolling service may have that too, for a later strategy.
func (w *World) SetStrategy(app *appfile.Application) error {
	if w.Controller != "ECS" {
		return nil
	}
	pair := firstPair(app.Service.Input.LoadBalancers)
	if c := app.Service.Input.DeploymentConfiguration; c != nil && isShifting(c.Strategy) {
		w.Strategy.Kind = string(c.Strategy)
		for _, h := range c.LifecycleHooks {
			w.Strategy.Pauses = w.Strategy.Pauses || h.TargetType == ecstypes.DeploymentLifecycleHookTargetTypePause
		}
	}
	if pair == nil && w.Strategy.Kind == "" {
		return nil
	}
	w.setPair(pair)
	return w.setServing(app, app.Service.JSON)
}

func isShifting(s ecstypes.DeploymentStrategy) bool {
	return s != "" && s != ecstypes.DeploymentStrategyRolling
}

// setServing sets the definitions of the service before the deployment.
func (w *World) setServing(app *appfile.Application, service func() ([]byte, error)) error {
	s, err := NewServiceEntry(w.Service, "", 0, app.Task.JSON, service)
	w.Strategy.Serving, w.Strategy.Container = &s, MainContainer(app)
	return err
}

// setPair sets the second target group of a pair and its test rule.
func (w *World) setPair(a *ecstypes.AdvancedConfiguration) {
	if a != nil {
		if w.Canary.ARN == "" {
			w.Canary = w.Primary
		}
		w.Canary.ARN, w.Strategy.TestRule = aws.ToString(a.AlternateTargetGroupArn), aws.ToString(a.TestListenerRule)
	}
}

// firstPair returns the advancedConfiguration of the load balancer whose requests are modelled, or nil.
func firstPair(lbs []ecstypes.LoadBalancer) *ecstypes.AdvancedConfiguration {
	if len(lbs) > 0 {
		return lbs[0].AdvancedConfiguration
	}
	return nil
}

// productionRules returns the rules that the files name: in the application file, or as production rule of ECS's own
// strategy.
func (w *World) productionRules(app *appfile.Application) []string {
	if a := firstPair(app.Service.Input.LoadBalancers); a != nil && w.Strategy.Serving != nil &&
		aws.ToString(a.ProductionListenerRule) != "" {
		return []string{*a.ProductionListenerRule}
	}
	return app.ListenerRules
}

// MainContainer returns the name of the container that callers reach, otherwise of the first essential one.
func MainContainer(app *appfile.Application) string {
	if app.Primary != nil && app.Primary.Container != "" {
		return app.Primary.Container
	}
	if app.Service != nil {
		for _, lb := range app.Service.Input.LoadBalancers {
			if lb.ContainerName != nil {
				return *lb.ContainerName
			}
		}
	}
	return plan.FirstEssential(app.Task)
}

// WithImage returns a service in AWS's shape in which a container has another image, and the image it
// had; empty: it has no such container.
func (s ServiceEntry) WithImage(name string, image func(was string) string) (changed ServiceEntry, was string) {
	containers, _ := s.TaskDefinition["containerDefinitions"].([]any)
	all := make([]any, len(containers))
	for i, c := range containers {
		container, _ := c.(map[string]any)
		ref, _ := container["image"].(string)
		if all[i] = c; was == "" && ref != "" && container["name"] == name {
			was, container = ref, maps.Clone(container)
			container["image"] = image(ref)
			all[i] = container
		}
	}
	s.TaskDefinition = maps.Clone(s.TaskDefinition)
	s.TaskDefinition["containerDefinitions"] = all
	return s, was
}

// serviceEntry returns the service with ECS's own strategy.
func (s Strategy) serviceEntry(w World, serving string) ServiceEntry {
	out, _ := s.Serving.WithImage(s.Container, func(string) string { return serving })
	out.AWS = maps.Clone(out.AWS)
	if n, ok := out.AWS["networkConfiguration"].(map[string]any); ok {
		vpc, _ := n["awsvpcConfiguration"].(map[string]any)
		vpc = maps.Clone(vpc)
		vpc["subnets"] = w.Subnets
		out.AWS["networkConfiguration"] = map[string]any{"awsvpcConfiguration": vpc}
	}
	delete(out.AWS, "desiredCount") // the count of the world takes its place
	out.Count, out.Demand = w.Tasks, w.Scaling.demand(w.Tasks)
	return out
}

// OtherRule is a rule, or a listener of a Network Load Balancer, to which a world sends no modelled requests.
type OtherRule struct {
	ARN     string // empty: the local AWS's own
	Groups  []Group
	Network bool // ARN is of a listener, whose default action forwards
}

// ListenerARN returns the ARN of the listener; empty: the local AWS's own.
func (r OtherRule) ListenerARN() string { return sluice.RuleOfARN(r.ARN).Listener }

// setOtherRules adds the test rule of ECS's own strategy, and the target groups of further load
// balancers of the service with their rules.
func (w *World) setOtherRules(lbs []ecstypes.LoadBalancer) {
	add := func(rule *string, groups ...Group) {
		arn := aws.ToString(rule)
		if slices.ContainsFunc(w.OtherRules, func(r OtherRule) bool { return r.ARN == arn && r.Groups[0] == groups[0] }) {
			return
		}
		r := OtherRule{ARN: arn, Groups: groups, Network: strings.Contains(arn, networkListener)}
		w.OtherRules = append(w.OtherRules, r)
	}
	if w.Strategy.TestRule != "" {
		add(&w.Strategy.TestRule, w.Primary, w.Canary)
	}
	for _, lb := range lbs {
		arn := aws.ToString(lb.TargetGroupArn)
		if arn == "" || arn == w.Primary.ARN || arn == w.Canary.ARN {
			continue
		}
		g := w.Primary
		g.ARN = arn
		a := lb.AdvancedConfiguration
		if a == nil || w.Strategy.Serving == nil {
			add(nil, g)
			continue
		}
		other := g
		other.ARN = aws.ToString(a.AlternateTargetGroupArn)
		for _, rule := range []*string{a.ProductionListenerRule, a.TestListenerRule} {
			if aws.ToString(rule) != "" {
				add(rule, g, other)
			}
		}
	}
}

// allGroups returns every target group of the service; one that several rules name, several times.
func (w *World) allGroups() (all []*Group) {
	for _, g := range []*Group{&w.Primary, &w.Canary} {
		if g.ARN != "" {
			all = append(all, g)
		}
	}
	for _, r := range w.OtherRules {
		for i := range r.Groups {
			all = append(all, &r.Groups[i])
		}
	}
	return all
}

// OtherGroups returns the target groups of the service besides the two whose requests are modelled.
func (w World) OtherGroups() (all []Group) {
	seen := map[string]bool{w.Primary.ARN: true, w.Canary.ARN: true}
	for _, r := range w.OtherRules {
		for _, g := range r.Groups {
			if !seen[g.ARN] {
				seen[g.ARN] = true
				all = append(all, g)
			}
		}
	}
	return all
}

// shares returns the target groups of the rule: all requests go to the first.
func (r OtherRule) shares() (all Shares) {
	for _, g := range r.Groups {
		all = append(all, sluice.Share{Group: g.Name()})
	}
	all[0].Weight = 100
	return all
}

// IsDefault reports whether the rule is the default action of its listener.
func (r OtherRule) IsDefault() bool { return r.Network || r.ARN == "" }
