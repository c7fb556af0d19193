package shape

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// FromLive returns a world in the shape of the real service: counts, zones, start times, timings of
// health checks and drains, rules with their weights, auto scaling, requests. Values of the
// application file take precedence. It reads and does not write.
func FromLive(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application) (World, error) {
	w, err := fromFiles(app)
	if err != nil {
		return w, err
	}
	live, err := survey.ReadInputs(ctx, a, c, app)
	if err != nil {
		return w, err
	}
	w.Account, w.Region, w.Named = live.Account, live.Region, Surroundings{}
	w.Named.AddApplication(app, w.Account, w.Region)
	if live.Service == nil {
		return w, &sluice.Error{Op: "read the service", Resource: w.Cluster + "/" + w.Service,
			Kind: sluice.NotFound,
			Err:  fmt.Errorf("the service does not exist"),
			Next: "omit --from-live to rehearse with the values of the files and the defaults of AWS"}
	}
	w.setMembers(&live.Service.DesiredCount, live.Service.DeploymentController, live.Service.HealthCheckGracePeriodSeconds)
	if err := w.measureTasks(ctx, a); err != nil {
		return w, err
	}
	if c := live.Service.DeploymentConfiguration; c != nil && w.Controller == "ECS" && c.MinimumHealthyPercent != nil &&
		c.MaximumPercent != nil {
		w.Percents = Percents{int(*c.MinimumHealthyPercent), int(*c.MaximumPercent)}
	}
	w.setRegistry(live.Registry)
	w.setFromGroup(live.Deployer)
	if err := w.setLiveStrategy(live.Service, app); err != nil {
		return w, err
	}
	if err := w.measureBalancer(ctx, a); err != nil {
		return w, err
	}
	if err := w.measureRequests(ctx, a, c.Now()); err != nil {
		return w, err
	}
	w.setScaling(live.Scaling)
	w.applyOverrides(app.Rehearsal)
	return w, nil
}

// measureTasks reads how long the running tasks took to start, and in how many zones they are.
func (w *World) measureTasks(ctx context.Context, a *account.Account) error {
	start, zones, err := ecs.Service{API: a.ECS(), Cluster: w.Cluster, Name: w.Service}.LaunchTimes(ctx)
	if zones > 0 {
		w.Subnets = SubnetIDs(min(zones, 3))
	}
	w.Start = start
	return err
}

// measureBalancer reads timings and rules from the load balancer.
func (w *World) measureBalancer(ctx context.Context, a *account.Account) error {
	if w.Primary.ARN == "" {
		return nil
	}
	var listeners []string
	measured := map[string]Group{}
	for _, g := range w.allGroups() {
		if known, ok := measured[g.ARN]; ok {
			*g = known
			continue
		}
		p, err := alb.FindGroup(ctx, a.ELB(), g.ARN)
		if err != nil {
			return err
		}
		g.Interval, g.Timeout, g.Healthy, g.Unhealthy = p.Interval, p.Timeout, p.HealthyAfter, p.UnhealthyAfter
		g.TCP = p.Check == "TCP"
		if p.Balancer != "" {
			g.Drain = p.Drain
		}
		if g == &w.Primary {
			w.Balancer, listeners = p.Balancer, p.Listeners
		}
		measured[g.ARN] = *g
	}
	if w.Balancer == "" {
		return nil
	}
	if err := w.readRules(ctx, a, listeners); err != nil {
		return err
	}
	return w.readOtherRules(ctx, a)
}

// setLiveStrategy sets the strategy with which the running service was deployed, and its pairs of target groups. The
// files may have another one: a deployment can change the strategy.
func (w *World) setLiveStrategy(live *ecstypes.Service, app *appfile.Application) error {
	pair := firstPair(live.LoadBalancers)
	own := live.DeploymentConfiguration != nil && isShifting(live.DeploymentConfiguration.Strategy)
	if w.Controller != "ECS" || pair == nil && !own && w.Strategy.Serving == nil {
		return nil
	}
	have, err := definition.ServiceFromAWS(live)
	if err != nil {
		return err
	}
	w.Named.AddService(have.Input, w.Account)
	w.setPair(pair)
	if err := w.setServing(app, have.FileJSON); err != nil {
		return err
	}
	w.setOtherRules(live.LoadBalancers)
	return nil
}

// readOtherRules reads which target group of a pair gets the requests of a further rule.
func (w *World) readOtherRules(ctx context.Context, a *account.Account) error {
	for _, r := range w.OtherRules {
		if r.ARN == "" || len(r.Groups) < 2 {
			continue
		}
		d := &alb.Driver{API: a.ELB(), Groups: alb.TargetGroups{Primary: r.Groups[0].ARN, Canary: r.Groups[1].ARN},
			Listeners: []string{r.ListenerARN()}}
		rules, err := d.Rules(ctx)
		if err != nil {
			return err
		}
		for _, live := range rules {
			first, _ := live.Weight(r.Groups[0].ARN)
			if second, _ := live.Weight(r.Groups[1].ARN); (live.ARN == r.ARN || r.Network) && first == 0 && second > 0 {
				r.Groups[0], r.Groups[1] = r.Groups[1], r.Groups[0] // see OtherRule.Weights
			}
		}
	}
	return nil
}

// measureRequests reads from CloudWatch how many requests there are and how long they last. Without
// the permission it sets neither.
func (w *World) measureRequests(ctx context.Context, a *account.Account, now time.Time) error {
	if w.Balancer == "" {
		return nil
	}
	l, err := alb.ReadLoad(ctx, a.CloudWatch(), w.Balancer, w.Primary.ARN, now)
	if errors.Is(err, sluice.ErrNoPermission) {
		return nil
	}
	paths := 0
	for _, at := range w.Listeners {
		paths += len(at.Rules)
	}
	if l.PerSecond > 0 {
		w.Rate = max(1, int(math.Round(l.PerSecond/float64(max(1, paths)))))
	}
	w.Lasts = l.Longest
	return err
}

func (w *World) readRules(ctx context.Context, a *account.Account, listeners []string) error {
	d := &alb.Driver{API: a.ELB(), Groups: alb.TargetGroups{Primary: w.Primary.ARN, Canary: w.Canary.ARN},
		Listeners: listeners}
	rules, err := d.Rules(ctx)
	if err != nil {
		return err
	}
	byListener := map[string]int{}
	var found []Listener
	for _, r := range rules {
		primary, ok := r.Weight(w.Primary.ARN)
		canary, paired := r.Weight(w.Canary.ARN)
		if !ok || len(r.Forward) > 2 || len(r.Forward) == 2 && !paired || w.isOtherRule(r) {
			continue
		}
		i, known := byListener[r.Listener]
		if !known {
			i = len(found)
			byListener[r.Listener] = i
			found = append(found, Listener{ARN: r.Listener, Port: int32(r.Port)})
		}
		n := len(found[i].Rules) + 1
		rule := Rule{ARN: r.ARN, Priority: 10 * n, Path: fmt.Sprintf("/rule%d", n), Primary: primary, Canary: canary,
			Alone: len(r.Forward) == 1, Sticky: r.Sticky}
		if r.IsDefault() {
			rule.Priority, rule.Path, rule.ARN = 0, "/", ""
		}
		found[i].Rules = append(found[i].Rules, rule)
	}
	if len(found) > 0 {
		w.Listeners = found
	}
	return nil
}

// isOtherRule reports whether a rule is one of [World.OtherRules], such as the test rule.
func (w *World) isOtherRule(r alb.Rule) bool {
	return slices.ContainsFunc(w.OtherRules, func(o OtherRule) bool {
		return o.ARN != "" && (o.ARN == r.ARN || o.Network && o.ARN == r.Listener)
	})
}
