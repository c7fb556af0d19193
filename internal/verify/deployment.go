package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// Deployment is what a deployment of an application does.
type Deployment struct {
	Deploys bool                     // whether it changes anything
	Tasks   int32                    // the desired count
	Changes func(member string) bool // whether it changes a member of the service definition
	Serving *ecstypes.TaskDefinition // the revision that serves; nil: there is none
}

// BeforeDeployment checks what a deployment changes and AWS would refuse only after the first write, and the alarms that
// protect it, and whether tags of images moved. The findings are problems; IsUnread is set for what could not be
// checked. It returns an error only if ctx has ended.
func BeforeDeployment(ctx context.Context, app *appfile.Application, from AWS, d Deployment) ([]Finding, error) {
	c := newChecker(app, from)
	c.tasks, c.serving, c.isDeployment = d.Tasks, d.Serving, true
	checks := []func(context.Context){c.checkTags}
	if d.Deploys {
		checks = append(checks, c.checkNewImages, c.checkAlarms, c.checkGateAlarms, c.checkDeploymentConfig,
			c.checkHostPorts, c.requireNetwork, c.checkDoubts, c.checkLogRegions, c.checkTaskNeeds)
	}
	if d.Changes("loadBalancers") {
		checks = append(checks, c.checkTargetGroups, c.checkListenerRules)
	}
	if d.Changes("networkConfiguration") {
		checks = append(checks, c.checkNetwork)
	}
	if d.Changes("capacityProviderStrategy") {
		checks = append(checks, c.checkProviders)
	}
	for _, check := range checks {
		c.place = ""
		if check(ctx); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return slices.DeleteFunc(c.all, func(f Finding) bool { return f.Status == OK && !f.IsUnread }), nil
}

// TaskNeeds checks what the tasks of a definition need to start, and the revision that serves, or was run last, does not
// name.
func TaskNeeds(ctx context.Context, app *appfile.Application, from AWS, serving *ecstypes.TaskDefinition) []Finding {
	c := newChecker(app, from)
	c.serving = serving
	c.checkTaskNeeds(ctx)
	return c.all
}

// checkTaskNeeds warns about log groups and roles without which new tasks do not start. Those of the serving revision are
// not read: its tasks run. AWS registers the definition all the same, and another tool may create what is missing until
// the tasks start, so nothing is refused. A read that is denied says nothing.
func (c *checker) checkTaskNeeds(ctx context.Context) {
	ctx = account.WithOptionalReads(ctx)
	before := len(c.all)
	roles := definition.NewRoles(c.task, c.serving)
	for _, role := range TaskRoles(c.task) {
		if slices.Contains(roles, role.ARN) {
			c.checkRole(ctx, role)
		}
	}
	for _, g := range definition.NewLogGroups(c.task, c.serving, c.aws.Region) {
		if account.NearRegion(g.Region) == "" { // else checkLogRegions tells it
			c.checkLogGroup(ctx, g)
		}
	}
	found := c.all[before:]
	c.all = c.all[:before]
	for _, f := range found {
		if f.Status == Error {
			f.Status, f.Detail = Warning, f.Detail+", and tasks do not start without it"
			c.all = append(c.all, f)
		}
	}
}

// HealthPorts checks to which port the health checks of the target groups go. It is for a deployment of a service that has
// no healthy target: others need no read for it.
func HealthPorts(ctx context.Context, app *appfile.Application, from AWS) []Finding {
	c := newChecker(app, from)
	c.checkHealthPorts(ctx)
	return c.all
}

// readCluster reads the cluster once.
func (c *checker) readCluster(ctx context.Context) (upkeep.Cluster, error) {
	if !c.cluster.isRead {
		c.cluster.is, c.cluster.err = c.aws.Existing.Cluster(ctx, c.app.ClusterRef())
		c.cluster.isRead = true
	}
	return c.cluster.is, c.cluster.err
}

// checkProviders requires capacity providers that the cluster has.
func (c *checker) checkProviders(ctx context.Context) {
	if c.app.Service == nil || len(c.app.Service.Input.CapacityProviderStrategy) == 0 {
		return
	}
	cluster, err := c.readCluster(ctx)
	for _, s := range c.app.Service.Input.CapacityProviderStrategy {
		name := aws.ToString(s.CapacityProvider)
		c.at(name, "capacityProvider")
		subject := "capacity provider " + lastPart(name, "/")
		switch {
		case !c.judge(subject, err, "the cluster does not exist", "correct the cluster in the files"):
			return
		case !slices.Contains(cluster.Providers, lastPart(name, "/")):
			next := "name one of these in capacityProviderStrategy, or add it to the cluster"
			if len(cluster.Providers) == 0 {
				next = "add it to the cluster, which has none, or use launchType"
			}
			c.fail(subject, fmt.Sprintf("cluster %s does not have it; it has %s", lastPart(c.app.ClusterRef(), "/"),
				listOrNone(cluster.Providers)), next)
		default:
			c.ok(subject, "")
		}
	}
}

func listOrNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// checkHostPorts requires container instances without a task of the service if each task needs the same host port: a
// deployment starts new tasks before it stops old ones, and a canary beside them.
func (c *checker) checkHostPorts(ctx context.Context) {
	container, port := c.app.Task.FixedHostPort()
	tasks := c.tasks
	if c.app.Service != nil && c.app.Service.Input.DesiredCount != nil {
		tasks = *c.app.Service.Input.DesiredCount
	}
	if port == 0 || tasks == 0 {
		return
	}
	subject := fmt.Sprintf("host port %d", port)
	cluster, err := c.readCluster(ctx)
	if !c.judge(subject, err, "the cluster does not exist", "correct the cluster in the files") {
		return
	}
	canary := c.canaryTasks(tasks)
	more := canary
	switch {
	case c.isExternal():
		more += tasks // the new task set starts beside the old one
	case leastTasks(c.app.Service.Input.DeploymentConfiguration, tasks) >= tasks:
		more++ // ECS stops no task before a new one runs
	}
	if cluster.Instances >= tasks+more {
		c.ok(subject, "")
		return
	}
	detail := fmt.Sprintf("each task needs it (container %s), so an instance runs one task; ", container)
	if canary > 0 {
		c.warn(subject, detail+fmt.Sprintf("with a canary of %s the deployment needs %d instances, and the cluster has %d",
			sluice.Plural(int(canary), "task"), tasks+more, cluster.Instances),
			"leave hostPort out (with a target group, ECS chooses a free port), add instances, or remove the pipeline")
		return
	}
	c.warn(subject, detail+fmt.Sprintf("%d instances cannot run a new task beside %d, and minimumHealthyPercent lets ECS "+
		"stop none first", cluster.Instances, tasks),
		"leave hostPort out (with a target group, ECS chooses a free port), add an instance, or lower minimumHealthyPercent")
}

// canaryTasks returns how many tasks the largest canary of the pipeline has.
func (c *checker) canaryTasks(tasks int32) (most int32) {
	for _, s := range c.app.Pipeline {
		if canary, is := s.With.(appfile.CanaryRollout); is {
			most = max(most, int32(plan.ScaledCount(int(tasks), canary.Scale)))
		}
	}
	return most
}

// leastTasks is how many tasks minimumHealthyPercent keeps.
func leastTasks(d *ecstypes.DeploymentConfiguration, tasks int32) int32 {
	percent := int32(100)
	if d != nil && d.MinimumHealthyPercent != nil {
		percent = *d.MinimumHealthyPercent
	}
	return (tasks*percent + 99) / 100
}
