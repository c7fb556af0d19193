package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// ByCodeDeploy reports whether AWS CodeDeploy deploys the current service.
func ByCodeDeploy(l plan.AWSState) bool {
	return l.ServiceStatus() == "ACTIVE" && l.Service.DeploymentController != nil &&
		l.Service.DeploymentController.Type == plan.ControllerCodeDeploy
}

// ChooseCodeDeployReturn chooses the revision to which a service deployed by CodeDeploy is rolled
// back. It takes the revision to if given. While a deployment runs, it takes the other task set, unless
// that has the same revision. A running rollback is an error: its end would leave the version that it replaces. Otherwise
// it takes the revision of the newest other deployment in past, newest first, unless the current one was returned to.
func ChooseCodeDeployReturn(cluster string, live plan.AWSState, to string, past []plan.PastShift) (Return, error) {
	name := aws.ToString(live.Service.ServiceName)
	back := Return{To: to, Stop: live.Deployer.Running}
	if to != "" {
		return back, nil
	}
	current := live.ServingRevision()
	differs := func(p plan.PastShift) bool { return contentOfShift(past, p.Revision) != contentOfShift(past, current) }
	before := ""
	if n := slices.IndexFunc(past, func(p plan.PastShift) bool { return p.Succeeded && differs(p) }); n >= 0 {
		before = past[n].Revision
	}
	if back.Stop == "" {
		back.To = before
		if n := slices.IndexFunc(past, differs); n >= 0 && hasReturnedTo(past, current) {
			return Return{Nothing: runsAgain(cluster, name, current, past[n].Revision)}, nil
		}
	}
	running := ""
	if live.Deployer.RollsBack {
		return Return{}, errRollsBack(cluster, name, back.Stop)
	}
	for _, ts := range live.TaskSets {
		switch {
		case back.Stop == "" || ts.Status == "DRAINING":
		case ts.ExternalID == back.Stop:
			running = ts.Revision
		default:
			back.To = ts.Revision
		}
	}
	if back.Stop != "" && back.To != running && running != "" && hasReturnedTo(past, running) {
		return Return{}, errRollsBack(cluster, name, back.Stop)
	}
	if back.To == running && before != "" {
		back.To = before // the running deployment only replaces the tasks of that version
	}
	if back.To == "" {
		return back, errNoFormer(cluster, name, current, "CodeDeploy has no other successful deployment of the service",
			!slices.ContainsFunc(past, differs))
	}
	return back, nil
}

// hasReturnedTo reports whether a revision, as the last one, was returned to.
func hasReturnedTo(past []plan.PastShift, revision string) bool {
	var all []Release
	for _, p := range slices.Backward(past) {
		all = append(all, Release{Version: contentOfShift(past, p.Revision), Served: p.Succeeded, Returns: p.Returns})
	}
	return HasReturned(append(all, Release{Version: contentOfShift(past, revision), Served: true}))
}

// contentOfShift returns the content of a revision, or its name if the content was not read.
func contentOfShift(past []plan.PastShift, name string) string {
	n := slices.IndexFunc(past, func(p plan.PastShift) bool { return p.Revision == name })
	if n < 0 {
		return name
	}
	return cmp.Or(past[n].Content, name)
}

// errRollsBack is the error of a rollback while a deployment of CodeDeploy restores a former version.
func errRollsBack(cluster, service, deployment string) error {
	return &sluice.Error{Op: "roll the service back", Resource: cluster + "/" + service, Kind: sluice.Overtaken,
		Err:  fmt.Errorf("CodeDeploy deployment %s already restores a former version", deployment),
		Next: fmt.Sprintf("run sluice wait %s/%s to follow it", cluster, service)}
}

// makeCodeDeployReturn plans the rollback of a service that CodeDeploy deploys. A running
// deployment is stopped with its rollback. If that does not restore the revision, the revision is
// deployed again with AllAtOnce.
func makeCodeDeployReturn(cluster string, live plan.AWSState, back Return, notes []string) (*plan.Plan, error) {
	name := aws.ToString(live.Service.ServiceName)
	service := &definition.Service{Input: &awsecs.CreateServiceInput{ServiceName: &name,
		LoadBalancers:        balancersOf(live.Service),
		DeploymentController: &ecstypes.DeploymentController{Type: plan.ControllerCodeDeploy}},
		Given: map[string]bool{"serviceName": true, "loadBalancers": true, "deploymentController": true}}
	app := &appfile.Application{File: "the history of " + cluster + "/" + name, Name: name, Cluster: cluster,
		Task: definition.TaskOf(back.Definition), Service: service, ProgressDeadline: returnDeadline,
		CodeDeploy: appfile.CodeDeploy{Config: plan.AllAtOnce},
		Notes: append(notes, fmt.Sprintf("the desired count (%d) and the other attributes of the service are not "+
			"changed; no hook is called", live.Service.DesiredCount))}
	live.Deployer.Running = "" // it is stopped first, or there is none
	p, err := mode.Make(app, live, mode.Options{Force: back.Stop != "" && back.To == live.ServingRevision()})
	if err != nil {
		return nil, err
	}
	p.CodeDeploy.Returns = true
	s := &p.Stages[0]
	if p.CodeDeploy.ContinuesReturn() {
		s.AddWrite("codedeploy:ContinueDeployment", plan.ReturnShift)
	}
	if back.Stop != "" {
		s.Stop = back.Stop
		s.AddWrite("codedeploy:StopDeployment", back.Stop)
		p.Changes = append(p.Changes, plan.Change{Of: "CodeDeploy deployment", Path: back.Stop, Have: "runs",
			Want: "rolled back", Kind: plan.Alters})
	}
	return p, nil
}

func balancersOf(s *ecstypes.Service) []ecstypes.LoadBalancer {
	for _, ts := range s.TaskSets {
		if aws.ToString(ts.Status) == "PRIMARY" {
			return ts.LoadBalancers
		}
	}
	return s.LoadBalancers
}
