package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// rehearsed is a part of the JSON of sluice rehearse.
type rehearsed struct {
	Scenarios []struct {
		Scenario, Outcome string
		Safe              bool
		Requests, Failed  float64
		Violations        []string
	}
	NotPlayed []string
}

// rehearse rehearses the files of the bench.
func (b *caseBench) rehearse(want int, scenarios string) (out rehearsed) {
	b.t.Helper()
	code, text, log := b.sluice("rehearse", "files", "--seeds", "1", "--faults", scenarios, "--output", "json")
	if code != want {
		b.t.Errorf("sluice rehearse --faults %s: exit %d, want %d\n%s%s", scenarios, code, want, text, log)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		b.t.Errorf("sluice rehearse: %v\n%s", err, text)
	}
	return out
}

// ruleWeights returns the weight of each target group in a listener rule.
func (b *caseBench) ruleWeights(rule string) map[string]int32 {
	out, err := awselb.NewFromConfig(b.sim.Config()).DescribeRules(context.Background(),
		&awselb.DescribeRulesInput{RuleArns: []string{rule}})
	fail(b.t, err)
	all := map[string]int32{}
	for _, g := range out.Rules[0].Actions[0].ForwardConfig.TargetGroups {
		all[*g.TargetGroupArn] = aws.ToInt32(g.Weight)
	}
	return all
}

const (
	nativeARN      = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	nativeRule     = nativeARN + "listener-rule/app/web/0123456789abcdef/0123456789abcdef/0000000000000001"
	nativeGreen    = nativeARN + "targetgroup/web-green/0123456789abcdef"
	blueGreen      = `"strategy": "BLUE_GREEN",`
	blueGreenCase  = "05-own-strategy-from-files"
	nativeRoleLine = `"roleArn": "arn:aws:iam::123456789012:role/ecsInfrastructureRole"`
)

// sim --from and rehearse build the second target group and the rules of ECS's own strategies from advancedConfiguration.
// A deployment there ends as on AWS, and loses no request.
func TestOwnStrategiesFromFiles(t *testing.T) {
	noMachine(t)
	network := []caseEdit{
		{"servicedef.json", nativeRule, nativeARN + "listener/net/web/0123456789abcdef/0123456789abcdef"},
		{"servicedef.json", nativeRoleLine, `"testListenerRule": "` + nativeARN +
			`listener/net/web/0123456789abcdef/0123456789abcde1", ` + nativeRoleLine}}
	for name, edits := range map[string][]caseEdit{
		"BLUE_GREEN": nil,
		"LINEAR": {{"servicedef.json", blueGreen, `"strategy": "LINEAR", "linearConfiguration": {"stepPercent": 50, ` +
			`"stepBakeTimeInMinutes": 1},`}},
		"CANARY": {{"servicedef.json", blueGreen, `"strategy": "CANARY", "canaryConfiguration": {"canaryPercent": 10, ` +
			`"canaryBakeTimeInMinutes": 1},`}},
		"a test rule": {{"servicedef.json", nativeRoleLine, `"testListenerRule": "` + nativeARN +
			`listener-rule/app/web/0123456789abcdef/0123456789abcdef/0000000000000002", ` + nativeRoleLine}},
		"a pause": {{"servicedef.json", blueGreen, blueGreen + `"lifecycleHooks": [{"targetType": "PAUSE",
			"lifecycleStages": ["POST_SCALE_UP"]}],`}},
		"Network Load Balancer": network,
	} {
		t.Run(name, func(t *testing.T) {
			playFiles(t, blueGreenCase, edits, func(b *caseBench) {
				got := b.rehearse(0, "good,crash-loop,rollback-midway")
				if len(got.Scenarios) != 3 || got.Scenarios[0].Outcome != "succeeded" || got.Scenarios[0].Requests == 0 ||
					got.Scenarios[0].Failed > 0 || got.Scenarios[1].Outcome != "rolled back" ||
					got.Scenarios[2].Outcome != "rolled back" || got.Scenarios[2].Failed > 0 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
	playFiles(t, blueGreenCase, nil, func(b *caseBench) {
		b.expect("deploy", 0, "prod/web runs web:2")
		if w := b.ruleWeights(nativeRule); w[nativeGreen] != 100 {
			t.Errorf("the production rule has the weights %v", w)
		}
		b.expect("plan", 0, "No changes")
	})
}

// A world from files has all that the files name: sluice verify finds nothing missing, and each service can be rehearsed.
func TestWorldFromFilesHasWhatTheyName(t *testing.T) {
	noMachine(t)
	playFiles(t, "named-by-the-files", nil, func(b *caseBench) {
		b.expect("verify", 0, "log group /ecs/web", "secret B of container web", "hook function check", "alarm errors",
			"security group sg-0123456789abcdef0", "environment file arn:aws:s3:::shop-config/prod.env", "task role shop",
			"!does not exist", "!cannot be read")
		if got := b.rehearse(0, "good"); got.Scenarios[0].Outcome != "succeeded" {
			t.Errorf("%+v", got)
		}
	})
}

// If a good version is not deployed safely, the other scenarios show nothing and are not played.
func TestRehearseStopsIfAGoodVersionFails(t *testing.T) {
	noMachine(t)
	playCase(t, "09-minimum-zero-a", nil, func(b *caseBench) {
		got := b.rehearse(1, "crash-loop,good,no-image")
		if len(got.Scenarios) != 1 || got.Scenarios[0].Scenario != "good" || len(got.NotPlayed) != 2 {
			t.Errorf("%+v", got)
		}
		b.expect("rehearse --faults good,no-image --seeds 1", 1, "the 1 other scenario", "were not played")
	})
}

// While ECS bakes, status shows the targets of both groups, and what ECS waits for.
func TestStatusWhileECSBakes(t *testing.T) {
	noMachine(t)
	playFiles(t, blueGreenCase, []caseEdit{{"servicedef.json", `"bakeTimeInMinutes": 1,`, `"bakeTimeInMinutes": 20,`}},
		func(b *caseBench) {
			b.clock.Go(func() { b.expect("deploy", 0, "prod/web runs web:2") })
			fail(t, b.clock.Sleep(context.Background(), 15*time.Minute))
			out := b.expect("status", 0, "all 2 tasks run: ECS is in the stage BAKE_TIME", "!former tasks drain")
			if n := strings.Count(out, "  healthy"); n != 4 {
				t.Errorf("%d of 4 tasks have a healthy target\n%s", n, out)
			}
			fail(t, b.clock.Sleep(context.Background(), 30*time.Minute))
		})
}
