package cli

import (
	"strings"
	"testing"
)

// No advice replaces the trust policy of a role that tasks or another service assume.
func TestAdviceKeepsTheTrustOfOtherRoles(t *testing.T) {
	noMachine(t)
	const command = "aws iam update-assume-role-policy"
	world := exampleWorld(t, "native")
	files := exampleFiles(t, "native")
	shared := edited(t, "native", "servicedef.yaml", "role/ecsInfrastructureRole|role/ecsTaskExecutionRole")
	screen := playInWorld(t, shared, world, func(b *diagnosisBench) { b.sluice("verify", "/app") })
	want := "next: name another role, which ecs.amazonaws.com may assume, such as one with the policy " +
		"AmazonECSInfrastructureRolePolicyForLoadBalancers"
	if !strings.Contains(screen, want) || strings.Contains(screen, command) {
		t.Errorf("verify printed this, want %q:\n%s", want, screen)
	}
	ofOthers := strings.Replace(world, "trusts: [ecs.amazonaws.com]", "trusts: [lambda.amazonaws.com]", 1)
	screen = playInWorld(t, files, ofOthers, func(b *diagnosisBench) { b.sluice("verify", "/app") })
	if !strings.Contains(screen, want) || strings.Contains(screen, command) {
		t.Errorf("for a role of Lambda verify printed this, want %q:\n%s", want, screen)
	}
}
