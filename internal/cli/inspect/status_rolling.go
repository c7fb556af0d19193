package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// rolloutReport is one deployment of a service that ECS rolls, with its tasks.
type rolloutReport struct {
	verdict.Deployment
	Tasks []taskReport `json:"tasks,omitempty"`
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

// addServiceDeployment reads the record of the current service deployment. If the endpoint does not
// support this call, or the role may not make it, that is no error.
func (r serviceReader) addServiceDeployment(ctx context.Context) error {
	t, arn := r.report, r.report.CurrentDeployment()
	if arn == "" {
		return nil
	}
	rec, err := r.client.Record(ctx, arn)
	if err != nil && ecs.IsUnsupported(err) {
		t.addProblem("cannot read the service deployment: " + err.Error())
		return nil
	}
	if err != nil || rec.ARN == "" {
		return err
	}
	c := &currentReport{ARN: arn, Status: rec.Status, Reason: rec.Reason, Revision: rec.Revision, BackTo: rec.BackTo,
		Stage: rec.Stage, Failures: rec.Breaker.Failures, Limit: rec.Breaker.Threshold, Alarms: rec.Alarms}
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

// addCauses adds why the deployments of a service that ECS rolls fail.
func (r serviceReader) addCauses(ctx context.Context) error {
	t, deployment := r.report, ""
	if !t.needsCauses() {
		return nil
	}
	if t.ServiceDeployment != nil {
		deployment = t.ServiceDeployment.ARN
	}
	return r.readCauses(ctx, r.firstRead(), deployment)
}

// addSetCauses adds the causes of a task set that is not steady, such as a canary.
func (r serviceReader) addSetCauses(ctx context.Context) error {
	t := r.report
	i := slices.IndexFunc(t.TaskSets, func(s taskSetReport) bool {
		return s.Status != "DRAINING" && !s.Steady && s.Desired > 0
	})
	if i < 0 || !t.IsActive() {
		return nil
	}
	return r.readCauses(ctx, r.firstRead(), t.TaskSets[i].ID)
}

// firstRead returns the service as it was read, for a verdict.
func (r serviceReader) firstRead() watch.Target {
	return watch.Target{Service: r.report.Service,
		First: ecs.ServiceRead{State: &r.report.ServiceState, SentAt: r.clock.Now()}}
}

// addCanaryCauses adds the causes of a canary service that ECS deploys.
func (r serviceReader) addCanaryCauses(ctx context.Context) error {
	if s := r.report.CanaryService; s == nil || s.Status != "ACTIVE" || !s.isDeploying {
		return nil
	}
	return r.readCauses(ctx, watch.Target{Service: r.report.CanaryService.Service}, "")
}

// readCauses gets a verdict of one read, and adds its causes.
func (r serviceReader) readCauses(ctx context.Context, of watch.Target, deployment string) error {
	of.Cluster, of.Wanted = r.report.Cluster, verdict.Wanted{Timeout: time.Nanosecond, Deployment: deployment}
	seen, err := watch.New(r.account, r.clock).Wait(ctx, of, nil)
	if err != nil {
		return err
	}
	r.report.copyCauses(seen.Verdict)
	return nil
}

// copyCauses copies the causes and logs of a verdict. That tasks still start is no cause: one read does
// not show for how long.
func (t *ServiceReport) copyCauses(v verdict.Verdict) {
	isStart := func(c diagnosis.Cause) bool { return c.Kind == diagnosis.SlowStart }
	t.Causes = append(t.Causes, reportCauses(slices.DeleteFunc(slices.Clone(v.Causes), isStart))...)
	t.Logs = append(t.Logs, v.Logs...)
}

// writeRollouts writes the deployments of a service that ECS itself deploys.
func (v serviceView) writeRollouts(b *bytes.Buffer, t *ServiceReport) {
	if c := t.ServiceDeployment; c != nil {
		fmt.Fprintf(b, "service deployment %s: %s\n", sluice.ARNName(c.ARN), v.Bold(c.Status)+v.serviceDeploymentText(c))
	}
	for _, d := range t.Rollouts {
		fmt.Fprintf(b, "%s deployment %s of %s: %s, %s, %d pending, %d failed\n",
			v.Bold(d.Status), d.ID, d.Revision, cmp.Or(d.State, "-"), sluice.RunningText(d.Running, d.Desired), d.Pending,
			d.Failed)
		writeTasks(b, d.Tasks)
	}
}

func (v serviceView) serviceDeploymentText(c *currentReport) string {
	text := ""
	if c.Revision != "" {
		text += ", deploys " + c.Revision
	}
	if c.BackTo != "" {
		text += ", rolls back to " + c.BackTo
	}
	if c.Stage != "" {
		text += ", " + c.Stage
	}
	if c.Weight > 0 {
		text += fmt.Sprintf(" with %g%% of the traffic", c.Weight)
	}
	if c.Failures > 0 {
		text += fmt.Sprintf(", circuit breaker at %d of %d failures", c.Failures, c.Limit)
	}
	for _, a := range c.Alarms {
		text += ", alarm " + a + " fired"
	}
	if c.Hook != "" {
		text += v.nextStep(", waiting: sluice continue answers hook " + c.Hook)
	}
	if !c.Expires.IsZero() {
		text += " (until " + show.FormatTime(c.Expires) + ")"
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// writeCauses writes causes of failures, the last log lines of containers, and service events.
func (v serviceView) writeCauses(b *bytes.Buffer, t *ServiceReport) {
	for _, c := range t.Causes {
		fmt.Fprintf(b, "%s\n  next: %s\n", v.Bad(c.String()), v.nextStep(c.Next))
	}
	for _, l := range t.Logs {
		for _, line := range l.Lines {
			fmt.Fprintf(b, "  %s\n", v.Dim("log of "+l.Container+": "+line))
		}
	}
	for i, e := range t.Events {
		if i == 0 {
			fmt.Fprintln(b, "events")
		}
		fmt.Fprintf(b, "  %s  %s\n", v.Dim(show.FormatTime(e.At)), e.Message)
	}
}
