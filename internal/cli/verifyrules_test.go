package cli

import (
	"strings"
	"testing"
)

// The file names a rule that never existed, so no rule was deleted. verify says the same as plan.
func TestVerifyOfAMistypedRule(t *testing.T) {
	noMachine(t)
	const why = "no listener of the load balancer behind the primary target group has this rule"
	files := edited(t, "canary", "sluice.yaml", "input:|input:\n  listenerRules:\n    - arn:aws:elasticloadbalancing:us-east-1:"+
		"123456789012:listener-rule/app/web/0123456789abcdef/0123456789abcdef/00000000000000aa")
	for _, command := range []string{"plan", "verify"} {
		screen := playInWorld(t, files, exampleWorld(t, "canary"), func(b *diagnosisBench) { b.sluice(command, "/app") })
		if strings.Count(screen, why) != 1 || strings.Contains(screen, "was deleted") ||
			!strings.Contains(screen, "sluice.yaml:7") || !strings.Contains(screen, "name one of these: aws elbv2 describe-rules") {
			t.Errorf("%s printed this, want once, with sluice.yaml:7: %q\n%s", command, why, screen)
		}
	}
}
