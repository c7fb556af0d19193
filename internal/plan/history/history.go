package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// Return is the target of a rollback of a service that sluice did not deploy.
type Return struct {
	To       string                    // family:revision
	Revision *ecstypes.ServiceRevision // whose attributes are restored; nil: not known, they stay
	// Definition is the task definition of To, read by the survey; nil if there is nothing to roll
	// back.
	Definition *ecstypes.TaskDefinition
	Stop       string // ARN of the running service deployment, which is stopped first
	Nothing    string // why there is nothing to roll back; empty: there is
}

// ChooseReturn chooses the target of a rollback from the service's history, newest first. It takes
// the revision to if given. While a deployment runs, it takes the revision that served before.
// Otherwise it takes the newest that succeeded and is not the current one, unless the current one was
// returned to. A lower revision number does not mean that a revision succeeded.
func ChooseReturn(cluster string, s *ecstypes.Service, past []plan.PastDeployment, to string) (Return, error) {
	if err := refuseReturn(cluster, s, to); err != nil {
		return Return{}, err
	}
	if to != "" {
		return Return{To: to, Revision: newestSuccessful(past,
			func(p plan.PastDeployment) bool { return p.RevisionName() == to }).Revision}, nil
	}
	if len(past) > 0 && sluice.IsServiceDeploymentRunning(past[0].Status) {
		return chooseBeforeRunning(cluster, s, past)
	}
	if last, ok := rolledBackByECS(s, past); ok {
		return Return{Nothing: fmt.Sprintf("ECS already rolled back %s; %s is the running version",
			orUnknown(last.RevisionName()), currentRevision(s))}, nil
	}
	return chooseBeforeCurrent(cluster, s, past)
}

// chooseBeforeCurrent returns the newest version that succeeded and is not the current one, unless the current one
// was returned to.
func chooseBeforeCurrent(cluster string, s *ecstypes.Service, past []plan.PastDeployment) (Return, error) {
	differs := func(p plan.PastDeployment) bool { return p.Revision != nil && differsFromCurrent(s, past, p) }
	if HasReturned(releases(s, past)) {
		replaced := past[slices.IndexFunc(past, differs)]
		return Return{Nothing: runsAgain(cluster, aws.ToString(s.ServiceName), nameCurrent(s, past), replaced.RevisionName())}, nil
	}
	last := newestSuccessful(past, differs)
	if last.Revision == nil {
		return Return{}, errNoneSucceeded(cluster, s, past)
	}
	return Return{To: last.RevisionName(), Revision: last.Revision}, nil
}

// releases returns the history as releases, oldest first. The current version is the last one.
func releases(s *ecstypes.Service, past []plan.PastDeployment) (all []Release) {
	current := contentOf(past, currentRevision(s))
	for _, p := range slices.Backward(past) {
		if p.Revision == nil {
			continue
		}
		version := contentOf(past, p.RevisionName())
		if version == current && differsFromCurrent(s, past, p) {
			version += " with other attributes"
		}
		all = append(all, Release{Version: version, Served: p.Status == "SUCCESSFUL"})
	}
	return append(all, Release{Version: current, Served: true})
}

// RunsAgain says why a rollback has nothing to do after a rollback. command deploys the replaced version.
func RunsAgain(current, replaced, command string) string {
	return fmt.Sprintf("%s runs again: it had served before %s, which it replaced. To deploy %s, run %s", current, replaced,
		replaced, command)
}

// runsAgain is [RunsAgain] for a service whose history AWS keeps.
func runsAgain(cluster, service, current, replaced string) string {
	return RunsAgain(current, replaced, fmt.Sprintf("sluice rollback --cluster %s --service %s --to %s", cluster, service,
		replaced))
}

// chooseBeforeRunning returns the newest completed deployment, as ECS does in a rollback. If the running
// one only replaces the tasks of that version, it returns the version before. A deployment older than the
// history is still in the deployments of the service.
func chooseBeforeRunning(cluster string, s *ecstypes.Service, past []plan.PastDeployment) (Return, error) {
	stop := past[0].ARN
	if !sluice.IsServiceDeploymentRollingBack(past[0].Status) && !newestDiffers(s, past, past[1:]) {
		if back, err := chooseBeforeCurrent(cluster, s, past[1:]); err == nil && back.Nothing == "" {
			back.Stop = stop
			return back, nil
		}
	}
	if last := newestSuccessful(past[1:], func(plan.PastDeployment) bool { return true }); last.Revision != nil {
		return Return{To: last.RevisionName(), Revision: last.Revision, Stop: stop}, nil
	}
	for _, d := range s.Deployments {
		if aws.ToString(d.Status) != "PRIMARY" && d.RolloutState == ecstypes.DeploymentRolloutStateCompleted {
			return Return{To: sluice.RevisionOf(aws.ToString(d.TaskDefinition)), Stop: stop}, nil
		}
	}
	return Return{}, errNoneSucceeded(cluster, s, past)
}

// isOther returns the check whether a deployment of the history deployed another version than the current one, or one
// that is not known any more.
func isOther(s *ecstypes.Service, past []plan.PastDeployment) func(plan.PastDeployment) bool {
	return func(p plan.PastDeployment) bool { return p.Revision == nil || differsFromCurrent(s, past, p) }
}

// rolledBackByECS returns the last deployment of another version, if ECS rolled it back to the current one.
// Deployments that only replaced tasks since do not count.
func rolledBackByECS(s *ecstypes.Service, past []plan.PastDeployment) (plan.PastDeployment, bool) {
	n := slices.IndexFunc(past, isOther(s, past))
	if n < 0 || past[n].Status != "ROLLBACK_SUCCESSFUL" {
		return plan.PastDeployment{}, false
	}
	return past[n], n == 0 || !newestDiffers(s, past, past[n+1:])
}

// newestDiffers reports whether the newest version of a part of the history that succeeded is not the one of the
// service.
func newestDiffers(s *ecstypes.Service, past, of []plan.PastDeployment) bool {
	newest := newestSuccessful(of, func(plan.PastDeployment) bool { return true })
	return newest.Revision == nil || differsFromCurrent(s, past, newest)
}

func newestSuccessful(past []plan.PastDeployment, fits func(plan.PastDeployment) bool) plan.PastDeployment {
	for _, p := range past {
		if p.Status == "SUCCESSFUL" && p.Revision != nil && fits(p) {
			return p
		}
	}
	return plan.PastDeployment{}
}

// differsFromCurrent reports whether a service revision differs from the current service. A copy of a task
// definition does not differ from it.
func differsFromCurrent(s *ecstypes.Service, past []plan.PastDeployment, p plan.PastDeployment) bool {
	return contentOf(past, p.RevisionName()) != contentOf(past, currentRevision(s)) ||
		len(definition.CompareService(definition.ServiceOf(aws.ToString(s.ServiceName), p.Revision, s), s)) > 0
}

func currentRevision(s *ecstypes.Service) string {
	return sluice.RevisionOf(aws.ToString(s.TaskDefinition))
}

func orUnknown(revision string) string {
	if revision == "" {
		return "the newest deployment"
	}
	return revision
}

// KeepsHistory reports whether ECS keeps a history of the service. It does so only for controller
// ECS.
func KeepsHistory(l plan.AWSState) bool {
	return l.ServiceStatus() == "ACTIVE" && refuseReturn("", l.Service, "") == nil
}

// refuseReturn returns the error of a service that ECS has no history of. to is the revision that a person named, if
// any.
func refuseReturn(cluster string, s *ecstypes.Service, to string) error {
	problem := func(kind sluice.Kind, next, format string, args ...any) error {
		resource := cluster
		if s != nil {
			resource += "/" + aws.ToString(s.ServiceName)
		}
		return &sluice.Error{Op: "roll the service back", Resource: resource, Kind: kind,
			Err: fmt.Errorf(format, args...), Next: next}
	}
	switch {
	case s == nil:
		return problem(sluice.NotFound, "check --cluster, --service and --region", "the service does not exist")
	case aws.ToString(s.Status) != "ACTIVE":
		return problem(sluice.NotFound, "deploy the service to create it again", "the service is %s",
			aws.ToString(s.Status))
	case s.DeploymentController != nil && s.DeploymentController.Type != "" &&
		s.DeploymentController.Type != plan.ControllerECS:
		why := "ECS keeps no history for controller %s: only the journal of its last deployment can go back"
		next := "roll it back on the machine that has its journal, or name another journal with --state. With the " +
			"application's files, sluice rollback --adopt cleans up after a lost deployment"
		switch {
		case to != "":
			next = "deploy the revision again, in the application's folder: sluice deploy --revision " +
				to[strings.LastIndex(to, ":")+1:]
		case !hasLeftovers(s):
			why = "no deployment is unfinished. " + why
			next = "name the journal of its last deployment with --state, or run sluice deploy with the files of the " +
				"earlier version"
		}
		return problem(sluice.NotFound, next, why, s.DeploymentController.Type)
	}
	return nil
}

// hasLeftovers reports whether a service has the claim of a deployment, or a task set besides the PRIMARY one.
func hasLeftovers(s *ecstypes.Service) bool {
	return slices.ContainsFunc(s.Tags, func(t ecstypes.Tag) bool { return aws.ToString(t.Key) == plan.ClaimTag }) ||
		slices.ContainsFunc(s.TaskSets, func(t ecstypes.TaskSet) bool { return aws.ToString(t.Status) != "PRIMARY" })
}

// errNoneSucceeded is the error of a service whose history has no version to return to.
func errNoneSucceeded(cluster string, s *ecstypes.Service, past []plan.PastDeployment) error {
	why := "the 90-day history of ECS has no other successful revision of the service"
	isFirst := !slices.ContainsFunc(past, isOther(s, past))
	return errNoFormer(cluster, aws.ToString(s.ServiceName), currentRevision(s), why, isFirst)
}

// errNoFormer is the error of a service without a version to return to. isFirst: no other version than the current one
// was ever deployed, as far as AWS knows.
func errNoFormer(cluster, service, current, why string, isFirst bool) error {
	next := fmt.Sprintf("name a revision: sluice rollback --cluster %s --service %s --to family:revision", cluster, service)
	if isFirst {
		why = "no version was deployed before " + current + ": " + why
		next = fmt.Sprintf("correct the files and run sluice deploy DIR; sluice revisions %s/%s lists what --to accepts", cluster,
			service)
	}
	return &sluice.Error{Op: "roll the service back", Resource: cluster + "/" + service, Kind: sluice.NotFound,
		Err: errors.New(why), Next: next}
}

// returnDeadline is the progress deadline of a rollback without an application file.
const returnDeadline = 10 * time.Minute

// MakeReturn plans a rollback as a deployment of the registered task definition, or of a copy if it was
// deregistered, with the attributes of its service revision. It does not change the desired count. sluice
// does not roll back a failed return.
func MakeReturn(cluster string, live plan.AWSState, back Return) (*plan.Plan, error) {
	name, task := aws.ToString(live.Service.ServiceName), back.Definition
	var notes []string
	if live.Identical = back.To; definition.IsDeregistered(task) {
		live.Identical = ""
		notes = append(notes, back.To+" was deregistered, and AWS deploys no such revision: sluice registers a copy of it")
	}
	if ByCodeDeploy(live) {
		return makeCodeDeployReturn(cluster, live, back, notes)
	}
	app := &appfile.Application{File: "the history of " + cluster + "/" + name, Name: name, Cluster: cluster,
		Task: definition.TaskOf(task), Service: definition.ServiceOf(name, back.Revision, live.Service),
		ProgressDeadline: returnDeadline,
		Notes:            append(notes, fmt.Sprintf("the desired count (%d) is not changed", live.Service.DesiredCount))}
	if back.Revision == nil {
		app.Notes = append(app.Notes, "the history of ECS has no service attributes for "+back.To+
			": the other attributes are not changed")
	}
	p, err := mode.Make(app, live, mode.Options{})
	if err != nil || back.Stop == "" {
		return p, err
	}
	s := &p.Stages[0]
	s.Stop = back.Stop
	s.AddWrite("ecs:StopServiceDeployment", back.Stop)
	p.Changes = append(p.Changes, plan.Change{Of: "service deployment", Path: back.Stop, Have: "runs",
		Want: "rolled back", Kind: plan.Alters})
	return p, nil
}
