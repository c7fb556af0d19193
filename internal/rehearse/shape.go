package rehearse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// FromFiles is the world that an application's files ask for. What they do not
// tell is as AWS has it by default: two tasks, health checks every 30 s of which
// five must pass, drains of 300 s.
func FromFiles(app *appfile.Application) (World, error) {
	if app.Service == nil {
		return World{}, &sluice.Error{Op: "rehearse", Resource: app.File, Err: fmt.Errorf("it is a standalone task: there is no service to deploy")}
	}
	in := app.Service.Input
	w := World{Account: "123456789012", Region: "us-east-1", Cluster: sluice.ARNName(app.Cluster), Controller: "ECS", Tasks: 2, Port: 80, Subnets: subnets(2)}
	if w.Cluster == "" {
		w.Cluster = "default"
	}
	if app.Region != "" {
		w.Region = app.Region
	}
	w.Service = *in.ServiceName
	if c := in.DeploymentController; c != nil && c.Type != "" {
		w.Controller = string(c.Type)
	}
	if in.DesiredCount != nil {
		w.Tasks = int(*in.DesiredCount)
	}
	if in.HealthCheckGracePeriodSeconds != nil {
		w.Grace = time.Duration(*in.HealthCheckGracePeriodSeconds) * time.Second
	}
	if n := in.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil && len(n.AwsvpcConfiguration.Subnets) > 0 {
		w.Subnets = n.AwsvpcConfiguration.Subnets[:min(3, len(n.AwsvpcConfiguration.Subnets))]
	}
	w.groups(app)
	w.listeners(app)
	return w, nil
}

// groups takes the target groups' ARNs from the files.
func (w *World) groups(app *appfile.Application) {
	usual := Group{Interval: 30 * time.Second, Timeout: 5 * time.Second, Healthy: 5, Unhealthy: 2, Drain: 300 * time.Second}
	set := func(g *Group, arn string, port int32) {
		*g = usual
		g.ARN = arn
		if port > 0 {
			w.Port = port
		}
		if parts := strings.Split(arn, ":"); len(parts) > 5 {
			w.Region, w.Account = parts[3], parts[4]
		}
	}
	if app.Primary != nil {
		set(&w.Primary, app.Primary.ARN, app.Primary.Port)
	}
	if app.Canary != nil {
		set(&w.Canary, app.Canary.ARN, app.Canary.Port)
	}
	if lbs := app.Service.Input.LoadBalancers; app.Primary == nil && len(lbs) > 0 && lbs[0].TargetGroupArn != nil {
		set(&w.Primary, *lbs[0].TargetGroupArn, 0)
		if lbs[0].ContainerPort != nil {
			w.Port = *lbs[0].ContainerPort
		}
	}
}

// listeners makes the rules that the file names, else one listener whose default
// rule sends everything to the primary.
func (w *World) listeners(app *appfile.Application) {
	if w.Primary.ARN == "" {
		return
	}
	w.Balancer = fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:loadbalancer/app/rehearsal/%s", w.Region, w.Account, hexes)
	l := Listener{Port: 80}
	for i, arn := range app.ListenerRules {
		if before, _, ok := cutLast(strings.Replace(arn, ":listener-rule/", ":listener/", 1), "/"); ok && strings.Contains(arn, ":listener-rule/") {
			l.ARN = before
			parts := strings.Split(before, "/")
			w.Balancer = fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:loadbalancer/app/%s/%s", w.Region, w.Account, parts[2], parts[3])
		}
		l.Rules = append(l.Rules, Rule{ARN: arn, Priority: 10 * (i + 1), Path: fmt.Sprintf("/rule%d", i+1), Primary: 100})
	}
	if len(l.Rules) == 0 {
		l.Rules = []Rule{{Primary: 100, Path: "/"}}
	}
	w.Listeners = []Listener{l}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// FromLive is the world in the shape of the service that runs: counts, timings of
// health checks and drains, rules with their weights. It reads and writes nothing.
func FromLive(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application) (World, error) {
	w, err := FromFiles(app)
	if err != nil {
		return w, err
	}
	live, err := stage.Survey(ctx, a, c, app)
	if err != nil {
		return w, err
	}
	w.Account, w.Region = live.Account, live.Region
	if live.Service == nil {
		return w, &sluice.Error{Op: "take the shape of the service", Resource: w.Cluster + "/" + w.Service, Kind: sluice.NotFound,
			Err: fmt.Errorf("it does not exist"), Next: "leave --from-live away: the files are rehearsed in a world of the usual shape"}
	}
	w.Tasks = int(live.Service.DesiredCount)
	if d := live.Service.DeploymentController; d != nil {
		w.Controller = string(d.Type)
	}
	if s := live.Service.HealthCheckGracePeriodSeconds; s != nil {
		w.Grace = time.Duration(*s) * time.Second
	}
	return w, w.measure(ctx, a)
}

// measure takes timings and rules from the load balancer.
func (w *World) measure(ctx context.Context, a *account.Account) error {
	if w.Primary.ARN == "" {
		return nil
	}
	var listeners []string
	for _, g := range []*Group{&w.Primary, &w.Canary} {
		if g.ARN == "" {
			continue
		}
		places, err := alb.Find(ctx, a.ELB(), g.ARN)
		if err != nil {
			return err
		}
		p := places[0]
		if err := p.Attach(ctx, a.ELB()); err != nil {
			return err
		}
		g.Interval, g.Timeout, g.Healthy, g.Unhealthy = p.Interval, p.Timeout, p.HealthyAfter, p.UnhealthyAfter
		if p.Balancer != "" {
			g.Drain = time.Duration(p.Drain) * time.Second
		}
		if g == &w.Primary {
			w.Balancer, listeners = p.Balancer, p.Listeners
		}
	}
	if w.Balancer == "" {
		return nil
	}
	return w.ruled(ctx, a, listeners)
}

func (w *World) ruled(ctx context.Context, a *account.Account, listeners []string) error {
	d := &alb.Driver{API: a.ELB(), Pair: alb.Pair{Primary: w.Primary.ARN, Canary: w.Canary.ARN}, Listeners: listeners}
	rules, err := d.Rules(ctx)
	if err != nil {
		return err
	}
	byListener := map[string]int{}
	var found []Listener
	for _, r := range rules {
		primary, ok := r.Weight(w.Primary.ARN)
		canary, paired := r.Weight(w.Canary.ARN)
		if !ok || len(r.Forward) > 2 || len(r.Forward) == 2 && !paired {
			continue
		}
		i, known := byListener[r.Listener]
		if !known {
			i = len(found)
			byListener[r.Listener] = i
			found = append(found, Listener{ARN: r.Listener, Port: int32(r.Port)})
		}
		n := len(found[i].Rules) + 1
		rule := Rule{ARN: r.ARN, Priority: 10 * n, Path: fmt.Sprintf("/rule%d", n), Primary: primary, Canary: canary, Alone: len(r.Forward) == 1, Sticky: stickiness(r)}
		if r.Default() {
			rule.Priority, rule.Path, rule.ARN = 0, "/", ""
		}
		found[i].Rules = append(found[i].Rules, rule)
	}
	if len(found) > 0 {
		w.Listeners = found
	}
	return nil
}

func stickiness(r alb.Rule) time.Duration {
	for _, a := range r.Actions {
		if a.ForwardConfig == nil || a.ForwardConfig.TargetGroupStickinessConfig == nil {
			continue
		}
		if s := a.ForwardConfig.TargetGroupStickinessConfig; s.Enabled != nil && *s.Enabled && s.DurationSeconds != nil {
			return time.Duration(*s.DurationSeconds) * time.Second
		}
	}
	return 0
}

// Advice is what the shape and the application's files alone show to be unsafe or
// slow.
func Advice(w World, app *appfile.Application) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if w.Primary.ARN != "" {
		w.advise(say)
	}
	if w.Tasks < 2 {
		say("the service has %s: while it is replaced by a crash, nothing serves", sluice.Plural(w.Tasks, "task"))
	}
	if len(w.Subnets) < 2 {
		say("all tasks stand in one zone")
	}
	if app.Recreate {
		say("recreate stops the old tasks before the new ones start: every request in between is lost")
	}
	if start := 90*time.Second + w.Primary.Interval; app.ProgressDeadline < start {
		say("progressDeadline %s is shorter than a start may take with its first health check (%s)", app.ProgressDeadline, start)
	}
	if !app.AutoRollback {
		say("autoRollback is off: a bad version stays until a person acts")
	}
	if c := app.Service.Input.DeploymentConfiguration; c != nil && c.MinimumHealthyPercent != nil && *c.MinimumHealthyPercent < 100 {
		say("minimumHealthyPercent %d lets ECS stop serving tasks before new ones serve", *c.MinimumHealthyPercent)
	}
	if w.Controller != "ECS" { // ECS's own update goes in batches
		pipelineAdvice(app, say)
	}
	return all
}

func (w World) advise(say func(string, ...any)) {
	switch d := w.Primary.Drain; {
	case d == 0:
		say("deregistration delay 0: every request in flight is cut off when a task goes")
	case d >= 2*time.Minute:
		say("deregistration delay %s makes each removal of tasks take that long; 30 s would lose nothing here, where requests last 1.5 s", d)
	}
	if w.Primary.Interval >= 30*time.Second {
		say("health checks every %s: each new task waits up to that long for its first; 5 s or 10 s would shorten every stage", w.Primary.Interval)
	}
	if w.Primary.Timeout >= w.Primary.Interval {
		say("the health check's timeout %s is not shorter than its interval %s", w.Primary.Timeout, w.Primary.Interval)
	}
}

func pipelineAdvice(app *appfile.Application, say func(string, ...any)) {
	if len(app.Pipeline) == 0 {
		say("there is no pipeline: every request goes to the new version at once")
		return
	}
	waits, canary, cleaned := false, false, false
	for _, s := range app.Pipeline {
		switch s.Name {
		case appfile.StageWait, appfile.StageApproval:
			waits = true
		case appfile.StageCanaryRollout:
			canary, cleaned = true, false
		case appfile.StageCanaryClean:
			cleaned = true
		}
	}
	if canary && !waits {
		say("no WAIT and no WAIT_APPROVAL: what takes a minute to show is seen by everybody")
	}
	if canary && !cleaned {
		say("the pipeline leaves the canary running: it needs ECS_CANARY_CLEAN")
	}
}
