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
	groups           alb.TargetGroups // of the files, with the rules that they name; empty: none
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
	return StatusTarget{cluster: p.Cluster, service: p.Service, groups: alb.TargetGroups{Primary: p.Primary.OptionalARN(),
		Canary: p.Canary.OptionalARN(), RuleARNs: p.ListenerRules}}
}

func targetOfApp(app *appfile.Application) StatusTarget {
	return StatusTarget{cluster: app.ClusterName(), service: session.ServiceOrGroup(app),
		groups: alb.TargetGroups{Primary: app.Primary.OptionalARN(), Canary: app.Canary.OptionalARN(),
			RuleARNs: app.ListenerRules},
		deployer: codedeploy.Group{Application: app.CodeDeploy.Application, Name: app.CodeDeploy.Group}}
}

// ServiceReport is the state of a service, from the service down to its targets.
type ServiceReport struct {
	Cluster string `json:"cluster"`
	Service string `json:"service"`
	Region  string `json:"region"`
	ecs.ServiceState
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

	ServiceDeployment *currentReport    `json:"serviceDeployment,omitempty"`
	CanaryService     *canaryReport     `json:"canaryService,omitempty"` // of controller ECS
	Rollouts          []rolloutReport   `json:"deployments,omitempty"`   // of controller ECS
	Causes            []waitCause       `json:"causes,omitempty"`        // of failures, during or after a deployment
	Logs              []diagnosis.Log   `json:"logs,omitempty"`
	Events            []diagnosis.Event `json:"events,omitempty"` // newest first

	Tasks []ecs.TaskRun `json:"tasks,omitempty"` // of a family, without a service

	Deployment *DeploymentReport `json:"deployment,omitempty"`

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
	inGroups bool   // its target group is one of the application
	madeBy   string // the deployment of sluice that created it; empty: sluice did not
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

// serviceReader reads the parts of a report, after the service itself.
type serviceReader struct {
	account *account.Account
	clock   clock.Clock
	target  StatusTarget
	client  ecs.Service
	report  *ServiceReport
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
	if p := live.Primary(); p != nil && s.fromAWS {
		s.groups.Primary = p.TargetGroup
	}
	t.addService(live, c, s)
	for _, read := range (serviceReader{a, c, s, hand, t}).parts() {
		if err := read(ctx); err != nil {
			return t, err
		}
	}
	return t, nil
}

// addService adds what the read of the service itself shows.
func (t *ServiceReport) addService(live *ecs.ServiceState, c clock.Clock, s StatusTarget) {
	t.ServiceState, t.Claim = *live, live.ClaimValue()
	if k, err := plan.ParseClaim(t.Claim); err == nil {
		t.ClaimExpired = !k.IsValidAt(c.Now())
	}
	for _, set := range live.TaskSets {
		t.TaskSets = append(t.TaskSets, reportTaskSet(set, s.groups))
	}
	detail, events := live.ForVerdict(), max(s.events, 0)
	if t.isRolling() {
		for _, d := range detail.Deployments {
			t.Rollouts = append(t.Rollouts, rolloutReport{Deployment: d})
		}
		if s.events < 0 {
			events = defaultEvents
		}
	}
	t.Events = detail.Events[:min(events, len(detail.Events))]
}

// isRolling reports whether ECS itself deploys the service.
func (t *ServiceReport) isRolling() bool { return t.Controller == "ECS" && t.IsActive() }

// parts returns the reads of the service's parts, in their order.
func (r serviceReader) parts() []func(context.Context) error {
	t := r.report
	switch {
	case t.isRolling():
		return []func(context.Context) error{r.addScaling, r.addTasks, r.targetsOf(t.TargetGroups()),
			r.addServiceDeployment, r.addCauses, r.addCanaryService, r.addCanaryCauses, r.addNames, r.addRules,
			r.addCallers, r.addRequests}
	case t.Controller == "CODE_DEPLOY" && t.IsActive():
		var groups []string
		for _, s := range t.TaskSets {
			groups = append(groups, s.group)
		}
		return []func(context.Context) error{r.addScaling, r.addTasks, r.addCodeDeploy, r.targetsOf(groups), r.addCallers}
	}
	return []func(context.Context) error{r.addScaling, r.addTasks,
		r.targetsOf([]string{r.target.groups.Primary, r.target.groups.Canary}), r.addSetCauses, r.addNames, r.addRules,
		r.addCallers, r.addRequests}
}

func reportTaskSet(ts sluice.TaskSet, groups alb.TargetGroups) taskSetReport {
	out := taskSetReport{ID: ts.ID, Status: ts.Status, Revision: ts.Revision, Scale: ts.Scale, Desired: ts.Desired,
		Running: ts.Running, Pending: ts.Pending, Steady: ts.Steady, group: ts.TargetGroup,
		inGroups: ts.TargetGroup != "" && (ts.TargetGroup == groups.Primary || ts.TargetGroup == groups.Canary)}
	if plan.IsSluiceID(ts.ExternalID) {
		out.madeBy = sluice.ActionID(ts.ExternalID).Deployment()
	}
	switch {
	case ts.Status == "PRIMARY":
		out.Role = string(sluice.Primary)
	case ts.TargetGroup != "" && ts.TargetGroup == groups.Canary, isCanaryID(ts.ExternalID):
		out.Role = string(sluice.Canary)
	case plan.IsSluiceID(ts.ExternalID) && ts.TargetGroup == groups.Primary:
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

// addTasks reads the service's tasks. startedBy of each task is the ID of its set or deployment.
func (r serviceReader) addTasks(ctx context.Context) error {
	t := r.report
	tasks, err := r.client.Tasks(ctx)
	slices.SortFunc(tasks, func(a, b ecs.Task) int { return strings.Compare(a.ID, b.ID) })
	for _, task := range tasks {
		for i := range t.TaskSets {
			if s := &t.TaskSets[i]; s.ID == task.StartedBy {
				s.Tasks = append(s.Tasks, newTaskReport(task))
			}
		}
		for i := range t.Rollouts {
			if d := &t.Rollouts[i]; d.ID == task.StartedBy {
				d.Tasks = append(d.Tasks, newTaskReport(task))
			}
		}
	}
	return err
}

func newTaskReport(t ecs.Task) taskReport {
	return taskReport{ID: t.ID, Status: t.Status, Address: t.Address}
}

// targetsOf returns the read of the targets of groups, each once. It matches them with tasks.
func (r serviceReader) targetsOf(groups []string) func(context.Context) error {
	return func(ctx context.Context) error {
		t := r.report
		for i, group := range groups {
			if group == "" || slices.Contains(groups[:i], group) {
				continue
			}
			targets, err := r.readHealth(ctx, group)
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
}

// matchTarget sets the target of a task of a set in the group, or of a deployment.
func (t *ServiceReport) matchTarget(group string, target sluice.Target) bool {
	inSet := func(s taskSetReport) bool { return s.group == group && setTarget(s.Tasks, target) }
	inRollout := func(d rolloutReport) bool { return setTarget(d.Tasks, target) }
	return slices.ContainsFunc(t.TaskSets, inSet) || slices.ContainsFunc(t.Rollouts, inRollout)
}

// setTarget sets the target of the task with its address. It reports whether there is one.
func setTarget(tasks []taskReport, target sluice.Target) bool {
	i := slices.IndexFunc(tasks, func(task taskReport) bool { return task.Address == target.ID })
	if i >= 0 {
		tasks[i].Target = targetText(target)
	}
	return i >= 0
}

func targetText(t sluice.Target) string {
	if t.State == "healthy" || t.Description == "" {
		return t.State
	}
	return t.State + ": " + t.Description
}

// readHealth reads the targets of a group. A group that does not exist has none, and is a problem.
func (r serviceReader) readHealth(ctx context.Context, group string) ([]sluice.Target, error) {
	targets, err := alb.ReadHealth(ctx, r.account.ELB(), group)
	return targets, r.report.noteMissing(group, err)
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
func (r serviceReader) addRules(ctx context.Context) error {
	t, elb, groups := r.report, r.account.ELB(), r.target.groups
	if groups.Primary == "" {
		return nil
	}
	place, err := alb.FindGroup(ctx, elb, groups.Primary)
	switch {
	case err != nil && place.Group == "":
		return t.noteMissing(groups.Primary, err)
	case err != nil:
		return err
	}
	all, err := (&alb.Driver{API: elb, Groups: groups, Listeners: place.Listeners}).Rules(ctx)
	if err != nil {
		return err
	}
	choice, err := alb.ChooseRules(all, groups)
	if err != nil && groups.Canary != "" { // without files, a rule may name a canary group that is not known here
		t.addProblem(err.Error())
	}
	for _, x := range choice.Rules() {
		t.Rules = append(t.Rules, ruleReport{ARN: x.ARN, Name: x.Name(), Primary: weightOfGroup(x, groups.Primary),
			Canary: weightOfGroup(x, groups.Canary)})
	}
	return nil
}

func weightOfGroup(r alb.Rule, group string) *int {
	if w, ok := r.Weight(group); ok {
		return &w
	}
	return nil
}
