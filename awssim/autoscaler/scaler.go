// Package autoscaler simulates the behaviour of Application Auto Scaling for services of Amazon ECS. It
// keeps the desired count within the bounds of a scalable target, follows target-tracking policies
// on the average CPU utilization, and carries out scheduled actions.
//
// It is a controller over [world]. Resources that only Application Auto Scaling has are in its
// [State]. Utilization is modelled: [world.Service.Demand] divided by the running tasks of all task
// sets, 100 percent at most. Without a demand there is no metric, and no policy scales.
//
// While ECS or CodeDeploy deploys a service, scale-in waits. With the controller EXTERNAL it does
// not wait (Developer Guide, "Automatically scale your Amazon ECS service").
//
// It does not evaluate step scaling, other metrics, cron schedules and forecasts. Its alarms are
// not in the simulated CloudWatch.
//
// Start reading at [Controller.SetBounds], then track.go.
package autoscaler

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ECS is the part of Amazon ECS that Application Auto Scaling calls.
type ECS interface {
	SetDesired(tx *world.Tx, svc *world.Service, desired int)
}

// Controller scales the services of a world.
type Controller struct{ ecs ECS }

// New creates the controller of a world and watches the world's changes. Call it once per world,
// before the first step.
func New(w *world.World, ecs ECS) *Controller {
	s := &Controller{ecs: ecs}
	w.Watch(func(tx *world.Tx, c world.Change) {
		if svc, ok := c.Object.(*world.Service); ok {
			if t, ok := StateOf(tx).Targets.Get(svc.ID()); ok {
				s.scheduleCheck(tx, t)
			}
		}
	})
	return s
}

// State holds the resources of Application Auto Scaling in one Region.
type State struct {
	Targets    world.Ordered[*Target] // by "<cluster>/<service>"
	Activities []*Activity            // newest first
}

// StateOf returns the state of the step's Region.
func StateOf(tx *world.Tx) *State { return world.PrivateState[State](tx.Region, "scaler") }

// Target is a scalable target: the desired count of one service.
type Target struct {
	ID, ARN   string // ID: "<cluster>/<service>"
	Min, Max  int
	Suspended Suspended
	CreatedAt time.Time
	Policies  world.Ordered[*Policy]    // by name
	Scheduled world.Ordered[*Scheduled] // by name
	Doc       any

	tick            world.Event
	wentOut, wentIn time.Time
}

// Suspended marks the suspended kinds of scaling.
type Suspended struct{ In, Out, Scheduled bool }

// Policy is a scaling policy. Tracking is nil if the policy is stored but not evaluated.
type Policy struct {
	Name, ARN string
	Tracking  *Tracking
	CreatedAt time.Time
	High, Low string // names of its alarms, "" if it has none
	Doc       any

	above, below int // consecutive minutes
}

// Tracking keeps the average CPU utilization near a value, in percent.
type Tracking struct {
	Target         float64
	Out, In        time.Duration // cooldowns
	DisableScaleIn bool
}

// Activity is a change of the desired count.
type Activity struct {
	ID, Target         string
	Description, Cause string
	At                 time.Time
	Desired            int
}

// maxActivities is the number of activities that are kept; AWS keeps those of six weeks.
const maxActivities = 500

// SetBounds changes a target's bounds and suspensions. It moves the desired count into the bounds
// at once, as every RegisterScalableTarget does. A resumed direction acts at once if its alarm is
// raised.
func (s *Controller) SetBounds(tx *world.Tx, t *Target, lo, hi int, suspended Suspended) {
	was := t.Suspended
	t.Min, t.Max, t.Suspended = lo, hi, suspended
	tx.Log("scalable target", t.ID, "%d to %d, suspended %+v", lo, hi, suspended)
	s.clampDesired(tx, t)
	if was.In && !suspended.In || was.Out && !suspended.Out {
		s.actOnAlarms(tx, t)
	}
	s.scheduleCheck(tx, t)
}

// RemoveTarget deletes a target with its policies and scheduled actions.
func (s *Controller) RemoveTarget(tx *world.Tx, t *Target) {
	tx.Cancel(t.tick)
	for _, a := range t.Scheduled.All() {
		tx.Cancel(a.next)
	}
	StateOf(tx).Targets.Delete(t.ID)
	tx.Log("scalable target", t.ID, "gone")
}

// activeService returns the ACTIVE service of a target, or nil.
func (t *Target) activeService(tx *world.Tx) *world.Service {
	svc, ok := tx.Services.Get(t.ID)
	if !ok || svc.Status != "ACTIVE" {
		return nil
	}
	return svc
}

func (s *Controller) clampDesired(tx *world.Tx, t *Target) {
	svc := t.activeService(tx)
	switch {
	case svc == nil:
	case svc.Desired < t.Min:
		s.setDesired(tx, t, svc, t.Min, fmt.Sprintf("minimum capacity was set to %d", t.Min))
	case svc.Desired > t.Max:
		s.setDesired(tx, t, svc, t.Max, fmt.Sprintf("maximum capacity was set to %d", t.Max))
	}
}

// setDesired changes the desired count and records the activity.
func (s *Controller) setDesired(tx *world.Tx, t *Target, svc *world.Service, desired int, cause string) {
	st := StateOf(tx)
	a := &Activity{ID: tx.NewUUID("scaling activity"), Target: t.ID, At: tx.Now(), Desired: desired, Cause: cause,
		Description: fmt.Sprintf("Setting desired count to %d.", desired)}
	st.Activities = append([]*Activity{a}, st.Activities...)
	st.Activities = st.Activities[:min(len(st.Activities), maxActivities)]
	tx.Log("scalable target", t.ID, "desired %d -> %d: %s", svc.Desired, desired, cause)
	s.ecs.SetDesired(tx, svc, desired)
}
