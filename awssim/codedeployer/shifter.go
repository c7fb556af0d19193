// Package codedeployer simulates the behaviour of AWS CodeDeploy for services of Amazon ECS. It runs a
// deployment's lifecycle: ECS starts the replacement task set, hooks are called and waited for, a
// listener's traffic is shifted, and a failure is rolled back.
//
// It is a controller over [world]. Resources that only CodeDeploy has (applications, groups,
// deployments) are in its [State]; the package codedeploy creates and describes them. It calls ECS
// through [ECS], and shifts traffic by [world.Tx.SetActions], as the load balancer's API does. It
// never checks whether requests are answered.
//
// It does not simulate deployments to instances and Lambda, triggers and minimum healthy hosts.
//
// Start reading at [Controller.StartDeployment], then steps.go (the order), replacement.go, traffic.go,
// and enddeployment.go (how a deployment ends and is rolled back).
package codedeployer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ECS is the part of Amazon ECS that CodeDeploy calls.
type ECS interface {
	// Replace creates an additional task set; errors are ECS's refusals.
	Replace(*world.Tx, *world.Service, world.Replacement) (*world.TaskSet, error)
	// Promote makes a task set the PRIMARY one.
	Promote(*world.Tx, *world.TaskSet)
	// Retire drains a task set.
	Retire(*world.Tx, *world.TaskSet)
}

// Controller runs the deployments of a world.
type Controller struct{ ecs ECS }

// New creates the controller of a world and watches the world's changes. Call it once per world,
// before the first step.
func New(w *world.World, ecs ECS) *Controller {
	s := &Controller{ecs: ecs}
	w.Watch(func(tx *world.Tx, c world.Change) {
		switch o := c.Object.(type) {
		case *world.Alarm:
			s.alarmChanged(tx, o)
		case *world.Service:
			s.watchScaleOut(tx, o)
		}
	})
	w.AddInvariant(world.Invariant{Name: "a service is deployed by a deployment in progress",
		CheckChange: checkDeployedBy})
	return s
}

// StartDeployment starts a deployment of a group that has none in progress.
func (s *Controller) StartDeployment(tx *world.Tx, g *Group, d *Deployment) *Deployment {
	d.ID, d.Group, d.Creator = newID(tx), g, ByUser
	d.steps = lifecycleSteps(d)
	s.addDeployment(tx, d)
	s.runNext(tx, d, s.startSteps)
	return d
}

// addDeployment adds a new deployment to the world.
func (s *Controller) addDeployment(tx *world.Tx, d *Deployment) {
	d.Status, d.CreatedAt, d.Updated, d.at = Created, tx.Now(), tx.Now(), -1
	for _, st := range d.steps {
		if st.event != "" {
			d.Events = append(d.Events, &Event{Name: st.event, Status: Pending})
		}
	}
	st := StateOf(tx)
	st.Deployments.Put(d.ID, d)
	st.active.Put(d.ID, d)
	d.Group.Attempted = d
	tx.Log("deployment", d.ID, "created by %s for %s/%s", d.Creator, d.Group.Application.Name, d.Group.Name)
	if d.Service == nil {
		d.Service, _ = tx.Services.Get(d.Settings.Cluster + "/" + d.Settings.Service)
	}
	if d.Service != nil {
		d.startCount = d.Service.Desired
	}
	s.setDeployedBy(tx, d, d.ID)
}

// setDeployedBy records on the service the deployment in progress; "" for none.
func (s *Controller) setDeployedBy(tx *world.Tx, d *Deployment, id string) {
	if svc := d.Service; svc != nil && svc.DeployedBy != id {
		svc.DeployedBy = id
		tx.Changed(world.ServiceChanged, svc)
	}
}

// newID returns an id in CodeDeploy's form: d-XXXXXXXXX.
func newID(tx *world.Tx) string {
	n, _ := strconv.ParseUint(tx.NewHex("deployment", 16), 16, 64)
	text := strings.ToUpper(strconv.FormatUint(n, 36))
	return "d-" + (text + "000000000")[:9]
}

func checkDeployedBy(tx *world.Tx, c world.Change) error {
	svc, ok := c.Object.(*world.Service)
	if !ok || svc.DeployedBy == "" {
		return nil
	}
	d, ok := StateOf(tx).Deployments.Get(svc.DeployedBy)
	if ok && !d.HasEnded() {
		return nil
	}
	return &endedDeployer{svc.ID(), svc.DeployedBy}
}

type endedDeployer struct{ service, deployment string }

func (u *endedDeployer) Error() string {
	return "service " + u.service + " belongs to deployment " + u.deployment + ", which has ended"
}

// alarmChanged stops the deployments that watch a raised alarm.
func (s *Controller) alarmChanged(tx *world.Tx, a *world.Alarm) {
	if a.Deleted || a.State != world.AlarmRaised {
		return
	}
	for _, d := range StateOf(tx).active.Values() {
		if !d.Started.IsZero() && d.Creator != ByRollback && slices.Contains(d.Settings.Alarms.Names, a.Name) {
			s.stopOnAlarm(tx, d)
		}
	}
}
