package mode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// externalSets returns ACTIVE task sets that get requests like the variants of the application.
// Neither sluice nor an earlier tool of the application created them.
func externalSets(l plan.AWSState, app *appfile.Application) (all []sluice.TaskSet) {
	for _, ts := range l.TaskSets {
		removable := slices.ContainsFunc(l.LeftoverSets(), func(x sluice.TaskSet) bool { return x.ID == ts.ID })
		idle := ts.Scale == 0 && ts.Running+ts.Pending == 0 // it gets no requests
		if ts.Status == "ACTIVE" && !removable && !idle && getsRequests(l, app, ts) {
			all = append(all, ts)
		}
	}
	return all
}

// getsRequests reports whether requests reach a task set through the target groups or the registry
// of the application.
func getsRequests(l plan.AWSState, app *appfile.Application, set sluice.TaskSet) bool {
	for _, g := range []*appfile.TargetGroup{app.Primary, app.Canary} {
		if g != nil && g.ARN != "" && set.TargetGroup == g.ARN {
			return true
		}
	}
	return l.Registry != nil && l.Service != nil && plan.IsRegisteredIn(*l.Registry, l.Service.TaskSets, set.ID)
}

// refuseExternal rejects a deployment if external task sets or targets get requests from the
// application's groups, unless its file allows them. A deployment without variants is rejected only if it creates a service
// in groups with tasks of others: its name may be a typo.
func refuseExternal(app *appfile.Application, live plan.AWSState, o Options) error {
	if o.Only || app.OnOtherTargets == sluice.AllowTargets {
		return nil
	}
	if !Of(app).HasVariants() && !joinsAnother(app, live) {
		return nil
	}
	const allow = "onOtherTargets: allow in the application file to deploy next to it"
	if sets := externalSets(live, app); len(sets) > 0 && app.OnOtherTargets != sluice.RemoveTargets {
		ts := sets[0]
		cluster, service := ServiceNames(app)
		return &sluice.Error{Op: "plan", Resource: cluster + "/" + service, Kind: sluice.Conflict,
			Err: fmt.Errorf("task set %s of %s is ACTIVE with %s in %s, but sluice did not create it: it gets a part "+
				"of the requests",
				ts.ID, ts.Revision, sluice.Plural(ts.Running, "running task"), requestSource(ts)),
			Next: fmt.Sprintf("delete it: aws ecs delete-task-set --cluster %s --service %s --task-set %s --force. "+
				"Or set onOtherTargets: remove to have sluice drain and delete it, or %s",
				cluster, service, ts.ID, allow)}
	}
	if len(live.Foreign) == 0 {
		return nil
	}
	var all []string
	for _, t := range live.Foreign {
		all = append(all, t.String())
	}
	targets := strings.Join(all, ", ")
	if live.IsNewService() {
		return refuseJoining(app, live, targets)
	}
	return &sluice.Error{Op: "plan", Resource: groupARN(live.Foreign[0], app), Kind: sluice.Conflict,
		Err:  errors.New("targets that are not tasks of the service get requests from its target groups: " + targets),
		Next: foreignAdvice(app, live, allow)}
}

// refuseJoining rejects a new service in target groups that have targets, at the line of its name: the name may be a typo.
func refuseJoining(app *appfile.Application, live plan.AWSState, targets string) error {
	cluster, service := ServiceNames(app)
	next := "correct serviceName, or give the new service a target group without targets"
	if near := definition.Nearest(service, live.Services); near != "" {
		next = "correct serviceName: " + near + " exists"
	}
	return appfile.LocateAt(app.PlaceOfServiceName(), &sluice.Error{Op: "plan", Resource: cluster + "/" + service,
		Kind: sluice.Conflict, Next: next,
		Err: fmt.Errorf("cluster %s has no service %s%s, but the target groups have targets: %s. If a second service in them is "+
			"meant, set onOtherTargets: allow", sluice.ARNName(cluster), service, existingText(live), targets)})
}

// joinsAnother reports whether the deployment creates a service in target groups that have tasks of another one.
func joinsAnother(app *appfile.Application, live plan.AWSState) bool {
	_, service := ServiceNames(app)
	return live.IsNewService() && slices.ContainsFunc(live.Foreign, func(t plan.ExternalTarget) bool {
		return t.IsTask() && t.Owner != "service "+service // the former one of this name may still run tasks
	})
}

// foreignAdvice returns what to do about targets of others next to a service that exists. It prints a command that removes
// a target from the load balancer only if no task of the cluster has the address.
func foreignAdvice(app *appfile.Application, live plan.AWSState, allow string) string {
	ownGroup := "give the application a target group of its own. Or set " + allow
	for _, t := range live.Foreign {
		switch {
		case t.IsTask():
			return ownGroup
		case t.Owner != plan.NoOwner:
			return "find whose it is: aws ec2 describe-network-interfaces --filters Name=addresses.private-ip-address,Values=" +
				t.ID + ". Or set " + allow
		}
	}
	return "deregister them: aws elbv2 deregister-targets --target-group-arn " + groupARN(live.Foreign[0], app) +
		" --targets Id=" + live.Foreign[0].ID + ". Or set " + allow
}

// existingText names the services that the cluster has.
func existingText(live plan.AWSState) string {
	if len(live.Services) == 0 {
		return ""
	}
	return " (it has " + definition.ListNames(live.Services) + ")"
}

// warnNewService warns if the deployment creates a service whose name is nearly that of an existing one.
func warnNewService(p *plan.Plan, live plan.AWSState) {
	if near := definition.Nearest(p.Service, live.Services); live.IsNewService() && near != "" {
		addWarning(p, "service %s does not exist, and the deployment creates it; the cluster has a service %s: if you mean "+
			"that one, correct serviceName", p.Service, near)
	}
}

// groupARN returns the ARN of the target's group.
func groupARN(t plan.ExternalTarget, app *appfile.Application) string {
	switch {
	case app.Canary != nil && sluice.TargetGroupName(app.Canary.ARN) == t.Group:
		return app.Canary.ARN
	case app.Primary != nil:
		return app.Primary.ARN
	}
	return t.Group
}

// requestSource names the origin of the requests of a task set, for people.
func requestSource(set sluice.TaskSet) string {
	if set.TargetGroup == "" {
		return "the service registry"
	}
	return "target group " + sluice.TargetGroupName(set.TargetGroup)
}

// ChangesOutsideFiles returns what gets requests, or would at the next release, and is not
// described by the files. It excludes resources that a running deployment created.
func ChangesOutsideFiles(app *appfile.Application, live plan.AWSState) []plan.Change {
	all := listLeftovers(live, "none")
	for _, ts := range externalSets(live, app) {
		all = append(all, plan.Change{Of: "task set", Path: ts.ID,
			Have: fmt.Sprintf("of %s, not created by sluice, %d running in %s", ts.Revision, ts.Running,
				requestSource(ts)),
			Want: "none", Kind: plan.Removes})
	}
	for _, t := range live.Foreign {
		all = append(all, plan.Change{Of: "target", Path: t.ID,
			Have: fmt.Sprintf("%s in target group %s, not a task of the service", t.State, t.Group), Want: "none",
			Kind: plan.Removes})
	}
	return append(all, weightedRules(app, live)...)
}

// listLeftovers returns the leftovers of earlier deployments as changes.
func listLeftovers(live plan.AWSState, want string) (all []plan.Change) {
	all = append(all, leftoverCanaryService(live)...)
	for _, ts := range live.LeftoverSets() {
		all = append(all, plan.Change{Of: "task set", Path: ts.ID, Have: fmt.Sprintf("a canary of %s, %d running",
			ts.Revision, ts.Running), Want: want, Kind: plan.Removes})
	}
	if live.LeftRecords > 0 {
		all = append(all, plan.Change{Of: "instances", Path: live.Registry.FullName(),
			Have: fmt.Sprintf("%d of canaries", live.LeftRecords), Want: want, Kind: plan.Removes})
	}
	return all
}

// weightedRules returns the rules that give weight to the canary, as changes.
func weightedRules(app *appfile.Application, live plan.AWSState) (all []plan.Change) {
	if app.Canary == nil || !Of(app).HasVariants() {
		return nil
	}
	for _, r := range live.Steered {
		if w, _ := r.Weight(app.Canary.ARN); w > 0 {
			all = append(all, plan.Change{Of: "traffic", Path: r.Name(), Have: fmt.Sprintf("canary weight %d", w),
				Want: "canary weight 0", Kind: plan.Alters})
		}
	}
	return all
}
