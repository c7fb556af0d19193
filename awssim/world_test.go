package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
)

const (
	primaryARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-primary/0123456789abcdef"
	canaryARN  = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/fedcba9876543210"
)

func TestExampleWorldIsSettled(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, string(canaryFile(t)))
	if s.Account() != "123456789012" || s.Region() != "us-east-1" {
		t.Errorf("%s %s", s.Account(), s.Region())
	}
	if now := s.World().Now(); !now.Equal(clock.Now()) {
		t.Errorf("the world's time is %v", now)
	}
	ecs, elb := awsecs.NewFromConfig(s.Config()), awselb.NewFromConfig(s.Config())
	svc, err := ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}})
	if err != nil || len(svc.Services) != 1 {
		t.Fatal(svc, err)
	}
	set := svc.Services[0].TaskSets[0]
	if aws.ToString(set.Status) != "PRIMARY" || set.RunningCount != 4 || set.StabilityStatus != "STEADY_STATE" ||
		*set.LoadBalancers[0].TargetGroupArn != primaryARN {
		t.Errorf("%+v", set)
	}
	if age := clock.Now().Sub(*svc.Services[0].CreatedAt); age != 10*time.Minute {
		t.Errorf("the service is %v old", age)
	}
	health, err := elb.DescribeTargetHealth(ctx,
		&awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(primaryARN)})
	if err != nil || len(health.TargetHealthDescriptions) != 4 {
		t.Fatal(health, err)
	}
	for _, d := range health.TargetHealthDescriptions {
		if d.TargetHealth.State != "healthy" {
			t.Errorf("%s is %s", *d.Target.Id, d.TargetHealth.State)
		}
	}
	rules, err := elb.DescribeRules(ctx, &awselb.DescribeRulesInput{ListenerArn: aws.String(
		"arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef")})
	if err != nil || len(rules.Rules) != 1 {
		t.Fatal(rules, err)
	}
	groups := rules.Rules[0].Actions[0].ForwardConfig.TargetGroups
	if *groups[0].TargetGroupArn != primaryARN || *groups[0].Weight != 100 || *groups[1].TargetGroupArn != canaryARN ||
		*groups[1].Weight != 0 {
		t.Errorf("%+v", groups)
	}
}

func TestUnsettledWorldBeginsNow(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, string(canaryFile(t))+"settled: false\n")
	tasks := func() (status []string) {
		for _, task := range s.View().Regions[0].Clusters[0].Services[0].TaskSets[0].Tasks {
			status = append(status, task.Status)
		}
		return status
	}
	if got := strings.Join(tasks(), " "); strings.Contains(got, "RUNNING") {
		t.Errorf("at once: %s", got)
	}
	clock.move(5 * time.Minute)
	if got := strings.Join(tasks(), " "); got != "RUNNING RUNNING RUNNING RUNNING" {
		t.Errorf("after five minutes: %s", got)
	}
}

const twoServices = `
clusters: [prod, test]
targetGroups:
  - {name: a, port: 8080, attributes: {load_balancing.algorithm.type: least_outstanding_requests}}
  - {name: b}
loadBalancers:
  - name: edge
    listeners:
      - port: 80
        fixed: {status: 404, body: nobody}
        rules:
          - {priority: 1, path: [/a/*], host: [shop.test], forward: {a: 1}}
          - {priority: 2, header: {X-Canary: always}, method: [GET], forward: {a: 9, b: 1}, stickiness: 1h}
services:
  - {name: shop, cluster: prod, controller: ECS, count: 2, image: "shop:slow", port: 8080, targetGroup: a, grace: 30s}
  - {name: worker, cluster: test, controller: EXTERNAL, count: 1, image: sim/worker:v7, environment: {A: b}}
images:
  "shop:slow": {version: v3, latency: 50ms, crash-after: 1h, exit: 3}
knobs: {delays: none, provisioning: 1s..2s, throttle: false, taskSetLimit: 3, restartBackoff: 1s}
faults: ["latency ecs:* by=1s"]
`

func TestWorldFileInFull(t *testing.T) {
	s := newSim(t, awssim.Options{})
	load(t, s, twoServices)
	v := s.View()
	shop, worker := v.Regions[0].Clusters[0].Services[0], v.Regions[0].Clusters[1].Services[0]
	if shop.Controller != "ECS" || shop.TaskSets[0].Definition != "shop:1" || len(shop.TaskSets[0].Tasks) != 2 ||
		shop.TaskSets[0].Tasks[0].Versions[0] != "v3" {
		t.Errorf("%+v", shop)
	}
	if worker.Controller != "EXTERNAL" || worker.TaskSets[0].Status != "PRIMARY" ||
		worker.TaskSets[0].Tasks[0].Status != "RUNNING" {
		t.Errorf("%+v", worker)
	}
	rules := v.Regions[0].LoadBalancers[0].Listeners[0].Rules
	if len(rules) != 3 || rules[0].Priority != 1 || len(rules[1].Weights) != 2 || rules[1].Weights[0].Weight != 9 ||
		rules[2].Priority != 0 {
		t.Errorf("%+v", rules)
	}
	if len(v.Faults) != 1 || v.Faults[0].Line != "latency ecs:* by=1s" || v.Faults[0].Struck != 0 {
		t.Errorf("%+v", v.Faults)
	}
	if s.Account() != "000000000000" {
		t.Errorf("account %s", s.Account())
	}
}

func TestWorldFileErrorsNameFileAndLine(t *testing.T) {
	for file, want := range map[string]string{
		"clusters: [prod\n":                  "world.yaml:1: ",
		"account: 12\n":                      `world.yaml:1: account: "12" is not 12 digits`,
		"region: us-east-1\ncluster: prod\n": "world.yaml:2: unknown field \"cluster\"",
		"clusters: prod\n":                   "world.yaml:1: text is used where a list is expected",
		"region: Mars\n":                     `world.yaml:1: region: "Mars" is not a Region`,
		"targetGroups:\n  - name: a\n    healthCheck: {interval: 1ns}\n":                 "world.yaml:3: targetGroups[0].healthCheck.interval: 1ns is not a number of whole seconds",
		"targetGroups:\n  - {name: a, healthCheck: {interval: 5}}\n":                     `"5" is used where a duration such as 5s is expected`,
		"targetGroups:\n  - {name: a, healthCheck: {interval: 0s}}\n":                    "must be between 5 and 300 seconds",
		"targetGroups:\n  - {name: a, deregistrationDelay: 1500ms}\n":                    "1.5s is not a number of whole seconds",
		"clusters: [prod]\nservices:\n  - {name: web, image: sim/web:v1, grace: 1ms}\n":  "services[0].grace: 1ms is not a number of whole seconds",
		"clusters: [prod]\nservices:\n  - {name: web, image: sim/web:v1, count: four}\n": `world.yaml:3: "four" is used where a number is expected`,
		"settled: perhaps\n": `world.yaml:1: "perhaps" is used where true or false is expected`,
		"clusters: [prod]\nservices:\n  - {name: web, image: \"sim/web:v1?speed=3\"}\n":             `world.yaml:3: services[0].image: image "sim/web:v1?speed=3": option speed: not known`,
		"clusters: [prod]\nservices:\n  - name: web\n    image: sim/web:v1\n    cluster: tset\n":    `world.yaml:5: services[0].cluster: there is no cluster "tset"; there are prod`,
		"clusters: [prod]\nservices:\n  - name: web\n    image: sim/web:v1\n    controller: MINE\n": `world.yaml:5: services[0].controller: "MINE" is not simulated`,
		"clusters: [prod]\nservices:\n  - name: web\n    image: sim/web:v1\n    targetGroup: x\n":   `world.yaml:5: services[0].targetGroup: there is no target group "x"; there are none`,
		"targetGroups:\n  - name: a\n  - port: 80\n": "world.yaml:3: " +
			"targetGroups[1]: name is missing",
		"targetGroups: [{name: a}]\nloadBalancers:\n  - name: x\n    listeners:\n      - port: 80\n        forward: " +
			"{b: 1}\n": `world.yaml:6: loadBalancers[0].listeners[0].forward: there is no target group "b"; there are a`,
		"targetGroups: [{name: a}]\nloadBalancers:\n  - name: x\n    listeners:\n      - port: 80\n        forward: " +
			"{a: -1}\n": "weight of a",
		"loadBalancers:\n  - name: x\n    listeners:\n      - port: 80\n": "world.yaml:4: " +
			"loadBalancers[0].listeners[0]: needs one of forward",
		"namespaces:\n  - {name: a.b, services: [{name: c, records: {A: 1500ms}}]}\n": "world.yaml:2: " +
			"namespaces[0].services[0].records.A: 1.5s is not a number of whole seconds",
		"targetGroups: [{name: a}]\nloadBalancers: [{name: e, listeners: [{port: 80, forward: {a: 1}, stickiness: 1500ms}]}]": "" +
			"loadBalancers[0].listeners[0].stickiness: 1.5s is not a number of whole seconds",
		"targetGroups: [{name: a}]\nloadBalancers: [{name: e, listeners: [{port: 80, forward: {a: 1}, stickiness: -1s}]}]": "" +
			"stickiness duration '-1' must be between 1 and 604800 seconds",
		"clusters: [p]\nservices: [{name: w, image: \"sim/web:v1\"}]\nscalableTargets: [{service: w, max: 2, policy: " +
			"{name: x, target: 1, scaleInCooldown: 10ms}}]\n": "scaleInCooldown: 10ms is not a number of whole seconds",
		"namespaces:\n  - name: a b\n": "world.yaml:2: namespaces[0]: InvalidInput: 1 validation error detected: Value " +
			"'a b' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [!-~]+",
		"namespaces:\n  - name: a\n    services: [{name: b, records: {A: -1s}}]\n": "Value '-1' at " +
			"'dnsConfig.dnsRecords.1.member.tTL'",
		"faults:\n  - throttle ecs:*\n  - throtle ecs:*\n": `world.yaml:3: faults[1]: fault "throtle ecs:*": "throtle" is not a kind of fault`,
		"images:\n  x: {latncy: 5s}\n": "world.yaml:2: images: x: option latncy: " +
			"not known",
		"knobs:\n  pending: 5\n":  `world.yaml:2: knobs.pending: "5" is not a delay`,
		"knobs: {delays: some}\n": `knobs.delays: "some" is neither aws nor none`,
		"targetGroups:\n  - name: a\n    arn: arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/b/1\n": "world.yaml:2: targetGroups[0]: the account of arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/b/1 is not 000000000000",
		"targetGroups:\n  - name: a\n    healthCheck: {interval: 1s}\n":                                              "world.yaml:2: targetGroups[0]: ",
	} {
		s := newSim(t, awssim.Options{})
		load(t, s, "clusters: [before]")
		err := s.Load("world.yaml", []byte(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n  got  %v\n  want %s", file, err, want)
		}
		if v := s.View(); v.Regions[0].Clusters[0].Name != "before" {
			t.Errorf("%q: the world did not stay as it was", file)
		}
	}
}

func TestResetIsTheStartAgain(t *testing.T) {
	log := func(s *awssim.Sim) string {
		var b strings.Builder
		if err := s.World().WriteLog(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	s := newSim(t, awssim.Options{Seed: 3})
	load(t, s, string(canaryFile(t)))
	first := log(s)
	_ = s.Inject("throttle ecs:*")
	once := s.Config()
	once.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	if _, err := awsecs.NewFromConfig(once).CreateCluster(ctx,
		&awsecs.CreateClusterInput{ClusterName: aws.String("x")}); err == nil {
		t.Error("the fault did not strike")
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if again := log(s); again != first || len(s.Faults()) != 0 || first == "" {
		t.Errorf("after reset the world's log differs, or %d faults are left", len(s.Faults()))
	}
	empty := newSim(t, awssim.Options{})
	if err := empty.Reset(); err != nil || len(empty.View().Regions) != 0 {
		t.Errorf("%v %+v", err, empty.View())
	}
}

// A file may have IDs of another world with the same seed. New resources get others.
func TestIDsOfTheFileAreNotGivenAgain(t *testing.T) {
	s := newSim(t, awssim.Options{})
	load(t, s, "loadBalancers: [{name: edge, listeners: [{port: 80, fixed: {status: 200}}]}]")
	was := s.View().Regions[0].LoadBalancers[0].Listeners[0].ARN
	load(t, s, "loadBalancers: [{name: edge, listeners: [{port: 80, arn: \""+was+"\", fixed: {status: 200}}, "+
		"{port: 81, fixed: {status: 200}}]}]")
	all := s.View().Regions[0].LoadBalancers[0].Listeners
	if len(all) != 2 || all[0].ARN != was || all[1].ARN == was {
		t.Errorf("%+v", all)
	}
	elb := awselb.NewFromConfig(s.Config())
	out, err := elb.DescribeListeners(t.Context(), &awselb.DescribeListenersInput{
		LoadBalancerArn: &s.View().Regions[0].LoadBalancers[0].ARN})
	if err != nil || len(out.Listeners) != 2 {
		t.Errorf("%d listeners, %v", len(out.Listeners), err)
	}
}
