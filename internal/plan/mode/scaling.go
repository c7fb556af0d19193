package mode

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// planScaling plans the requested auto scaling settings, if the service is auto scaled.
func planScaling(p *plan.Plan, a appfile.Scaling, live plan.AWSState) error {
	have := live.Scaling
	if have == nil || !a.IsRequested() && (have.Left == "" || len(have.Targets) == 0) {
		return nil
	}
	if have.Denied != "" {
		return &sluice.Error{Op: "plan the suspension of auto scaling", Resource: p.ServiceResource(),
			Kind: sluice.Denied, Err: fmt.Errorf("the scalable targets cannot be read: %s", have.Denied),
			Next: "allow application-autoscaling:DescribeScalableTargets and " +
				"application-autoscaling:RegisterScalableTarget, or use no option of auto scaling"}
	}
	if len(have.Targets) == 0 && (a.Min != nil || a.Max != nil) {
		return &sluice.Error{Op: "plan the bounds of auto scaling", Resource: p.ServiceResource(), Kind: sluice.Conflict,
			Err: errors.New("the service has no target of Application Auto Scaling, so there are no bounds to change"),
			Next: "register the service as a scalable target of Application Auto Scaling, or run sluice scale --tasks N, " +
				"which needs none"}
	}
	if len(have.Targets) == 0 {
		p.Notes = append(p.Notes, "Application Auto Scaling has no scalable target for the service: the auto scaling "+
			"options have no effect")
		return nil
	}
	p.Scaling = &plan.Scaling{Suspend: a.Suspend, KeepSuspended: a.KeepSuspended, Resume: a.Resume, Min: a.Min,
		Max: a.Max, LeftoverTag: have.Left}
	p.Finish = append([]sluice.Write{{Operation: "ecs:TagResource", Resource: p.ServiceResource()}, scalingWrite(p)},
		p.Finish...)
	for _, t := range have.Targets {
		if to := p.Scaling.FinalTarget(t); to.Min > to.Max {
			return &sluice.Error{Op: "plan the bounds of auto scaling", Resource: scalingWrite(p).Resource,
				Kind: sluice.Conflict,
				Err:  fmt.Errorf("the minimum of %d would be above the maximum of %d", to.Min, to.Max),
				Next: "set both --auto-scaling-min and --auto-scaling-max"}
		}
	}
	return nil
}

// withScaledCount returns the application without its desired count if Application Auto Scaling sets the count of the
// service, and the count is within its bounds. --tasks still sets the count once.
func withScaledCount(app *appfile.Application, live plan.AWSState, tasks *int) *appfile.Application {
	count := app.Service.Input.DesiredCount
	if tasks != nil || count == nil || live.Scaling == nil || live.ServiceStatus() != "ACTIVE" {
		return app
	}
	now := int(live.Service.DesiredCount)
	t := plan.FindScaling(live.Scaling.Targets, now)
	differs := int(*count) != now
	a := *app
	switch {
	case t != nil:
		a.Service = app.Service.WithAnyCount()
		if differs {
			a.Notes = append(slices.Clone(app.Notes), fmt.Sprintf("Application Auto Scaling sets the number of tasks (%d "+
				"to %d, %d now): desiredCount %d of the file is not written. To set the count once, use --tasks %[4]d",
				t.Min, t.Max, now, *count))
		}
	case differs && live.Scaling.Denied != "":
		a.Notes = append(slices.Clone(app.Notes), "the scalable targets cannot be read, so the deployment writes "+
			"desiredCount of the file also if Application Auto Scaling sets it: "+live.Scaling.Denied)
	}
	return &a
}

// scalingWrite returns the write of a scalable target. Every scalable target of a service has the
// same resource name.
func scalingWrite(p *plan.Plan) sluice.Write {
	return sluice.Write{Operation: "application-autoscaling:RegisterScalableTarget", Resource: "service/" +
		p.ServiceResource()}
}

// addScalingWrite adds the write of scalable targets to a stage. Each stage with the claim may find
// scaling active again and suspends it first.
func addScalingWrite(p *plan.Plan, s *plan.Stage) {
	if p.Scaling != nil {
		w := scalingWrite(p)
		s.AddWrite(w.Operation, w.Resource)
	}
}

// scalingChanges returns the changes of the scalable targets that remain after the deployment.
func scalingChanges(p *plan.Plan, live plan.AWSState) (all []plan.Change) {
	if p.Scaling == nil {
		return nil
	}
	for i, was := range live.Scaling.TargetsBefore() {
		if now := live.Scaling.Targets[i].Suspended; now != was.Suspended {
			all = append(all, plan.Change{Of: plan.LeftoverKind, Path: "suspension of auto scaling", Have: now.String(),
				Want: was.Suspended.String(), Kind: plan.Alters})
		}
		to := p.Scaling.FinalTarget(was)
		for _, c := range []plan.Change{
			{Path: "minCapacity", Have: strconv.Itoa(was.Min), Want: strconv.Itoa(to.Min), Kind: plan.Alters},
			{Path: "maxCapacity", Have: strconv.Itoa(was.Max), Want: strconv.Itoa(to.Max), Kind: plan.Alters},
			{Path: "suspended", Have: was.Suspended.String(), Want: to.Suspended.String(), Kind: plan.Alters},
		} {
			if c.Have != c.Want {
				c.Of = "auto scaling"
				all = append(all, c)
			}
		}
	}
	return all
}

// reduceToScaling replaces the pipeline with [plan.StageScaling] if only auto scaling changes.
func reduceToScaling(p *plan.Plan, app *appfile.Application, live plan.AWSState, o Options) {
	changes := scalingChanges(p, live)
	p.Changes = append(p.Changes, changes...)
	warnScaling(p, app, live)
	if len(changes) == 0 || len(changes) != len(p.Changes) || o.forcesDeployment() || o.Adopt {
		return
	}
	p.Idle = false // nothing is deployed
	// A deployment in progress, of which the end decides, is somebody else's: to restore auto scaling restores no version.
	p.AutoRollback = false
	s := newScalingStage()
	addClaimWrites(p, &s)
	p.Stages = []plan.Stage{s}
	p.Rollback = newRollbackStage(1)
	addClaimWrites(p, &p.Rollback)
}

// warnScaling warns about effects of auto scaling on the deployment and of the deployment on auto
// scaling.
func warnScaling(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	have := live.Scaling
	if have == nil {
		return
	}
	if p.Scaling == nil {
		warnScaleIn(p, have)
		for _, t := range have.Targets {
			warnCountOutside(p, app, t, "its next activity sets the count to %d")
		}
		return
	}
	if have.Left != "" && have.Left != sluice.Suspensions(have.Targets) {
		addWarning(p, "an interrupted deployment left auto scaling suspended; this deployment restores the state "+
			"before that one: %s", have.Left)
	}
	for _, t := range have.Targets {
		to := p.Scaling.StartTarget(t)
		if n := desiredCount(p, app, live); to != t && live.ServiceStatus() == "ACTIVE" && clampCount(n, to) != n {
			addWarning(p, "the desired count is %d, outside the bounds of auto scaling (%d to %d): AWS sets it to %d "+
				"with any write to the scalable target, also of its suspension",
				n, to.Min, to.Max, clampCount(n, to))
		}
		warnCountOutside(p, app, to, "AWS sets the count to %d when auto scaling is restored")
	}
}

// warnCountOutside warns about a requested count outside the bounds of a scalable target. then says when AWS sets another
// count.
func warnCountOutside(p *plan.Plan, app *appfile.Application, t sluice.Scalable, then string) {
	count := app.Service.Input.DesiredCount
	if count == nil || clampCount(int(*count), t) == int(*count) {
		return
	}
	n, flag := int(*count), "--auto-scaling-max"
	if n < t.Min {
		flag = "--auto-scaling-min"
	}
	addWarning(p, "%d tasks are requested, outside the bounds of auto scaling (%d to %d): "+then+". To change the bounds "+
		"too, use %s %d", n, t.Min, t.Max, clampCount(n, t), flag, n)
}

func clampCount(n int, t sluice.Scalable) int { return min(max(n, t.Min), t.Max) }

// warnScaleIn warns that auto scaling may scale in during the deployment. AWS pauses scale-in only
// during deployments by ECS or CodeDeploy (Developer Guide, "Automatically scale your Amazon ECS
// service").
func warnScaleIn(p *plan.Plan, have *plan.ScalingState) {
	for _, t := range have.Targets {
		if !t.Suspended.In && p.Mode().HasVariants() {
			addWarning(p, "auto scaling is active (%d to %d tasks) and may scale in while traffic shifts. AWS pauses "+
				"scale-in only during ECS or CodeDeploy deployments. To pause it during this one, use "+
				"--suspend-auto-scaling", t.Min, t.Max)
		}
	}
}
