package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// The plan warns about a service whose callers lose requests in every deployment, with the numbers and the remedy.
func TestPlanWarnsOfAnOutage(t *testing.T) {
	noMachine(t)
	const keepOne = `"minimumHealthyPercent": 100`
	for name, c := range map[string]struct {
		edits []caseEdit
		texts []string
	}{
		"09-minimum-zero-a": {nil, []string{"ECS may stop all 2 tasks at once, because minimumHealthyPercent is 0: callers " +
			"get errors until the new ones are healthy", "set minimumHealthyPercent to 100",
			"if ECS stops all tasks first, as minimumHealthyPercent 0 allows: no task serves for about 3"}},
		"09-minimum-zero-b": {nil, []string{"ECS may stop the only task, because minimumHealthyPercent is 0",
			"set minimumHealthyPercent to 100 and maximumPercent to 200"}},
		"10-names-outlive-tasks": {nil, []string{"callers may cache an address of api.shop.local for 1m0s (TTL)",
			"kills a stopping task 30s after SIGTERM", "Set the TTL of service srv-", "stopTimeout of the container to 60"}},
		"unknown-platform-version": {nil, []string{"platformVersion 1.9.9 is unknown, and AWS may refuse the deployment",
			"Write one of LATEST, 1.4.0"}},
		"11-fixed-host-port": {nil, []string{"host port 8080: each task needs it (container web)",
			"3 instances cannot run a new task beside 3", "lower minimumHealthyPercent"}},
	} {
		t.Run(name, func(t *testing.T) {
			playCase(t, name, c.edits, func(b *caseBench) { b.expect("plan", 0, c.texts...) })
		})
	}
	playCase(t, "09-minimum-zero-a", []caseEdit{{"servicedef.json", `"minimumHealthyPercent": 0`, keepOne}},
		func(b *caseBench) { b.expect("plan", 0, "!ECS may stop all") })
	for percent, want := range map[string]string{
		"25": "ECS may stop 3 of 4 tasks at once, because minimumHealthyPercent is 25: 1 of the 4 does all the work until new " +
			"ones are healthy. To avoid that, set minimumHealthyPercent to 100",
		"49": "!ECS may stop", // 2 of 4 stay
		"50": "!ECS may stop",
	} {
		playCase(t, "09-minimum-zero-a", []caseEdit{{"servicedef.json", `"minimumHealthyPercent": 0`,
			`"minimumHealthyPercent": ` + percent}, {"world.yaml", `"count": 2`, `"count": 4`}},
			func(b *caseBench) { b.expect("plan", 0, want) })
	}
	playCase(t, "10-names-outlive-tasks", []caseEdit{{"world.yaml", `"60s"`, `"30s"`}},
		func(b *caseBench) { b.expect("plan", 0, "!callers may cache") })
	playCase(t, "11-fixed-host-port", []caseEdit{{"world.yaml", `"instances": 3`, `"instances": 4`}},
		func(b *caseBench) { b.expect("plan", 0, "!host port 8080") })
}

// With a fixed host port, a canary needs instances of its own: the plan counts them, and init writes no canary.
func TestCanaryWithAFixedHostPort(t *testing.T) {
	noMachine(t)
	const name, arn = "11-fixed-host-port", "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web"
	group := func(suffix string) string {
		return `{"targetGroupArn": "` + arn + suffix + `/0123456789abcdef", "containerName": "web", "containerPort": 80}`
	}
	edits := []caseEdit{{"sluice.yaml", `"input": {`, `"pipeline": {"stages": [{"name": "ECS_CANARY_ROLLOUT", "with": {"scale": 50}},
		{"name": "ECS_PRIMARY_ROLLOUT"}, {"name": "ECS_CANARY_CLEAN"}]},
		"input": {"targetGroups": {"primary": ` + group("") + `, "canary": ` + group("-canary") + `},`},
		{"world.yaml", `"targetGroups": [`, `"targetGroups": [{"name": "web-canary", "port": 8080, "type": "instance",
		"arn": "` + arn + `-canary/0123456789abcdef", "healthCheck": {"path": "/"}},`},
		{"world.yaml", `"web": 100`, `"web": 100, "web-canary": 0`}}
	playCase(t, name, append(edits, caseEdit{"world.yaml", `"instances": 3`, `"instances": 5`}), func(b *caseBench) {
		b.expect("plan", 0, "with a canary of 2 tasks the deployment needs 6 instances, and the cluster has 5",
			"add instances, or remove the pipeline")
	})
	playCase(t, name, append(edits, caseEdit{"world.yaml", `"instances": 3`, `"instances": 6`}), func(b *caseBench) {
		b.expect("plan", 0, "!host port 8080")
	})
	playCase(t, name, []caseEdit{{"world.yaml", `"instances": 3`, `"instances": 4`}}, func(b *caseBench) {
		for _, from := range []string{"", " --cluster prod --service web"} {
			fail(t, os.Remove(filepath.Join(b.files, "sluice.yaml")))
			b.expect("init --force"+from, 0, "the service cannot have a canary: each task needs port 8080 of its instance (container web)")
			b.expect("plan", 0, "!ECS_CANARY_ROLLOUT", "!host port 8080")
		}
	})
}

// The plan refuses what AWS would refuse after the first write, and says what to do.
func TestPlanRefusesWhatAWSRefuses(t *testing.T) {
	noMachine(t)
	for name, texts := range map[string][]string{
		"group-without-load-balancer": {"target group alone", "no load balancer forwards to it",
			"next: add a listener rule that forwards to it"},
		"unknown-capacity-provider": {"capacity provider nope", "cluster prod does not have it",
			"next: add it to the cluster, which has none, or use launchType", "!put-cluster-capacity-providers"},
		"17-placeholder-in-angle-brackets": {"taskdef.json:13:", "containerDefinitions[].image is a template that was not " +
			"rendered", "next: write the value, or render the file first"},
		"unknown-subnet": {"subnet subnet-0ffffffffffffffff", "it does not exist in us-east-1", "next: correct its ID"},
		"group-of-type-instance": {"target group web-canary", "type instance", "network mode awsvpc",
			"create a target group with --target-type ip"},
	} {
		t.Run(name, func(t *testing.T) {
			playCase(t, name, nil, func(b *caseBench) {
				b.expect("plan", 1, texts...)
				b.expect("deploy", 1, append(texts, "!RegisterTaskDefinition")...)
			})
		})
	}
}

// Security groups are looked up with the subnets, if the deployment changes the network.
func TestPlanLooksUpSecurityGroups(t *testing.T) {
	noMachine(t)
	edits := func(group string) []caseEdit {
		return []caseEdit{{"world.yaml", `"subnets": [`, `"securityGroups": ["sg-0123456789abcdef0"], "subnets": [`},
			{"servicedef.json", `"subnet-0ffffffffffffffff"`, `"subnet-0123456789abcdef0"`},
			{"servicedef.json", `"subnets": [`, `"securityGroups": ["` + group + `"], "subnets": [`}}
	}
	playCase(t, "unknown-subnet", edits("sg-0fffffffffffffff0"), func(b *caseBench) {
		b.expect("plan", 0, "Warnings", "security group sg-0fffffffffffffff0: it does not exist in us-east-1: "+
			"AWS refuses the deployment, or no task starts",
			"Next: correct its ID in the network configuration")
	})
	playCase(t, "unknown-subnet", edits("sg-0123456789abcdef0"), func(b *caseBench) {
		b.expect("plan --iam", 0, "ec2:DescribeSecurityGroups")
		fail(t, b.sim.Inject("denied ec2:DescribeSecurityGroups"))
		b.expect("plan", 0, "not checked: security groups", "ec2:DescribeSecurityGroups")
	})
}

// The plan knows how the rules and target groups of a canary behave: stickiness that AWS refuses or that keeps clients
// away from the canary, rules that are not steered, and a canary group with other settings.
func TestPlanKnowsTheLoadBalancer(t *testing.T) {
	noMachine(t)
	fits := caseEdit{"world.yaml", `"type": "instance"`, `"type": "ip"`}
	withCanary := caseEdit{"world.yaml", `"web": 100`, `"web": 100, "web-canary": 0`}
	for name, c := range map[string]struct {
		edits []caseEdit
		code  int
		texts []string
	}{
		"nothing to say": {[]caseEdit{fits}, 0, []string{"!stickiness", "!differs from the primary", "!not change it"}},
		"sticky targets": {[]caseEdit{fits, {"world.yaml", `"deregistrationDelay": "10s"`,
			`"deregistrationDelay": "10s", "attributes": {"stickiness.enabled": "true"}`}}, 1,
			[]string{"has stickiness and the default rule of port 80 has none: AWS refuses a rule with two target groups",
				"set stickiness.enabled to false on the target group"}},
		"sticky rule": {[]caseEdit{fits, withCanary, {"world.yaml", `"forward": {`, `"stickiness": "1h", "forward": {`}}, 0,
			[]string{"the default rule of port 80 has stickiness: a client stays with its target group for 1h",
				"known clients do not reach the canary"}},
		"another rule": {[]caseEdit{fits, withCanary, {"world.yaml", `"forward": {`,
			`"rules": [{"priority": 10, "path": ["/api"], "forward": {"web": 1}}], "forward": {`}}, 0,
			[]string{"the rule 10 of port 80 forwards to the primary target group too, and sluice does not change it",
				"add the canary target group with weight 0 to this rule"}},
		"another health check": {[]caseEdit{{"world.yaml", `"unhealthy": 2
   },
   "type": "instance"`, `"unhealthy": 2, "matcher": "200-299"}`}}, 0,
			[]string{"the canary target group web-canary differs from the primary: success codes 200-299, not 200"}},
	} {
		t.Run(name, func(t *testing.T) {
			playCase(t, "group-of-type-instance", c.edits, func(b *caseBench) { b.expect("plan", c.code, c.texts...) })
		})
	}
}

// The plan and verify warn about deployment alarms that do not exist, and about alarms that ECS ignores because they are
// in ALARM already. A caller who may not read alarms gets a note.
func TestPlanChecksAlarms(t *testing.T) {
	noMachine(t)
	edits := []caseEdit{{"servicedef.json", `"minimumHealthyPercent": 100`,
		`"minimumHealthyPercent": 100, "alarms": {"enable": true, "rollback": true, "alarmNames": ["gone", "firing"]}`}}
	playCase(t, "13-count-of-auto-scaling", edits, func(b *caseBench) {
		fail(t, b.sim.Inject("denied cloudwatch:DescribeAlarms"))
		b.expect("plan", 0, "Notes", "not checked: alarms gone, firing: it cannot be read: cloudwatch:DescribeAlarms", "!it does not exist")
		b.sim.ClearFaults()
		api := awscw.NewFromConfig(b.sim.Config())
		_, err := api.PutMetricAlarm(context.Background(), &awscw.PutMetricAlarmInput{AlarmName: aws.String("firing"),
			Namespace: aws.String("shop"), MetricName: aws.String("errors"), Statistic: cwtypes.StatisticSum,
			Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold})
		fail(t, err)
		_, err = api.SetAlarmState(context.Background(), &awscw.SetAlarmStateInput{AlarmName: aws.String("firing"),
			StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("a test")})
		fail(t, err)
		texts := []string{"alarm gone: it does not exist, so it does not protect the deployment",
			"alarm firing: it is in ALARM already, so ECS ignores it in this deployment"}
		b.expect("plan", 0, texts...)
		b.expect("verify", 0, texts...)
	})
}
