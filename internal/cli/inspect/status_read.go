package inspect

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// StatusTarget is the service whose state is read.
type StatusTarget struct {
	cluster, service string
	primary, canary  string // target groups; empty: none
	ruleNames        []string
	deployer         codedeploy.Group // of the files; empty: it is searched
	events           int              // number of service events to show; below 0: the default of the service
	fromAWS          bool             // the target groups are those of the PRIMARY task set
	// requests are the figures of the last minute, kept between two reads; nil: they are not read.
	requests *requestFigures
}

// defaultEvents is the number of events shown for a rolling service. Services with task sets show
// none by default, because their events add little to the task sets.
const defaultEvents = 5

func TargetOfPlan(p *plan.Plan) StatusTarget {
	s := StatusTarget{cluster: p.Cluster, service: p.Service, ruleNames: p.ListenerRules}
	if p.Primary != nil {
		s.primary = p.Primary.ARN
	}
	if p.Canary != nil {
		s.canary = p.Canary.ARN
	}
	return s
}

func targetOfApp(app *appfile.Application) StatusTarget {
	s := StatusTarget{cluster: session.ClusterName(app), service: session.ServiceOrGroup(app),
		ruleNames: app.ListenerRules,
		deployer:  codedeploy.Group{Application: app.CodeDeploy.Application, Name: app.CodeDeploy.Group}}
	if app.Primary != nil {
		s.primary = app.Primary.ARN
	}
	if app.Canary != nil {
		s.canary = app.Canary.ARN
	}
	return s
}

// ServiceReport is the state of a service, from the service down to its targets.
type ServiceReport struct {
	Cluster      string `json:"cluster"`
	Service      string `json:"service"`
	Region       string `json:"region"`
	Status       string `json:"status"` // empty: the service does not exist
	Controller   string `json:"controller,omitempty"`
	Desired      int    `json:"desired"`
	Running      int    `json:"running"`
	Pending      int    `json:"pending"`
	Claim        string `json:"claim,omitempty"`
	ClaimExpired bool   `json:"claimExpired,omitempty"`
	// OtherJournal is the deployment of the claim if it is not in this journal.
	OtherJournal string          `json:"otherJournal,omitempty"`
	Scaling      []scalingReport `json:"autoScaling,omitempty"`
	Rules        []ruleReport    `json:"rules,omitempty"`
	Callers      *callersReport  `json:"callers,omitempty"` // nil: no target group, or the load balancer may not be read
	Names        []nameReport    `json:"names,omitempty"`   // of Cloud Map
	// Requests are those of the last minute while the canary gets some.
	Requests     *sluice.RequestsCounted `json:"requests,omitempty"`
	TaskSets     []taskSetReport         `json:"taskSets,omitempty"`
	OtherTargets []targetReport          `json:"otherTargets,omitempty"`
	Problem      string                  `json:"problem,omitempty"` // why a part could not be read
	// Undescribed are resources that get requests or are leftovers, and that the files do not describe.
	Undescribed []string `json:"notDescribed,omitempty"`

	ServiceDeployment *currentReport  `json:"serviceDeployment,omitempty"`
	CanaryService     *canaryReport   `json:"canaryService,omitempty"` // of controller ECS
	Rollouts          []rolloutReport `json:"deployments,omitempty"`   // of controller ECS
	Causes            []waitCause     `json:"causes,omitempty"`        // of failures, during or after a deployment
	Logs              []diagnosis.Log `json:"logs,omitempty"`
	Events            []eventReport   `json:"events,omitempty"` // newest first

	Tasks []taskRunReport `json:"tasks,omitempty"` // of a family, without a service

	Deployment *DeploymentReport `json:"deployment,omitempty"`
	serving    string            // the PRIMARY revision

	// of controller CODE_DEPLOY: the newest, and its rollback
	CodeDeploy []codeDeployReport `json:"codeDeployments,omitempty"`
}

// ruleReport is a rule with its weights; nil: the rule does not forward to that group.
type ruleReport struct {
	ARN     string `json:"rule"`
	Name    string `json:"name"`
	Primary *int   `json:"primary"`
	Canary  *int   `json:"canary"`
}

type taskSetReport struct {
	ID       string       `json:"id"`
	Role     string       `json:"role"` // primary, canary, next primary, former primary; empty: another set
	Status   string       `json:"status"`
	Revision string       `json:"revision"`
	Scale    float64      `json:"scale"`
	Desired  int          `json:"desired"`
	Running  int          `json:"running"`
	Pending  int          `json:"pending"`
	Steady   bool         `json:"steady"`
	Weight   *float64     `json:"weight,omitempty"` // percent of the traffic, by CodeDeploy
	Tasks    []taskReport `json:"tasks,omitempty"`

	group    string
	inGroups bool // its target group is one of the application
	bySluice bool // created by sluice
}

type taskReport struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Address string `json:"address,omitempty"`
	Target  string `json:"target,omitempty"` // healthy, unhealthy: why
}

// targetReport is a target that belongs to no running task, such as a draining one.
type targetReport struct {
	Group   string `json:"targetGroup"`
	Address string `json:"address"`
	State   string `json:"state"`
}

// ReadService reads the state of a service. It makes no changes.
func ReadService(ctx context.Context, a *account.Account, c clock.Clock, s StatusTarget) (*ServiceReport, error) {
	t := &ServiceReport{Cluster: s.cluster, Service: s.service, Region: a.Region()}
	if session.IsTaskRun(s.service) {
		return t, t.readTaskRuns(ctx, a)
	}
	hand := ecs.Service{API: a.ECS(), Cluster: s.cluster, Name: s.service}
	live, err := hand.Observe(ctx)
	if err != nil || live == nil {
		return t, survey.NameMissing(ctx, hand, err)
	}
	t.Status, t.Controller, t.Claim, t.serving = live.Status, live.Controller, live.ClaimValue(), live.Serving()
	if k, err := plan.ParseClaim(t.Claim); err == nil {
		t.ClaimExpired = !k.IsValidAt(c.Now())
	}
	t.Desired, t.Running, t.Pending = live.Desired, live.Running, live.Pending
	if err := t.addScaling(ctx, a, s, live); err != nil {
		return t, err
	}
	if s.fromAWS {
		s.primary = primaryGroup(live)
	}
	for _, set := range live.TaskSets {
		t.TaskSets = append(t.TaskSets, reportTaskSet(set, s))
	}
	rolls := live.Controller == "ECS" && live.Status == "ACTIVE"
	detail := live.ForVerdict()
	if rolls {
		t.addRollouts(detail.Deployments)
	}
	if err := t.addTasks(ctx, hand); err != nil {
		return t, err
	}
	if s.events < 0 {
		s.events = 0
		if rolls {
			s.events = defaultEvents
		}
	}
	t.addEvents(detail.Events, s.events)
	if rolls || live.Controller == "CODE_DEPLOY" && live.Status == "ACTIVE" {
		if !rolls {
			if err := t.readCodeDeploy(ctx, a, c); err != nil {
				return t, err
			}
			return t, t.addCallers(ctx, a, c, s, live)
		}
		if err := t.readRolling(ctx, a, c, hand, live); err != nil {
			return t, err
		}
		if err := t.addCanaryService(ctx, a, s); err != nil {
			return t, err
		}
		if err := t.addCanaryCauses(ctx, a, c); err != nil {
			return t, err
		}
	} else if err := t.addTargets(ctx, a, s); err != nil {
		return t, err
	} else if err := t.addSetCauses(ctx, a, c, live); err != nil {
		return t, err
	}
	if err := t.addNames(ctx, a, live); err != nil {
		return t, err
	}
	if err := t.addRules(ctx, a, s); err != nil {
		return t, err
	}
	if err := t.addCallers(ctx, a, c, s, live); err != nil {
		return t, err
	}
	t.addRequests(ctx, a, c, s)
	return t, nil
}

// primaryGroup returns the target group of the PRIMARY task set, or "".
func primaryGroup(live *ecs.ServiceState) string {
	for _, set := range live.TaskSets {
		if set.Status == "PRIMARY" {
			return set.TargetGroup
		}
	}
	return ""
}

func (t *ServiceReport) readRolling(ctx context.Context, a *account.Account, c clock.Clock, hand ecs.Service,
	live *ecs.ServiceState) error {
	if err := t.addGroupTargets(ctx, a, live.TargetGroups()); err != nil {
		return err
	}
	if err := t.addServiceDeployment(ctx, hand, live.CurrentDeployment()); err != nil {
		return err
	}
	return t.addCauses(ctx, a, c, live)
}

func reportTaskSet(ts sluice.TaskSet, s StatusTarget) taskSetReport {
	out := taskSetReport{ID: ts.ID, Status: ts.Status, Revision: ts.Revision, Scale: ts.Scale, Desired: ts.Desired,
		Running: ts.Running, Pending: ts.Pending, Steady: ts.Steady, group: ts.TargetGroup,
		inGroups: ts.TargetGroup != "" && (ts.TargetGroup == s.primary || ts.TargetGroup == s.canary),
		bySluice: plan.IsSluiceID(ts.ExternalID)}
	switch {
	case ts.Status == "PRIMARY":
		out.Role = string(sluice.Primary)
	case ts.TargetGroup != "" && ts.TargetGroup == s.canary, isCanaryID(ts.ExternalID):
		out.Role = string(sluice.Canary)
	case plan.IsSluiceID(ts.ExternalID) && ts.TargetGroup == s.primary:
		out.Role = "next primary"
		if ts.Status == "DRAINING" {
			out.Role = "former primary"
		}
	}
	return out
}

// isCanaryID reports whether an external ID belongs to a canary that sluice created. Without target
// groups, only the external ID distinguishes the canary.
func isCanaryID(made string) bool {
	_, stage, _ := strings.Cut(made, "/")
	return plan.IsSluiceID(made) && strings.HasPrefix(stage, string(sluice.Canary))
}

// addTasks reads the service's tasks. startedBy of each task is the ID of its set.
func (t *ServiceReport) addTasks(ctx context.Context, hand ecs.Service) error {
	tasks, err := hand.Tasks(ctx)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		t.placeTask(task)
	}
	byID := func(a, b taskReport) int { return strings.Compare(a.ID, b.ID) }
	for i := range t.TaskSets {
		slices.SortFunc(t.TaskSets[i].Tasks, byID)
	}
	for i := range t.Rollouts {
		slices.SortFunc(t.Rollouts[i].Tasks, byID)
	}
	return nil
}

func (t *ServiceReport) placeTask(task ecs.Task) {
	leaf := taskReport{ID: task.ID, Status: task.Status, Address: task.Address}
	for i := range t.TaskSets {
		if t.TaskSets[i].ID == task.StartedBy {
			t.TaskSets[i].Tasks = append(t.TaskSets[i].Tasks, leaf)
		}
	}
	for i := range t.Rollouts {
		if t.Rollouts[i].ID == task.StartedBy {
			t.Rollouts[i].Tasks = append(t.Rollouts[i].Tasks, leaf)
		}
	}
}

// addTargets reads the targets of both groups and matches them with the tasks of their sets.
func (t *ServiceReport) addTargets(ctx context.Context, a *account.Account, s StatusTarget) error {
	for _, group := range []string{s.primary, s.canary} {
		if group == "" {
			continue
		}
		targets, err := t.readHealth(ctx, a, group)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if !t.matchTarget(group, target) {
				t.OtherTargets = append(t.OtherTargets, targetReport{Group: sluice.TargetGroupName(group), Address: target.ID,
					State: targetText(target)})
			}
		}
	}
	return nil
}

func (t *ServiceReport) matchTarget(group string, target sluice.Target) bool {
	for i := range t.TaskSets {
		if t.TaskSets[i].group != group {
			continue
		}
		for j := range t.TaskSets[i].Tasks {
			if task := &t.TaskSets[i].Tasks[j]; task.Address == target.ID {
				task.Target = targetText(target)
				return true
			}
		}
	}
	return false
}

func targetText(t sluice.Target) string {
	if t.State == "healthy" || t.Description == "" {
		return t.State
	}
	return t.State + ": " + t.Description
}

// readHealth reads the targets of a group. A group that does not exist has none, and is a problem.
func (t *ServiceReport) readHealth(ctx context.Context, a *account.Account, group string) ([]sluice.Target, error) {
	targets, err := alb.ReadHealth(ctx, a.ELB(), group)
	return targets, t.noteMissing(group, err)
}

// noteMissing records a target group that does not exist. It returns any other error.
func (t *ServiceReport) noteMissing(group string, err error) error {
	if sluice.KindOf(err) == sluice.NotFound {
		t.addProblem("target group " + sluice.TargetGroupName(group) + " does not exist")
		return nil
	}
	return err
}

// addProblem records a problem, each once.
func (t *ServiceReport) addProblem(text string) {
	switch {
	case t.Problem == "":
		t.Problem = text
	case !strings.Contains(t.Problem, text):
		t.Problem += "; " + text
	}
}

// addRules reads the rules whose weights a deployment sets.
func (t *ServiceReport) addRules(ctx context.Context, a *account.Account, s StatusTarget) error {
	if s.primary == "" {
		return nil
	}
	places, err := alb.FindGroups(ctx, a.ELB(), s.primary)
	if err != nil {
		return t.noteMissing(s.primary, err)
	}
	if err := places[0].ReadBalancer(ctx, a.ELB()); err != nil {
		return err
	}
	driver := &alb.Driver{API: a.ELB(), Groups: alb.TargetGroups{Primary: s.primary, Canary: s.canary,
		RuleARNs: s.ruleNames}, Listeners: places[0].Listeners}
	all, err := driver.Rules(ctx)
	if err != nil {
		return err
	}
	choice, err := alb.ChooseRules(all, driver.Groups)
	if err != nil && s.canary != "" { // without files, a rule may name a canary group that is not known here
		t.addProblem(err.Error())
	}
	for _, r := range choice.Rules() {
		t.Rules = append(t.Rules, ruleReport{ARN: r.ARN, Name: r.Name(), Primary: weightOfGroup(r, s.primary),
			Canary: weightOfGroup(r, s.canary)})
	}
	return nil
}

func weightOfGroup(r alb.Rule, group string) *int {
	if w, ok := r.Weight(group); ok {
		return &w
	}
	return nil
}
