package awssim

import (
	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// DeploymentView is a deployment of CodeDeploy.
type DeploymentView struct {
	ID          string          `json:"id"`
	Application string          `json:"application"`
	Group       string          `json:"group"`
	Status      string          `json:"status"`
	Creator     string          `json:"creator"`
	Failure     string          `json:"failure,omitempty"` // code
	Weight      float64         `json:"weight"`            // percent of production traffic at the replacement
	Events      []LifecycleView `json:"events"`
}

// LifecycleView is a lifecycle event.
type LifecycleView struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// FunctionView is a Lambda function, with its newest call.
type FunctionView struct {
	Name      string `json:"name"`
	Result    string `json:"result"`
	Calls     int    `json:"calls"`
	Execution string `json:"execution,omitempty"` // lifecycleEventHookExecutionId of the newest
}

// ScalableView is a scalable target.
type ScalableView struct {
	Service   string   `json:"service"` // "<cluster>/<service>"
	Min       int      `json:"min"`
	Max       int      `json:"max"`
	Suspended []string `json:"suspended,omitempty"` // in, out, scheduled
}

// viewDeploy adds the state of CodeDeploy and Application Auto Scaling.
func viewDeploy(tx *world.Tx, v *RegionView) {
	all := codedeployer.StateOf(tx).Deployments.Values()
	for i := range all[:min(20, len(all))] {
		v.Deployments = append(v.Deployments, viewDeployment(all[len(all)-1-i]))
	}
	for _, f := range tx.Functions.All() {
		fv := FunctionView{Name: f.Name, Result: f.Result, Calls: len(f.Calls)}
		if n := len(f.Calls); n > 0 {
			fv.Execution = f.Calls[n-1].Execution
		}
		v.Functions = append(v.Functions, fv)
	}
	for _, t := range autoscaler.StateOf(tx).Targets.All() {
		v.Scalable = append(v.Scalable, viewScalable(t))
	}
}

func viewDeployment(d *codedeployer.Deployment) DeploymentView {
	v := DeploymentView{ID: d.ID, Application: d.Group.Application.Name, Group: d.Group.Name, Status: d.Status,
		Creator: d.Creator, Weight: d.Weight}
	if d.Failure != nil {
		v.Failure = d.Failure.Code
	}
	for _, e := range d.Events {
		v.Events = append(v.Events, LifecycleView{e.Name, e.Status})
	}
	return v
}

func viewScalable(t *autoscaler.Target) ScalableView {
	v := ScalableView{Service: t.ID, Min: t.Min, Max: t.Max}
	for _, x := range []struct {
		name string
		is   bool
	}{{"in", t.Suspended.In}, {"out", t.Suspended.Out}, {"scheduled", t.Suspended.Scheduled}} {
		if x.is {
			v.Suspended = append(v.Suspended, x.name)
		}
	}
	return v
}
