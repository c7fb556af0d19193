package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// rolloutReport is one deployment of a service that ECS rolls.
type rolloutReport struct {
	ID       string       `json:"id"`
	Status   string       `json:"status"` // PRIMARY, ACTIVE
	State    string       `json:"rolloutState,omitempty"`
	Reason   string       `json:"rolloutStateReason,omitempty"`
	Revision string       `json:"revision"`
	Desired  int          `json:"desired"`
	Running  int          `json:"running"`
	Pending  int          `json:"pending"`
	Failed   int          `json:"failed"`
	Tasks    []taskReport `json:"tasks,omitempty"`
}

// currentReport is the current service deployment, as DescribeServiceDeployments returns it.
type currentReport struct {
	ARN      string    `json:"arn"`
	Status   string    `json:"status"`
	Reason   string    `json:"reason,omitempty"`
	Revision string    `json:"revision,omitempty"`
	BackTo   string    `json:"backTo,omitempty"` // of a rollback
	Stage    string    `json:"lifecycleStage,omitempty"`
	Weight   float64   `json:"weight,omitempty"` // percent of the traffic, while a native strategy shifts it
	Hook     string    `json:"awaitingHook,omitempty"`
	Expires  time.Time `json:"hookExpiresAt,omitzero"`
	Failures int       `json:"breakerFailures,omitempty"`
	Limit    int       `json:"breakerThreshold,omitempty"`
	Alarms   []string  `json:"alarms,omitempty"` // that fired
}

type eventReport struct {
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// addRollouts adds the deployments of a service that ECS itself deploys.
func (t *ServiceReport) addRollouts(all []verdict.Deployment) {
	for _, d := range all {
		t.Rollouts = append(t.Rollouts, rolloutReport{ID: d.ID, Status: d.Status, State: d.State, Reason: d.Reason,
			Revision: d.Revision, Desired: d.Desired, Running: d.Running, Pending: d.Pending, Failed: d.Failed})
	}
}

// addServiceDeployment reads the record of the current service deployment. If the endpoint does not
// support this call, or the role may not make it, that is no error.
func (t *ServiceReport) addServiceDeployment(ctx context.Context, hand ecs.Service, arn string) error {
	if arn == "" {
		return nil
	}
	rec, err := hand.Record(ctx, arn)
	if err != nil && ecs.IsUnsupported(err) {
		t.addProblem("cannot read the service deployment: " + err.Error())
		return nil
	}
	if err != nil || rec.ARN == "" {
		return err
	}
	c := &currentReport{ARN: arn, Status: rec.Status, Reason: rec.Reason, Revision: rec.Revision, BackTo: rec.BackTo,
		Stage:    rec.Stage,
		Failures: rec.Breaker.Failures, Limit: rec.Breaker.Threshold, Alarms: rec.Alarms}
	if rec.RollbackReason != "" {
		c.Reason = rec.RollbackReason
	}
	if rec.Weight < 100 {
		c.Weight = rec.Weight
	}
	for _, h := range rec.Hooks {
		if h.Status == "AWAITING_ACTION" {
			c.Hook, c.Expires = h.ID, h.ExpiresAt
		}
	}
	t.ServiceDeployment = c
	return nil
}

// goesOnInECS reports whether no process runs the deployment of the journal, and ECS alone deploys its revision. What
// the journal says that it waits for is then old.
func (t *ServiceReport) goesOnInECS() bool {
	d, c := t.Deployment, t.ServiceDeployment
	return d != nil && c != nil && d.Outcome == "" && d.Runner == "" && len(d.Stages) == 1 && c.Revision == d.To
}

// howToContinue returns what comes before the command sluice resume. A hook of ECS needs its answer first: a resumed
// deployment would only wait for it.
func (t *ServiceReport) howToContinue() string {
	c := t.ServiceDeployment
	switch {
	case !t.goesOnInECS():
	case c.Hook != "":
		return "ECS waits for an answer: sluice continue. To follow it"
	case !sluice.IsServiceDeploymentRunning(c.Status):
		return "ECS's deployment has ended: " + c.Status + ". To end this one too"
	}
	return "To continue"
}

func (t *ServiceReport) addEvents(all []diagnosis.Event, n int) {
	for _, e := range all[:min(n, len(all))] {
		t.Events = append(t.Events, eventReport{At: e.At, Message: e.Message})
	}
}

// addGroupTargets reads the targets of a rolling service's target groups and matches them with its
// tasks.
func (t *ServiceReport) addGroupTargets(ctx context.Context, a *account.Account, groups []string) error {
	for i, group := range groups {
		if slices.Contains(groups[:i], group) {
			continue
		}
		targets, err := t.readHealth(ctx, a, group)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if !t.matchRolloutTarget(target) {
				t.OtherTargets = append(t.OtherTargets, targetReport{Group: sluice.TargetGroupName(group), Address: target.ID,
					State: targetText(target)})
			}
		}
	}
	return nil
}

func (t *ServiceReport) matchRolloutTarget(target sluice.Target) bool {
	for i := range t.Rollouts {
		for j := range t.Rollouts[i].Tasks {
			if task := &t.Rollouts[i].Tasks[j]; task.Address == target.ID {
				task.Target = targetText(target)
				return true
			}
		}
	}
	return false
}

// needsCauses reports whether a deployment of the service runs, has failed or was rolled back. Only
// then can there be causes to show.
func (t *ServiceReport) needsCauses() bool {
	if t.ServiceDeployment != nil && strings.HasPrefix(t.ServiceDeployment.Status, "ROLLBACK") {
		return true
	}
	return t.isAWSDeploying() ||
		slices.ContainsFunc(t.Rollouts, func(d rolloutReport) bool { return d.State == "FAILED" })
}

// isAWSDeploying reports whether AWS runs a deployment of the service.
func (t *ServiceReport) isAWSDeploying() bool {
	if d := t.ServiceDeployment; d != nil && sluice.IsServiceDeploymentRunning(d.Status) {
		return true
	}
	return slices.ContainsFunc(t.Rollouts, func(d rolloutReport) bool { return d.State == "IN_PROGRESS" }) ||
		slices.ContainsFunc(t.CodeDeploy, func(d codeDeployReport) bool { return !d.hasEnded() })
}

// addCauses gets a verdict from the read of the service and adds its causes.
func (t *ServiceReport) addCauses(ctx context.Context, a *account.Account, c clock.Clock, live *ecs.ServiceState) error {
	if !t.needsCauses() {
		return nil
	}
	target := watch.Target{Cluster: t.Cluster, Service: t.Service, Wanted: verdict.Wanted{Timeout: time.Nanosecond},
		First: ecs.ServiceRead{State: live, SentAt: c.Now()}}
	if t.ServiceDeployment != nil {
		target.Deployment = t.ServiceDeployment.ARN
	}
	return t.readCauses(ctx, a, c, target)
}

// addSetCauses adds the causes of a task set that is not steady, such as a canary.
func (t *ServiceReport) addSetCauses(ctx context.Context, a *account.Account, c clock.Clock,
	live *ecs.ServiceState) error {
	i := slices.IndexFunc(t.TaskSets, func(s taskSetReport) bool {
		return s.Status != "DRAINING" && !s.Steady && s.Desired > 0
	})
	if i < 0 || t.Status != "ACTIVE" {
		return nil
	}
	return t.readCauses(ctx, a, c, watch.Target{Cluster: t.Cluster, Service: t.Service,
		Wanted: verdict.Wanted{Timeout: time.Nanosecond, Deployment: t.TaskSets[i].ID},
		First:  ecs.ServiceRead{State: live, SentAt: c.Now()}})
}

// addCanaryCauses adds the causes of a canary service that ECS deploys.
func (t *ServiceReport) addCanaryCauses(ctx context.Context, a *account.Account, c clock.Clock) error {
	if s := t.CanaryService; s == nil || s.Status != "ACTIVE" || !s.isDeploying {
		return nil
	}
	return t.readCauses(ctx, a, c, watch.Target{Cluster: t.Cluster, Service: t.CanaryService.Service,
		Wanted: verdict.Wanted{Timeout: time.Nanosecond}})
}

func (t *ServiceReport) readCauses(ctx context.Context, a *account.Account, c clock.Clock,
	target watch.Target) error {
	seen, err := watch.New(a, c).Wait(ctx, target, nil)
	if err != nil {
		return err
	}
	t.copyCauses(seen.Verdict)
	return nil
}

// copyCauses copies the causes and logs of a verdict. That tasks still start is no cause: one read does
// not show for how long.
func (t *ServiceReport) copyCauses(v verdict.Verdict) {
	for _, k := range v.Causes {
		if k.Kind == diagnosis.SlowStart {
			continue
		}
		t.Causes = append(t.Causes, waitCause{k.Kind, k.Text, k.Count, k.Task, k.Advice()})
	}
	t.Logs = append(t.Logs, v.Logs...)
}
