package policy

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// writeRule names the statement that allows a write, and the resources that IAM checks for the
// write.
type writeRule struct {
	sid       string
	resources func(b *builder, resource string) []string
}

// writeRules has all operations that a plan can list. Source: Service Authorization Reference,
// "Actions, resources, and condition keys" of each service.
var writeRules = map[string]writeRule{
	"ecs:CreateService":               {changeService, serviceNamed},
	"ecs:UpdateService":               {changeService, serviceNamed},
	"ecs:DeleteService":               {changeService, serviceNamed},
	"ecs:UpdateServicePrimaryTaskSet": {changeService, ownService}, // IAM checks the service, not the task set
	"ecs:TagResource":                 {claimService, serviceNamed},
	"ecs:UntagResource":               {claimService, serviceNamed},
	"ecs:CreateTaskSet":               {changeTaskSets, anyTaskSet},
	"ecs:UpdateTaskSet":               {changeTaskSets, anyTaskSet},
	"ecs:DeleteTaskSet":               {changeTaskSets, anyTaskSet},
	"ecs:StopServiceDeployment": {stopDeployment, func(b *builder, _ string) []string {
		own := b.plan.Cluster + "/" + b.plan.Service
		return []string{b.serviceARN(own), b.resourceARN("ecs", "service-deployment/"+own+"/*")}
	}},
	"ecs:RegisterTaskDefinition": {registerDefinitions,
		func(b *builder, family string) []string { return b.familyARNs(family) }},
	"ecs:DeregisterTaskDefinition": {deregisterOld, allResources},
	"ecs:RunTask": {runTasks, func(b *builder, name string) []string {
		return b.familyARNs(strings.TrimPrefix(name, b.plan.Cluster+"/"))
	}},

	"elasticloadbalancing:ModifyRule":     {shiftRules, asNamed},
	"elasticloadbalancing:ModifyListener": {shiftListeners, asNamed},

	"servicediscovery:RegisterInstance":   {registerNames, registryARN},
	"servicediscovery:DeregisterInstance": {registerNames, registryARN},

	// The ARN of a scalable target does not contain the name of its service.
	"application-autoscaling:RegisterScalableTarget": {suspendScaling, func(b *builder, _ string) []string {
		return []string{b.resourceARN("application-autoscaling", "scalable-target/*")}
	}},

	"codedeploy:CreateDeployment": {createShift, func(b *builder, name string) []string {
		return []string{b.resourceARN("codedeploy", "deploymentgroup:"+name)}
	}},
	"codedeploy:StopDeployment":     {steerShift, allResources},
	"codedeploy:ContinueDeployment": {steerShift, allResources},
}

func serviceNamed(b *builder, name string) []string { return []string{b.serviceARN(name)} }

func ownService(b *builder, _ string) []string {
	return []string{b.serviceARN(b.plan.Cluster + "/" + b.plan.Service)}
}

func anyTaskSet(b *builder, _ string) []string { return b.taskSetARNs() }

func asNamed(_ *builder, arn string) []string { return []string{arn} }

func allResources(*builder, string) []string { return []string{wildcard} }

func registryARN(b *builder, _ string) []string {
	if b.plan.Registry == nil {
		return nil
	}
	return []string{b.plan.Registry.ARN}
}

// allowWrite allows one write of the plan.
func (b *builder) allowWrite(w sluice.Write) error {
	r, ok := writeRules[w.Operation]
	if !ok {
		return &sluice.Error{Op: "compute the IAM policy", Resource: w.String(),
			Err:  fmt.Errorf("sluice has no rule for the IAM actions of this write"),
			Next: "report this error with the output of sluice plan"}
	}
	sid := r.sid
	if other, ok := canarySids[sid]; ok && w.Resource == b.canaryName() {
		sid = other
	}
	b.allowActions(sid, r.resources(b, w.Resource), w.Operation)
	return nil
}

// canarySids maps a statement for the service to the one for the canary service. They differ
// because the canary service is created and deleted, and the service is not.
var canarySids = map[string]string{changeService: changeCanary, claimService: tagCanary}
