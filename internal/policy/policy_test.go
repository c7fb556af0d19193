package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// bare is a plan with one stage of writes, and definitions of JSON.
func bare(t *testing.T, region, task, service string, writes ...sluice.Write) Document {
	t.Helper()
	d, err := ForPlan(&plan.Plan{Account: "123456789012", Region: region, Cluster: "prod", Service: "web",
		Controller: "ECS", Access: sluice.ServiceDiscovery, To: "web",
		Task: json.RawMessage(task), Definition: json.RawMessage(service), Stages: []plan.Stage{{Writes: writes}},
		Registry: &plan.Registry{ARN: "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-1", Route53: true,
			Records: []plan.Record{{Type: "A"}}},
		CodeDeploy: &plan.CodeDeploy{Application: "web", Group: "web", ConfigUsed: "Half"}}, plan.AWSState{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	aTask    = `{"family": "web", "containerDefinitions": [{"name": "web", "image": "web"}]}`
	aService = `{"serviceName": "web"}`
)

var named = regexp.MustCompile(`"([a-z-]+:[A-Z][A-Za-z]+)"`)

// Every operation that package plan names has a rule, and no other has one.
func TestEveryWriteOfPlansHasARule(t *testing.T) {
	files, err := filepath.Glob("../plan/*.go")
	if err != nil {
		t.Fatal(err)
	}
	making, err := filepath.Glob("../plan/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, making...)
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if used[m[1]] = true; writeRules[m[1]].sid == "" && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: %s has no rule in writes.go", file, m[1])
			}
		}
	}
	for op := range writeRules {
		if !used[op] {
			t.Errorf("no plan lists %s", op)
		}
	}
	_, err = ForPlan(&plan.Plan{Region: "us-east-1", Cluster: "prod", Service: "web", Access: sluice.NoAccess,
		Task:       json.RawMessage(aTask),
		Definition: json.RawMessage(aService),
		Stages:     []plan.Stage{{Writes: []sluice.Write{{Operation: "ecs:DeleteCluster", Resource: "prod"}}}}},
		plan.AWSState{})
	if err == nil || !strings.Contains(err.Error(), "ecs:DeleteCluster") {
		t.Errorf("a write without a rule: %v", err)
	}
}

// What is allowed behind a write is what [IndirectActions] says, and nothing else.
func TestBehindIsOneTable(t *testing.T) {
	reads := actionsOf(bare(t, "us-east-1", aTask, aService))
	for op := range writeRules {
		behind := IndirectActions(op)
		for _, action := range actionsOf(bare(t, "us-east-1", aTask, aService,
			sluice.Write{Operation: op, Resource: "prod/web"})) {
			if action != op && !slices.Contains(reads, action) && !slices.Contains(behind, action) {
				t.Errorf("%s: %s is allowed, and Behind does not say so", op, action)
			}
		}
		got := actionsOf(bare(t, "us-east-1", aTask, aService, sluice.Write{Operation: op, Resource: "prod/web"}))
		for _, action := range behind {
			if !slices.Contains(got, action) {
				t.Errorf("%s: %s is not allowed, and Behind says that AWS asks for it", op, action)
			}
		}
	}
}

func actionsOf(d Document) (all []string) {
	for _, s := range d.Statement {
		all = append(all, s.Action...)
	}
	return all
}

// Roles that ECS takes on itself are passed to it, wherever a request names them.
func TestRolesOfRequestsArePassedToECS(t *testing.T) {
	service := `{"serviceName": "web", "role": "ecsServiceRole", "volumeConfigurations": [{"name": "data", "managedEBSVolume": {"roleArn": "arn:aws-cn:iam::123456789012:role/volumes"}}]}`
	d := bare(t, "cn-north-1", aTask, service, sluice.Write{Operation: "ecs:CreateService", Resource: "prod/web"})
	i := slices.IndexFunc(d.Statement, func(s Statement) bool { return s.Sid == passToECS })
	if i < 0 {
		t.Fatalf("%+v", d)
	}
	s := d.Statement[i]
	if got := strings.Join(s.Resource,
		" "); got != "arn:aws-cn:iam::123456789012:role/ecsServiceRole arn:aws-cn:iam::123456789012:role/volumes" {
		t.Error(got)
	}
	if s.Condition["StringEquals"]["iam:PassedToService"] != "ecs.amazonaws.com" {
		t.Error(s.Condition)
	}
	d = bare(t, "us-east-1", aTask, service, sluice.Write{Operation: "ecs:UpdateService", Resource: "prod/web"})
	if d.Allows("iam:PassRole", "arn:aws:iam::123456789012:role/ecsServiceRole") ||
		!d.Allows("iam:PassRole", "arn:aws-cn:iam::123456789012:role/volumes") {
		t.Errorf("%+v", d)
	}
}

// The same plan gives the same bytes, however often; every statement has its place.
func TestPolicyIsDeterministic(t *testing.T) {
	var all []sluice.Write
	for op := range writeRules {
		all = append(all, sluice.Write{Operation: op, Resource: "prod/web"})
	}
	slices.SortFunc(all, func(a, b sluice.Write) int { return strings.Compare(a.Operation, b.Operation) })
	first, err := bare(t, "us-east-1", aTask, aService, all...).Text()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := bare(t, "us-east-1", aTask, aService, all...).Text(); again != first {
			t.Fatal("another text")
		}
	}
	for _, s := range bare(t, "us-east-1", aTask, aService, all...).Statement {
		if !slices.Contains(sidOrder, s.Sid) {
			t.Errorf("%s has no place in the order", s.Sid)
		}
	}
}

// A Cloud Map name beside a load balancer may be read: outcomes are about its callers too.
func TestPolicyReadsTheNameBesideALoadBalancer(t *testing.T) {
	service := `{"serviceName": "web", "serviceRegistries": [{"registryArn":
		"arn:aws:servicediscovery:us-east-1:123456789012:service/srv-1"}]}`
	for want, definition := range map[bool]string{true: service, false: aService} {
		d, err := ForPlan(&plan.Plan{Region: "us-east-1", Cluster: "prod", Service: "web", Controller: "ECS",
			Access: sluice.ELB, Task: json.RawMessage(aTask), Definition: json.RawMessage(definition)}, plan.AWSState{})
		if got := slices.Contains(actionsOf(d), "servicediscovery:DiscoverInstances"); err != nil || got != want {
			t.Errorf("%s: %t, %v", definition, got, err)
		}
	}
}
