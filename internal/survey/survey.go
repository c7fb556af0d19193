package survey

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// ReadInputs reads the inputs of a plan. It makes no write.
func ReadInputs(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application) (plan.AWSState, error) {
	live, err := readInputs(ctx, a, c, app)
	return live, app.Locate(err)
}

func readInputs(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application) (plan.AWSState, error) {
	live := plan.AWSState{Region: a.Region()}
	app = mode.RecordTags(app)
	err := verify.CheckRegion(app, a.Region())
	if err != nil {
		return live, err
	}
	if live.Account, err = readAccountID(ctx, a, c, app, &live); err != nil {
		return live, err
	}
	if err := verify.CheckAccount(app, live.Account); err != nil {
		return live, err
	}
	if err := surveySteps(ctx, a, app, &live); err != nil {
		return live, err
	}
	if app.Service == nil {
		return live, surveyFamily(ctx, a, app, &live)
	}
	if err := surveyScaling(ctx, a, app, &live); err != nil {
		return live, err
	}
	if err := surveyNames(ctx, a, c, app, &live); err != nil {
		return live, err
	}
	surveyDeploymentGroup(ctx, a, app, &live)
	if err := surveyProblems(ctx, a, app, &live); err != nil {
		return live, err
	}
	groups, rules, err := surveyTraffic(ctx, a, app, &live)
	if err != nil {
		return live, err
	}
	if err := surveyCallers(ctx, a, c, app, groups, rules, &live); err != nil {
		return live, err
	}
	surveyHealthPorts(ctx, a, app, &live)
	return live, surveyOtherTargets(ctx, a, c, app, groups, &live)
}

// readAccountID returns the account ID. A service has it in its ARN: it is read first, which makes a call of
// sts:GetCallerIdentity unnecessary.
func readAccountID(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application,
	live *plan.AWSState) (string, error) {
	if app.Service == nil {
		return a.ID(ctx)
	}
	if err := surveyService(ctx, a, c, app, live); err != nil {
		return "", err
	}
	if live.Service != nil && live.Service.ServiceArn != nil {
		if parts := strings.Split(*live.Service.ServiceArn, ":"); len(parts) > 4 && parts[4] != "" {
			return parts[4], nil
		}
	}
	return a.ID(ctx)
}

func surveyService(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application,
	live *plan.AWSState) error {
	hand := ecs.Service{API: a.ECS(), Cluster: app.ClusterRef(), Name: *app.Service.Input.ServiceName,
		Confirm: func(ctx context.Context) error {
			if err := checkAccount(ctx, a, app); err != nil {
				return err // the service is in another account
			}
			return c.Sleep(ctx, ecs.ReadLag)
		}}
	now, err := readWithCanary(ctx, hand, mode.Of(app), live)
	if err != nil {
		return clusterError(ctx, a, app, hand, err)
	}
	if err := surveyDefinitions(ctx, a, c, app, now, live); err != nil {
		return err
	}
	surveyServiceNames(ctx, hand, live)
	return surveyFailing(ctx, hand, c, now, live)
}

// surveyFailing reads whether the version that serves works, if the read of the service indicates that it does not.
// A plan can do without it.
func surveyFailing(ctx context.Context, hand ecs.Service, c clock.Clock, now *ecs.ServiceState,
	live *plan.AWSState) error {
	if !now.IsActive() || now.Serving() == "" || now.Desired == 0 || !now.ForVerdict().SeemsToFail() {
		return nil
	}
	v, err := hand.ReadSurvival(account.WithOptionalReads(ctx), c.Now(), now.Serving(), now.Events())
	if err == nil && !v.Works {
		live.Failing = v.Cause.String()
	}
	return ctx.Err()
}

// checkAccount is [verify.CheckAccount] before a read has shown the account.
func checkAccount(ctx context.Context, a *account.Account, app *appfile.Application) error {
	id, err := a.ID(ctx)
	if err != nil {
		return err
	}
	return verify.CheckAccount(app, id)
}

// surveyDefinitions reads the newest revision of the family and the one that serves, which nearly
// always are the same. It puts them and the read of the service into live.
func surveyDefinitions(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application,
	now *ecs.ServiceState, live *plan.AWSState) error {
	definitions := ecs.NewDefinitionCache(a.ECS())
	if live.Identical = app.Registered; live.Identical != "" {
		return recordServing(ctx, definitions, c, now, live)
	}
	newest, err := definitions.ReadLatest(ctx, *app.Task.Input.Family)
	if err != nil {
		return err
	}
	if newest != nil {
		live.Identical = ecs.MatchRevision(app.Task, newest).Name
	}
	if err := recordServing(ctx, definitions, c, now, live); err != nil {
		return err
	}
	// Another tool may have registered a newer revision that it did not deploy, or that was rolled back.
	if d := live.Definition; d != nil && d.Status == "ACTIVE" {
		live.Identical = cmp.Or(ecs.MatchRevision(app.Task, &ecs.Tagged{TaskDefinition: d,
			Tags: live.DefinitionTags}).Name, live.Identical)
	}
	return nil
}

// readWithCanary reads the service and its canary service, if there is one. A service that ECS rolls
// has one if its application had a pipeline until now and a deployment of it never ended.
func readWithCanary(ctx context.Context, hand ecs.Service, m plan.Mode, live *plan.AWSState) (*ecs.ServiceState,
	error) {
	if !m.HasCanaryService() && m != plan.ModeRolling {
		return hand.Observe(ctx)
	}
	now, beside, err := hand.ObserveWith(ctx, plan.CanaryServiceName(hand.Name))
	if errors.Is(err, sluice.ErrNoPermission) && !m.HasCanaryService() {
		return hand.Observe(ctx) // policies written for this mode by earlier versions do not allow the second read
	}
	if err == nil && (beside.IsActive() || beside.IsDraining()) {
		live.Beside = &beside.Raw
	}
	return now, err
}

// surveyServing reads the service, its canary service and the task definition that serves.
func surveyServing(ctx context.Context, a *account.Account, c clock.Clock, hand ecs.Service,
	live *plan.AWSState) error {
	now, err := readWithCanary(ctx, hand, plan.ModeRolling, live)
	if err != nil {
		return nameClusters(ctx, hand, err, "")
	}
	return recordServing(ctx, ecs.NewDefinitionCache(a.ECS()), c, now, live)
}

// recordServing puts a read of the service, and the task definition that serves, into live.
func recordServing(ctx context.Context, definitions *ecs.DefinitionCache, c clock.Clock, now *ecs.ServiceState,
	live *plan.AWSState) error {
	if now == nil {
		return nil
	}
	recordService(live, now, c)
	if serving := now.Serving(); serving != "" && now.Status == "ACTIVE" {
		td, err := definitions.ReadTagged(ctx, serving)
		if err != nil {
			return err
		}
		live.Definition, live.DefinitionTags = td.TaskDefinition, td.Tags
	}
	return nil
}

// recordService puts a read of the service and its claim into live.
func recordService(live *plan.AWSState, now *ecs.ServiceState, c clock.Clock) {
	live.Service, live.TaskSets, live.Tags = &now.Raw, now.TaskSets, now.Tags
	value := now.ClaimValue()
	if value == "" {
		return
	}
	var err error
	if live.Lost, err = plan.ParseClaim(value); err != nil || live.Lost.IsValidAt(c.Now()) {
		live.Claim = value
	}
}

// surveyTraffic reads the target groups of the application and the rules that forward to
// them. It returns the groups with their targets, and every rule of their load balancer.
func surveyTraffic(ctx context.Context, a *account.Account, app *appfile.Application,
	live *plan.AWSState) ([]groupTargets, []alb.Rule, error) {
	var cache alb.ListenerCache
	places, err := findGroups(ctx, a, app, &cache)
	if err != nil || len(places) == 0 {
		return nil, nil, err
	}
	groups, err := readGroups(ctx, a, places)
	if err != nil {
		return nil, nil, err
	}
	live.Primary = placeOf(groups[0])
	if p := places[0]; p.Balancer == "" {
		for _, r := range alb.FindFixedResponses(ctx, a.ELB(), p.VPC) {
			silent := plan.SilentRule{Name: r.Name(), ARN: r.ARN, Repair: alb.ForwardCommand(r, p.Group)}
			if r.IsDefault() {
				silent.ARN = r.Listener
			}
			live.Primary.Silent = append(live.Primary.Silent, silent)
		}
	}
	if len(groups) > 1 {
		live.Canary = placeOf(groups[1])
	}
	rules, err := surveyRules(ctx, a, app, places, &cache, live)
	live.RulesErr = app.Locate(live.RulesErr)
	return groups, rules, err
}

// findGroups finds the target groups of the application with their load balancer. There are none if
// the application does not route by them.
func findGroups(ctx context.Context, a *account.Account, app *appfile.Application,
	cache *alb.ListenerCache) ([]alb.GroupPlace, error) {
	if !plan.HasTargetGroups(app.Access) || app.Primary == nil || app.Primary.ARN == "" ||
		!mode.Of(app).HasVariants() {
		return nil, nil
	}
	arns := []string{app.Primary.ARN}
	if app.Canary != nil && app.Canary.ARN != "" && app.Canary.ARN != app.Primary.ARN {
		arns = append(arns, app.Canary.ARN)
	}
	places, err := alb.FindGroups(ctx, a.ELB(), arns...)
	if err != nil {
		return nil, err
	}
	return places, readBalancers(ctx, a, places, cache)
}

// readBalancers adds the load balancers of the groups and their attributes. A canary's group without a load balancer gets the
// attributes too: the pipeline adds it to the rules of the primary.
func readBalancers(ctx context.Context, a *account.Account, places []alb.GroupPlace, cache *alb.ListenerCache) error {
	read := slices.Clone(places)
	for i := range read {
		read[i].Balancer = cmp.Or(read[i].Balancer, read[0].Balancer)
	}
	if err := alb.ReadBalancers(ctx, a.ELB(), read, cache); err != nil {
		return err
	}
	for i := range places {
		if places[i].Balancer == "" {
			places[i].Drain, places[i].Sticky = read[i].Drain, read[i].Sticky
			continue
		}
		places[i] = read[i]
	}
	return nil
}

func readGroups(ctx context.Context, a *account.Account, places []alb.GroupPlace) (groups []groupTargets, err error) {
	for _, p := range places {
		targets, err := alb.ReadHealth(ctx, a.ELB(), p.Group)
		if err != nil {
			return nil, err
		}
		groups = append(groups, groupTargets{p, targets})
	}
	return groups, nil
}

func placeOf(g groupTargets) *plan.GroupAttachment {
	out := g.place.GroupAttachment
	out.Targets = len(g.targets)
	for _, t := range g.targets {
		if t.State == "healthy" {
			out.Healthy++
		}
	}
	return &out
}

// CheckRules returns why a deployment of the files has no listener rule to write, as its plan does, or nil.
func CheckRules(ctx context.Context, a *account.Account, app *appfile.Application) (reason, err error) {
	var cache alb.ListenerCache
	places, err := findGroups(ctx, a, app, &cache)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	var live plan.AWSState
	_, err = surveyRules(ctx, a, app, places, &cache, &live)
	return live.RulesErr, err
}

func surveyRules(ctx context.Context, a *account.Account, app *appfile.Application, places []alb.GroupPlace,
	cache *alb.ListenerCache, live *plan.AWSState) ([]alb.Rule, error) {
	if !places[0].Type.IsKnown() {
		return nil, nil
	}
	pair := alb.TargetGroups{Primary: places[0].Group, RuleARNs: app.ListenerRules}
	if len(places) > 1 {
		pair.Canary = places[1].Group
	}
	driver := &alb.Driver{API: a.ELB(), Groups: pair, Listeners: places[0].Listeners, Cache: cache}
	rules, err := driver.Rules(ctx)
	if err != nil {
		return nil, err
	}
	choice, err := alb.ChooseRules(rules, pair)
	live.RulesErr = err
	for _, r := range choice.Steered {
		live.Steered = append(live.Steered, r.Rule)
	}
	for _, r := range choice.Extend {
		live.Extend = append(live.Extend, r.Rule)
	}
	for _, r := range alb.MarkedRules(rules, choice, pair) {
		live.Marked = append(live.Marked, r.Rule)
	}
	for _, r := range alb.UnsteeredRules(rules, choice, pair) {
		live.Unsteered = append(live.Unsteered, r.Rule)
	}
	return rules, nil
}
