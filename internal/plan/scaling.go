package plan

import (
	"fmt"
	"strconv"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// ScalingTag is the tag on the service that stores how its auto scaling was suspended before a
// deployment suspended it ([sluice.Suspensions]). A later deployment reads it if this one dies with
// its journal.
const ScalingTag = "sluice:auto-scaling"

// StageScaling applies the requested auto scaling settings and nothing else. Files cannot name it:
// a plan has this stage if nothing else changes.
const StageScaling = "AUTO_SCALING"

// Scaling says how a deployment changes the scalable targets of its service.
type Scaling struct {
	Suspend       bool `json:"suspend,omitempty"` // all scaling, while the deployment runs
	KeepSuspended bool `json:"leave,omitempty"`   // scaling may stay suspended while no process runs the deployment
	Resume        bool `json:"resume,omitempty"`  // end all suspensions when the deployment ends
	Min           *int `json:"min,omitempty"`     // the bounds from now on; nil: unchanged
	Max           *int `json:"max,omitempty"`

	// LeftoverTag is the value of [ScalingTag] that a lost deployment left. The state in it is
	// restored when the deployment ends, whatever else is requested.
	LeftoverTag string `json:"left,omitempty"`
}

// TagsService reports whether the service may have the tag while the deployment runs.
func (s *Scaling) TagsService() bool { return s.Suspend || s.LeftoverTag != "" }

// StartTarget returns a target as the deployment sets it when it begins.
func (s *Scaling) StartTarget(t sluice.Scalable) sluice.Scalable {
	t = s.withBounds(t)
	if s.Suspend {
		t.Suspended = sluice.AllSuspended
	}
	return t
}

// FinalTarget returns a target in its state after the deployment. was is its state before the
// deployment.
func (s *Scaling) FinalTarget(was sluice.Scalable) sluice.Scalable {
	was = s.withBounds(was)
	if s.Resume {
		was.Suspended = sluice.Suspension{}
	}
	return was
}

func (s *Scaling) withBounds(t sluice.Scalable) sluice.Scalable {
	if s.Min != nil {
		t.Min = *s.Min
	}
	if s.Max != nil {
		t.Max = *s.Max
	}
	return t
}

// planScaling plans the requested auto scaling settings, if the service is auto scaled.
func (p *Plan) planScaling(a appfile.Scaling, live AWSState) error {
	have := live.Scaling
	if have == nil || !a.IsRequested() && (have.Left == "" || len(have.Targets) == 0) {
		return nil
	}
	if have.Denied != "" {
		return &sluice.Error{Op: "plan the suspension of auto scaling", Resource: p.serviceResource(),
			Kind: sluice.Denied, Err: fmt.Errorf("the scalable targets cannot be read: %s", have.Denied),
			Next: "allow application-autoscaling:DescribeScalableTargets and " +
				"application-autoscaling:RegisterScalableTarget, or use no option of auto scaling"}
	}
	if len(have.Targets) == 0 {
		p.Notes = append(p.Notes, "Application Auto Scaling has no scalable target for the service: the auto scaling "+
			"options have no effect")
		return nil
	}
	p.Scaling = &Scaling{Suspend: a.Suspend, KeepSuspended: a.KeepSuspended, Resume: a.Resume, Min: a.Min, Max: a.Max,
		LeftoverTag: have.Left}
	p.Finish = append([]sluice.Write{{Operation: "ecs:TagResource", Resource: p.serviceResource()}, p.scalingWrite()},
		p.Finish...)
	for _, t := range have.Targets {
		if to := p.Scaling.FinalTarget(t); to.Min > to.Max {
			return &sluice.Error{Op: "plan the bounds of auto scaling", Resource: p.scalingWrite().Resource,
				Kind: sluice.Conflict,
				Err:  fmt.Errorf("the minimum of %d would be above the maximum of %d", to.Min, to.Max),
				Next: "set both --auto-scaling-min and --auto-scaling-max"}
		}
	}
	return nil
}

// scalingWrite returns the write of a scalable target. Every scalable target of a service has the
// same resource name.
func (p *Plan) scalingWrite() sluice.Write {
	return sluice.Write{Operation: "application-autoscaling:RegisterScalableTarget", Resource: "service/" +
		p.serviceResource()}
}

// addScalingWrite adds the write of scalable targets to a stage. Each stage with the claim may find
// scaling active again and suspends it first.
func (p *Plan) addScalingWrite(s *Stage) {
	if p.Scaling != nil {
		w := p.scalingWrite()
		s.addWrite(w.Operation, w.Resource)
	}
}

// scalingChanges returns the changes of the scalable targets that remain after the deployment.
func (p *Plan) scalingChanges(live AWSState) (all []Change) {
	if p.Scaling == nil {
		return nil
	}
	for i, was := range live.Scaling.targetsBefore() {
		if now := live.Scaling.Targets[i].Suspended; now != was.Suspended {
			all = append(all, Change{Of: leftoverKind, Path: "suspension of auto scaling", Have: now.String(),
				Want: was.Suspended.String()})
		}
		to := p.Scaling.FinalTarget(was)
		for _, c := range []Change{
			{Path: "minCapacity", Have: strconv.Itoa(was.Min), Want: strconv.Itoa(to.Min)},
			{Path: "maxCapacity", Have: strconv.Itoa(was.Max), Want: strconv.Itoa(to.Max)},
			{Path: "suspended", Have: was.Suspended.String(), Want: to.Suspended.String()},
		} {
			if c.Have != c.Want {
				c.Of = "auto scaling"
				all = append(all, c)
			}
		}
	}
	return all
}

// targetsBefore returns the targets in their state before a deployment that left its suspension
// behind.
func (l *ScalingState) targetsBefore() []sluice.Scalable { return TargetsBefore(l.Targets, l.Left) }

// TargetsBefore returns targets with the suspension that the value of [ScalingTag] states. It
// changes only targets that are still fully suspended. Without the tag it returns the targets
// unchanged.
func TargetsBefore(now []sluice.Scalable, tag string) []sluice.Scalable {
	were, err := sluice.ParseSuspensions(tag)
	if err != nil {
		were = nil
	}
	out := append([]sluice.Scalable(nil), now...)
	for i, t := range out {
		if was, ok := were[t.Dimension]; ok && t.Suspended == sluice.AllSuspended {
			out[i].Suspended = was
		}
	}
	return out
}

// reduceToScaling replaces the pipeline with [StageScaling] if only auto scaling changes.
func (p *Plan) reduceToScaling(app *appfile.Application, live AWSState, o Options) {
	changes := p.scalingChanges(live)
	p.Changes = append(p.Changes, changes...)
	p.warnScaling(app, live)
	if len(changes) == 0 || len(changes) != len(p.Changes) || o.forcesDeployment() || o.Adopt {
		return
	}
	p.Idle = false // nothing is deployed
	s := Stage{Name: StageScaling}
	p.addClaimWrites(&s)
	p.Stages = []Stage{s}
	p.Rollback = Stage{Index: 1, Name: appfile.StageRollback}
	p.addClaimWrites(&p.Rollback)
}

// warnScaling warns about effects of auto scaling on the deployment and of the deployment on auto
// scaling.
func (p *Plan) warnScaling(app *appfile.Application, live AWSState) {
	have := live.Scaling
	if have == nil {
		return
	}
	if p.Scaling == nil {
		p.warnScaleIn(have)
		return
	}
	if have.Left != "" && have.Left != sluice.Suspensions(have.Targets) {
		p.addWarning("an interrupted deployment left auto scaling suspended; this deployment restores the state "+
			"before that one: %s", have.Left)
	}
	for _, t := range have.Targets {
		to := p.Scaling.StartTarget(t)
		if n := p.desiredCount(app, live); to != t && live.serviceStatus() == "ACTIVE" && clampCount(n, to) != n {
			p.addWarning("the desired count is %d, outside the bounds of auto scaling (%d to %d): AWS sets it to %d "+
				"with any write to the scalable target, also of its suspension",
				n, to.Min, to.Max, clampCount(n, to))
		}
		if n := app.Service.Input.DesiredCount; n != nil && clampCount(int(*n), to) != int(*n) {
			p.addWarning("the file requests %d tasks, outside the bounds of auto scaling (%d to %d): AWS sets the "+
				"count to %d when auto scaling is restored", *n, to.Min, to.Max, clampCount(int(*n), to))
		}
	}
}

func clampCount(n int, t sluice.Scalable) int { return min(max(n, t.Min), t.Max) }

// warnScaleIn warns that auto scaling may scale in during the deployment. AWS pauses scale-in only
// during deployments by ECS or CodeDeploy (Developer Guide, "Automatically scale your Amazon ECS
// service").
func (p *Plan) warnScaleIn(have *ScalingState) {
	for _, t := range have.Targets {
		if !t.Suspended.In && p.Hosting != "" {
			p.addWarning("auto scaling is active (%d to %d tasks) and may scale in while traffic shifts. AWS pauses "+
				"scale-in only during ECS or CodeDeploy deployments. To pause it during this one, use "+
				"--suspend-auto-scaling", t.Min, t.Max)
		}
	}
}
