package policy

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// writeRule names the statement that allows a write, and the resources that IAM checks for the
// write.
type row struct {
	sid       string
	resources func(b *builder, resource string) []string
}

// writeRules has all operations that a plan can list. Source: Service Authorization Reference,
// "Actions, resources, and condition keys" of each service.
var writes = map[string]row{
	"ecs:CreateService":               {changeService, serviceNamed},
	"ecs:UpdateService":               {changeService, serviceNamed},
	"ecs:DeleteService":               {changeService, serviceNamed},
	"ecs:UpdateServicePrimaryTaskSet": {changeService, ownService}, // IAM checks the service, not the task set
	"ecs:TagResource":                 {claim, serviceNamed},
	"ecs:UntagResource":               {claim, serviceNamed},
	"ecs:CreateTaskSet":               {changeTaskSets, anyTaskSet},
	"ecs:UpdateTaskSet":               {changeTaskSets, anyTaskSet},
	"ecs:DeleteTaskSet":               {changeTaskSets, anyTaskSet},
	"ecs:StopServiceDeployment": {stopDeployment, func(b *builder, _ string) []string {
		own := b.plan.Cluster + "/" + b.plan.Service
		return []string{b.service(own), b.arn("ecs", "service-deployment/"+own+"/*")}
	}},
	"ecs:RegisterTaskDefinition":   {define, func(b *builder, family string) []string { return b.family(family) }},
	"ecs:DeregisterTaskDefinition": {forget, anything},
	"ecs:RunTask":                  {runTasks, func(b *builder, name string) []string { return b.family(strings.TrimPrefix(name, b.plan.Cluster+"/")) }},

	"elasticloadbalancing:ModifyRule":     {shiftRules, asNamed},
	"elasticloadbalancing:ModifyListener": {shiftListeners, asNamed},

	"servicediscovery:RegisterInstance":   {registerNames, registry},
	"servicediscovery:DeregisterInstance": {registerNames, registry},

	// The ARN of a scalable target does not contain the name of its service.
	"application-autoscaling:RegisterScalableTarget": {scale, func(b *builder, _ string) []string {
		return []string{b.arn("application-autoscaling", "scalable-target/*")}
	}},

	"codedeploy:CreateDeployment": {createShift, func(b *builder, name string) []string {
		return []string{b.arn("codedeploy", "deploymentgroup:"+name)}
	}},
	"codedeploy:StopDeployment":     {steerShift, anything},
	"codedeploy:ContinueDeployment": {steerShift, anything},
}

func serviceNamed(b *builder, name string) []string { return []string{b.service(name)} }

func ownService(b *builder, _ string) []string {
	return []string{b.service(b.plan.Cluster + "/" + b.plan.Service)}
}

func anyTaskSet(b *builder, _ string) []string { return b.taskSets() }

func asNamed(_ *builder, arn string) []string { return []string{arn} }

func anything(*builder, string) []string { return []string{everything} }

func registry(b *builder, _ string) []string {
	if b.plan.Registry == nil {
		return nil
	}
	return []string{b.plan.Registry.ARN}
}

// allowWrite allows one write of the plan.
func (b *builder) write(w sluice.Write) error {
	r, ok := writes[w.Operation]
	if !ok {
		return &sluice.Error{Op: "compute the IAM policy", Resource: w.String(), Err: fmt.Errorf("no rule says what IAM checks for it"),
			Next: "report it with the output of sluice plan"}
	}
	sid := r.sid
	if other, ok := ofCanary[sid]; ok && b.plan.Beside() && w.Resource == b.canary() {
		sid = other
	}
	b.allow(sid, r.resources(b, w.Resource), w.Operation)
	return nil
}

// canarySids maps a statement for the service to the one for the canary service. They differ
// because the canary service is created and deleted, and the service is not.
var ofCanary = map[string]string{changeService: changeCanary, claim: tagCanary}
