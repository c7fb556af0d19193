package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A rule that forwards to the canary's group alone is for tests, and does not change the outcome. If a canary that an
// earlier pipeline kept serves its callers, the plan warns that they get 503, with the command that leads them to the
// primary, and the outcome says it again if that is so.
func TestCallersOfACanaryThatIsDeleted(t *testing.T) {
	const warns, notes = "(path /beta*) forwards only to the canary target group, where a canary serves its requests now: " +
		"they get 503 once sluice has deleted the canary", "rule 1 of port 80 (path /beta*) forwards only to web-canary"
	kept := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout, stagetest.ShiftBack)
	cleaned := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout, stagetest.ShiftBack,
		stagetest.CleanCanary)
	toPrimary := func(b *stagetest.Bench, rule string) {
		stagetest.Got(b.ELB.ModifyRule(context.Background(), &awselb.ModifyRuleInput{RuleArn: aws.String(rule),
			Actions: b.Forward(true)}))(b)
	}
	for name, c := range map[string]struct {
		first, then  string // pipelines
		quick        bool
		image        string
		act          func(b *stagetest.Bench, rule string) // before the end
		outcome      sluice.Outcome
		warns, notes bool
		gets         string // callers of the rule at the end
		serves       string // and before
	}{
		"a canary lives": {first: kept, then: stagetest.CanaryPipeline, warns: true, notes: true, gets: "503", serves: "v2 200"},
		"quick sync":     {first: kept, then: stagetest.CanaryPipeline, quick: true, warns: true, notes: true, gets: "503", serves: "v2 200"},
		"rolled back": {first: kept, then: stagetest.CanaryPipeline, image: "sim/web:v3-crash-after-2s", outcome: sluice.RolledBack,
			warns: true, notes: true, gets: "503", serves: "v2 200"},
		"a person leads the rule elsewhere": {first: kept, then: stagetest.CanaryPipeline, act: toPrimary, warns: true,
			gets: "v3 200", serves: "v2 200"},
		"the pipeline keeps its canary": {first: kept, then: kept, gets: "v3 200", serves: "v2 200"},
		"no canary lives":               {first: cleaned, then: stagetest.CanaryPipeline, gets: "503", serves: "503"},
	} {
		for host, in := range map[string]func(testing.TB, func(*stagetest.Bench)){
			"task sets": func(t testing.TB, f func(*stagetest.Bench)) { stagetest.Run(t, stagetest.Options{}, f) },
			"services":  stagetest.RunRolling,
		} {
			t.Run(name+"/"+host, func(t *testing.T) {
				in(t, func(b *stagetest.Bench) {
					files := func(image, pipeline string) fstest.MapFS {
						if host == "services" {
							return b.CanaryServiceFiles(image, pipeline, stagetest.Breaker)
						}
						return b.Files(image, pipeline)
					}
					b.Deploy(files("sim/web:v2", c.first))
					rule := b.AddRule(1, "/beta*", elbtypes.Action{Type: elbtypes.ActionTypeEnumForward,
						TargetGroupArn: aws.String(b.Canary)})
					b.CallersOf("/beta") // the nodes of the load balancer follow within seconds
					if got := b.CallersOf("/beta"); got != c.serves {
						b.Fatalf("callers of the rule get %q before, want %q", got, c.serves)
					}
					image, outcome := c.image, c.outcome
					if image == "" {
						image = "sim/web:v3"
					}
					if outcome == "" {
						outcome = sluice.Succeeded
					}
					p := stagetest.Got(b.Plan(files(image, c.then), mode.Options{QuickSync: c.quick}))(b)
					warnings := strings.Join(p.Warnings, "\n")
					command := "forward that rule to the group of the primary: aws elbv2 modify-rule --rule-arn " + rule
					if strings.Contains(warnings, warns) != c.warns || strings.Contains(warnings, command) != c.warns {
						b.Errorf("warnings: %s", warnings)
					}
					id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
					if c.act != nil {
						b.OnStageEnd(4, func() { c.act(b, rule) })
					}
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if end.Outcome != outcome || strings.Contains(end.Cause, notes) != c.notes ||
						strings.Contains(end.Next, command) != c.notes {
						b.Errorf("%s: %s; next: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
					}
					if got := b.CallersOf("/beta"); got != c.gets {
						b.Errorf("callers of the rule get %q, want %q", got, c.gets)
					}
				})
			})
		}
	}
}
