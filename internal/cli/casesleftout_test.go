package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leftOutKeys are members of a service definition that AWS has a default for: the text of the member, what the plan
// shows when the file leaves it out, and what it then is in AWS.
var leftOutKeys = map[string]struct{ member, shown string }{
	"enableExecuteCommand":          {`"enableExecuteCommand": true`, "enableExecuteCommand: true -> false"},
	"enableECSManagedTags":          {`"enableECSManagedTags": true`, "enableECSManagedTags: true -> false"},
	"propagateTags":                 {`"propagateTags": "SERVICE"`, "propagateTags: SERVICE -> NONE"},
	"platformVersion":               {`"platformVersion": "1.4.0"`, "platformVersion: 1.4.0 -> LATEST"},
	"healthCheckGracePeriodSeconds": {`"healthCheckGracePeriodSeconds": 30`, "healthCheckGracePeriodSeconds: 30 -> 0"},
	"serviceConnectConfiguration": {`"serviceConnectConfiguration": {"enabled": true, "namespace": "shop.local"}`,
		"- serviceConnectConfiguration: {enabled: true, namespace: shop.local}"},
}

// leftOutEdits prepare the case for the members: a task role for ECS Exec, a namespace for Service Connect.
var leftOutEdits = []caseEdit{
	{"taskdef.json", `"family": "web",`, `"family": "web", "taskRoleArn": "arn:aws:iam::123456789012:role/ecsTaskExecutionRole",`},
	{"world.yaml", `"subnets"`, `"namespaces": [{"name": "shop.local"}], "subnets"`},
	{"taskdef.json", "sim/web:v2", "sim/web:v1"},
	{"servicedef.json", `"desiredCount": 2`, `"availabilityZoneRebalancing": "ENABLED"`},
}

// A member that the service definition leaves out gets AWS's default again, and the plan shows it.
func TestMembersLeftOutAreReset(t *testing.T) {
	noMachine(t)
	for name, key := range leftOutKeys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playCase(t, "13-count-of-auto-scaling", leftOutEdits, func(b *caseBench) { b.leaveOut(key.member, key.shown) })
		})
	}
}

func (b *caseBench) leaveOut(member, shown string) {
	const always = `"availabilityZoneRebalancing": "ENABLED"`
	b.edit(caseEdit{"servicedef.json", always, always + ", " + member})
	b.expect("deploy", 0, "succeeded")
	b.expect("plan", 0, "No changes.")
	b.edit(caseEdit{"servicedef.json", always + ", " + member, always})
	b.expect("plan", 0, shown, "!No changes.")
	b.expect("diff", 2, shown)
	b.expect("deploy", 0, "succeeded")
	b.expect("plan", 0, "No changes.")
}

// A part of the deployment configuration and of the network that the file leaves out is set back too.
func TestPartsLeftOutAreReset(t *testing.T) {
	noMachine(t)
	const groups = `,
   "securityGroups": ["sg-0123456789abcdef0"]`
	edits := append([]caseEdit{{"servicedef.json", `"assignPublicIp": "DISABLED"`, `"assignPublicIp": "DISABLED"` + groups}}, leftOutEdits...)
	playCase(t, "13-count-of-auto-scaling", edits, func(b *caseBench) {
		b.expect("deploy", 0, "succeeded")
		b.edit(caseEdit{"servicedef.json", groups, ""})
		b.edit(caseEdit{"servicedef.json", `"enable": true,
   "rollback": true`, `"enable": false, "rollback": false`})
		b.edit(caseEdit{"servicedef.json", `,
  "deploymentCircuitBreaker": {
   "enable": false, "rollback": false
  }`, ""})
		b.expect("plan", 0, "deploymentCircuitBreaker: {enable: true, rollback: true}", "securityGroups: [sg-0123456789abcdef0]")
		b.expect("deploy", 0, "succeeded")
		b.expect("plan", 0, "No changes.")
	})
}

// ecspresso's configuration resets what its service definition leaves out, as ecspresso does.
func TestMembersLeftOutAreResetWithEcspresso(t *testing.T) {
	noMachine(t)
	playCase(t, "13-count-of-auto-scaling", leftOutEdits, func(b *caseBench) {
		const member = `, "enableExecuteCommand": true`
		b.useEcspresso("")
		b.edit(caseEdit{"servicedef.json", `"ENABLED"`, `"ENABLED"` + member})
		b.expect("deploy", 0, "succeeded")
		b.edit(caseEdit{"servicedef.json", member, ""})
		b.expect("plan", 0, "enableExecuteCommand: true -> false")
	})
}

// useEcspresso replaces the application file by one of ecspresso, with more lines.
func (b *caseBench) useEcspresso(more string) {
	b.t.Helper()
	fail(b.t, os.RemoveAll(filepath.Join(b.files, "sluice.yaml")))
	fail(b.t, os.WriteFile(filepath.Join(b.files, "ecspresso.yml"), []byte(strings.Join([]string{
		"region: us-east-1", "cluster: prod", "service: web", "service_definition: servicedef.json",
		"task_definition: taskdef.json", more, ""}, "\n")), 0o600))
}

// An application file of PipeCD keeps what its service definition leaves out, and the plan says so.
func TestMembersLeftOutStayWithPipeCD(t *testing.T) {
	noMachine(t)
	playCase(t, "13-count-of-auto-scaling", leftOutEdits, func(b *caseBench) {
		const member = `, "enableExecuteCommand": true`
		b.edit(caseEdit{"servicedef.json", `"ENABLED"`, `"ENABLED"` + member})
		b.expect("deploy", 0, "succeeded")
		b.edit(caseEdit{"servicedef.json", member, ""})
		fail(b.t, os.Remove(filepath.Join(b.files, "sluice.yaml")))
		fail(b.t, os.WriteFile(filepath.Join(b.files, "app.pipecd.yaml"), []byte(strings.Join([]string{
			"apiVersion: pipecd.dev/v1beta1", "kind: ECSApp", "spec:", "  name: web", "  input:",
			"    serviceDefinitionFile: servicedef.json", "    taskDefinitionFile: taskdef.json",
			"    accessType: ELB", ""}, "\n")), 0o600))
		b.expect("plan", 0, "No changes.", "leaves out members that the service has", "enableExecuteCommand (true)")
	})
}

// Load balancers that the file leaves out are removed, with a warning: callers of the target group get errors.
func TestPlanWarnsOfLoadBalancersLeftOut(t *testing.T) {
	noMachine(t)
	playCase(t, "13-count-of-auto-scaling", leftOutEdits, func(b *caseBench) {
		b.edit(caseEdit{"servicedef.json", `"loadBalancers"`, `"tags"`})
		b.edit(caseEdit{"servicedef.json", `
  {
   "targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef",
   "containerName": "web",
   "containerPort": 80
  }
 `, ""})
		b.expect("plan", 0, "loadBalancers", "takes the service out of target group web: its callers get errors")
	})
}
