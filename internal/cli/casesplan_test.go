package cli

import "testing"

// Cases of testdata/cases that are healthy after these edits: a service that ECS rolls, and one with a canary service.
const (
	rolledCase = "unknown-platform-version"
	canaryCase = "group-of-type-instance"
)

var healthyEdits = map[string]caseEdit{
	rolledCase: {"servicedef.json", `"platformVersion": "1.9.9"`, `"platformVersion": "1.4.0"`},
	canaryCase: {"world.yaml", `"type": "instance"`, `"type": "ip"`},
}

// planCase is what a plan says about a healthy case after more edits.
type planCase struct {
	from  string
	edits []caseEdit
	code  int
	texts []string
}

const (
	quietAboutAll = "!Warnings"
	otherGroup    = `"arn": "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/0123456789abcdef",
   "port": 80`
	webGroup  = `"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"`
	providers = `"capacityProviderStrategy": [{"capacityProvider": "`
)

func sizeCase(cpu, memory string, code int, texts ...string) planCase {
	return planCase{rolledCase, []caseEdit{{"taskdef.json", `"cpu": "256"`, `"cpu": "` + cpu + `"`},
		{"taskdef.json", `"memory": "512"`, `"memory": "` + memory + `"`}}, code, texts}
}

func imageCase(image string) planCase {
	return planCase{rolledCase, []caseEdit{{"taskdef.json", "sim/web:v2", image}}, 1, []string{"taskdef.json:", "next: "}}
}

func earlyCase(percent string, code int, texts ...string) planCase {
	return planCase{rolledCase, []caseEdit{{"servicedef.json", `"minimumHealthyPercent": 100`, `"minimumHealthyPercent": 100,
		"earlySuccessCriteria": {"enable": true, "healthyPercent": ` + percent + `}`}}, code, texts}
}

var planCases = map[string]planCase{
	"a healthy service":   {rolledCase, nil, 0, []string{quietAboutAll}},
	"a healthy canary":    {canaryCase, nil, 0, []string{quietAboutAll}},
	"a size of Fargate":   sizeCase("1024", "2048", 0, quietAboutAll),
	"a size in words":     sizeCase(".25 vCPU", "0.5 GB", 0, quietAboutAll),
	"too much memory":     sizeCase("256", "8192", 1, "memory", "next: "),
	"a cpu of no size":    sizeCase("512000", "512", 0, "Fargate has no size with 512000 CPU units that sluice knows"),
	"an unknown cpu":      sizeCase("300", "512", 1, "cpu", "next: "),
	"image <IMAGE1_NAME>": imageCase("<IMAGE1_NAME>"),
	"image ${IMAGE}":      imageCase("${IMAGE}"),
	"image {{ image }}":   imageCase("{{ image }}"),
	"text in angle brackets": {rolledCase, []caseEdit{{"taskdef.json", `"essential": true`,
		`"essential": true, "command": ["sh", "-c", "echo <html> > index.html"]`}}, 0, []string{quietAboutAll}},
	"all tasks of a primary stop": {canaryCase, []caseEdit{{"servicedef.json", `"minimumHealthyPercent": 100`,
		`"minimumHealthyPercent": 0`}}, 0, []string{"ECS may stop all 4 tasks at once, while they get 80% of the requests",
		"set minimumHealthyPercent to 100"}},
	"half of the tasks stay": {rolledCase, []caseEdit{{"servicedef.json", `"minimumHealthyPercent": 100`,
		`"minimumHealthyPercent": 50`}}, 0, []string{quietAboutAll}},
	"a maximum of 100 with rebalancing": {rolledCase, []caseEdit{{"servicedef.json", `"maximumPercent": 200`,
		`"maximumPercent": 100`}, {"servicedef.json", `"minimumHealthyPercent": 100`, `"minimumHealthyPercent": 50`}}, 1, []string{"servicedef.json:", "plan: maximumPercent is 100", "availabilityZoneRebalancing ENABLED", "next: "}},
	"a maximum of 100 without rebalancing": {rolledCase, []caseEdit{{"servicedef.json", `"maximumPercent": 200`,
		`"maximumPercent": 100`}, {"servicedef.json", `"minimumHealthyPercent": 100`, `"minimumHealthyPercent": 50`}, {"servicedef.json", `"deploymentConfiguration"`,
		`"availabilityZoneRebalancing": "DISABLED", "deploymentConfiguration"`}}, 0, []string{"!AWS refuses"}},
	"an early success below the minimum": earlyCase("50", 1, "servicedef.json:", "healthyPercent is 50", "minimumHealthyPercent is 100", "next: "),
	"an early success":                   earlyCase("100", 0, "!AWS refuses"),
	"a canary group with another port": {canaryCase, []caseEdit{{"world.yaml", otherGroup, otherGroup + "80"}}, 0,
		[]string{"the canary target group web-canary differs from the primary: port 8080, not 80",
			"give both groups the same settings"}},
	"an unknown provider": {rolledCase, []caseEdit{{"servicedef.json", `"launchType": "FARGATE"`, providers + `spot", "weight": 1}]`}},
		1, []string{"capacity provider spot", "cluster prod does not have it", "next: "}},
	"a known provider": {rolledCase, []caseEdit{{"servicedef.json", `"launchType": "FARGATE"`,
		providers + `FARGATE_SPOT", "weight": 1}]`}, {"world.yaml", `"targetGroups": [`,
		`"capacity": [{"cluster": "prod", "capacityProviders": ["FARGATE", "FARGATE_SPOT"]}], "targetGroups": [`}}, 0,
		[]string{quietAboutAll}},
	"a known subnet": {rolledCase, []caseEdit{{"servicedef.json", `,
    "subnet-0123456789abcdef2"`, ""}}, 0, []string{"subnet-0123456789abcdef2", quietAboutAll}},
	"the latest platform": {rolledCase, []caseEdit{{"servicedef.json", `"1.4.0"`, `"LATEST"`}}, 0, []string{quietAboutAll}},
	"a host port of the task's own address": {rolledCase, []caseEdit{{"taskdef.json", `"containerPort": 80`,
		`"containerPort": 80, "hostPort": 80`}}, 0, []string{quietAboutAll}},
	"sticky targets and a sticky rule": {canaryCase, []caseEdit{{"world.yaml", `"deregistrationDelay": "10s"`,
		`"deregistrationDelay": "10s", "attributes": {"stickiness.enabled": "true"}`},
		{"world.yaml", `"forward": {`, `"stickiness": "1h", "forward": {`}}, 0,
		[]string{"the default rule of port 80 has stickiness", "!AWS refuses"}},
	"a group without drain": {rolledCase, []caseEdit{{"world.yaml", `"deregistrationDelay": "10s"`, `"deregistrationDelay": "0s"`}},
		0, []string{"target group web has a deregistration delay of 0", "Raise it: aws elbv2 modify-target-group-attributes"}},
	"a canary group without drain": {canaryCase, []caseEdit{{"world.yaml", `web-canary/0123456789abcdef",
   "port": 80,
   "deregistrationDelay": "10s"`, `web-canary/0123456789abcdef", "port": 80, "deregistrationDelay": "0s"`}}, 0,
		[]string{"target group web-canary has a deregistration delay of 0", "!target group web has"}},
	"a rule with both groups": {canaryCase, []caseEdit{{"world.yaml", `"web": 100`, `"web": 100, "web-canary": 0`},
		{"world.yaml", `"forward": {`, `"rules": [{"priority": 10, "path": ["/api"], "forward": {"web": 1, "web-canary": 0}}],
		"forward": {`}}, 0, []string{quietAboutAll}},
	"a group of another type": {rolledCase, []caseEdit{{"servicedef.json", webGroup,
		`"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/other/0123456789abcdef"`},
		{"world.yaml", `"targetGroups": [`, `"targetGroups": [{"name": "other", "port": 80, "type": "instance", "healthCheck": {"path": "/"},
		"arn": "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/other/0123456789abcdef"},`},
		{"world.yaml", `"forward": {`, `"rules": [{"priority": 10, "path": ["/api"], "forward": {"other": 1}}], "forward": {`}}, 1,
		[]string{"target group other", "type instance", "next: create a target group with --target-type ip"}},
}

// A plan says, before any write and with the remedy, what AWS or callers would say later. A healthy application gets no
// warning.
func TestPlanOfEachCase(t *testing.T) {
	noMachine(t)
	for name, c := range planCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edits := append([]caseEdit{healthyEdits[c.from]}, c.edits...)
			playCase(t, c.from, edits, func(b *caseBench) { b.expect("plan", c.code, c.texts...) })
		})
	}
}
