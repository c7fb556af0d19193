package piped_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/account"
	iampolicy "github.com/sluice-ecs/sluice/internal/policy"
)

var update = flag.Bool("update", false, "write the generated policy into docs/reference/pipecd.md, and testdata/advice.golden")

var page = filepath.Join("..", "..", "docs", "reference", "pipecd.md")

const fence = "```json\n"

// policy cuts the policy out of docs/reference/pipecd.md.
func policy(t *testing.T) (before, text, after string) {
	t.Helper()
	whole := strings.ReplaceAll(string(got(os.ReadFile(page))(t)), "\r\n", "\n")
	before, rest, ok := strings.Cut(whole, fence)
	text, after, ends := strings.Cut(rest, "```")
	if !ok || !ends {
		t.Fatal("docs/reference/pipecd.md holds no policy")
	}
	return before + fence, text, "```" + after
}

// allowed is what the policy gives the plugin leave to do.
func allowed(t *testing.T) (all []string) {
	t.Helper()
	_, text, _ := policy(t)
	var p struct{ Statement []struct{ Action []string } }
	must(t, json.Unmarshal([]byte(text), &p))
	for _, s := range p.Statement {
		all = append(all, s.Action...)
	}
	return all
}

// prefixes are IAM's names of services, by the names under which their clients are
// imported.
var prefixes = map[string]string{"awsecs": "ecs", "awselb": "elasticloadbalancing", "awssd": "servicediscovery",
	"awscd":  "codedeploy",
	"awsaas": "application-autoscaling", "awslogs": "logs", "awscw": "cloudwatch", "awssts": "sts", "awsiam": "iam"}

var (
	asked   = regexp.MustCompile(`\b(aws[a-z]+)\.([A-Za-z]+)Input\{`)
	planned = regexp.MustCompile(`"([a-z-]+:[A-Z][A-Za-z]+)"`)
)

// signedReads are what the checks before a deployment read without an SDK client.
var signedReads = []string{"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ecr:BatchGetImage", "ecr:DescribeImages",
	"ecr:DescribePullThroughCacheRules", "ecr:DescribeRepositories"}

// sources are the files of our packages that the plugin is made of, apart from the
// gate's: that has a name for every write.
func sources(t *testing.T) (all, gate string) {
	t.Helper()
	list := got(exec.Command("go", "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`,
		"github.com/sluice-ecs/sluice/cmd/piped-plugin-sluice").Output())(t)
	for _, file := range strings.Fields(string(list)) {
		text := string(got(os.ReadFile(file))(t))
		if strings.HasSuffix(filepath.ToSlash(filepath.Dir(file)), "/internal/account") {
			gate += text
			continue
		}
		all += text
	}
	return all, gate
}

// needed is every operation that the plugin can call: the reads that its code asks
// for, and the writes that its plans can hold, which are all that the gate lets out.
func needed(t *testing.T) (reads, writes []string) {
	t.Helper()
	text, gates := sources(t)
	for _, m := range asked.FindAllStringSubmatch(text+gates, -1) {
		if op := prefixes[m[1]] + ":" + m[2]; !account.IsWrite(op) && op != "sts:AssumeRole" {
			reads = append(reads, op)
		}
	}
	reads = append(reads, signedReads...)
	gate := account.Writes()
	for _, m := range planned.FindAllStringSubmatch(text, -1) {
		if slices.Contains(gate, m[1]) {
			writes = append(writes, m[1])
		}
	}
	for _, all := range []*[]string{&reads, &writes} {
		slices.Sort(*all)
		*all = slices.Compact(*all)
	}
	return reads, writes
}

// statement is one of a policy, in the order in which people read them.
type statement struct {
	Sid, Effect string
	Action      []string
	Resource    string
	Condition   map[string]map[string]string `json:",omitempty"`
}

// The policy of the documentation is the least that the plugin needs: it is made of
// its own code.
func TestPolicyIsGenerated(t *testing.T) {
	reads, writes := needed(t)
	if len(reads) < 15 || len(writes) < 10 {
		t.Fatalf("reads %q, writes %q", reads, writes)
	}
	var behind []string
	for _, w := range writes {
		for _, action := range iampolicy.IndirectActions(w) {
			if !slices.Contains(writes, action) && !slices.Contains(behind, action) {
				behind = append(behind, action)
			}
		}
	}
	slices.Sort(behind)
	text := got(json.MarshalIndent(struct {
		Version   string
		Statement []statement
	}{"2012-10-17", []statement{
		{Sid: "Read", Effect: "Allow", Action: reads, Resource: "*"},
		{Sid: "Write", Effect: "Allow", Action: writes, Resource: "*"},
		{Sid: "BehindWrites", Effect: "Allow", Action: behind, Resource: "*"},
		{Sid: "RolesOfTasks", Effect: "Allow", Action: []string{"iam:PassRole"},
			Resource:  "arn:aws:iam::123456789012:role/ecsTaskExecutionRole",
			Condition: map[string]map[string]string{"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}},
	}}, "", "  "))(t)
	before, now, after := policy(t)
	if *update {
		must(t, os.WriteFile(page, []byte(before+string(text)+"\n"+after), 0o644))
		return
	}
	if now != string(text)+"\n" {
		t.Errorf("docs/reference/pipecd.md is out of date: go test ./internal/piped -run TestPolicyIsGenerated -update\n%s", text)
	}
}

// The policy of the documentation allows every call that the plugin makes.
func TestPolicyOfTheDocumentationIsEnough(t *testing.T) {
	t.Parallel()
	allowed := allowed(t)
	for name, drive := range map[string]func(r *rig){
		"task sets": func(r *rig) {
			d := r.begin(source{image: "sim/web:v1", service: serviceFile + "tags: [{key: old, value: a}]\n"}, source{},
				stagesOf()...)
			r.tag("old", "a")
			for _, s := range d.forward()[:3] {
				d.run(s)
			}
			d.run(d.back())
			d = r.begin(source{image: "sim/web:v1"}, source{})
			d.all()
			r.look(d.target)
		},
		"rolling": func(r *rig) {
			app := appFile("")
			d := r.begin(source{image: "sim/web:v1", app: app, service: rollingFile},
				source{app: app, service: rollingFile})
			d.all()
			d.run(d.back())
		},
		"standalone": func(r *rig) {
			app := strings.Replace(appFile(""), "        serviceDefinitionFile: servicedef.yaml\n",
				"        runStandaloneTask: true\n        clusterArn: prod\n"+
					"        awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}\n", 1)
			d := r.begin(source{image: "sim/web:v1"},
				source{app: app, task: strings.Replace(taskFile, "family: web", "family: job", 1),
					image: "sim/web:v1-crash-after-1s-exit-0"})
			d.all()
		},
		"first": func(r *rig) {
			d := r.begin(source{}, source{service: serviceFile + "desiredCount: 1\n"})
			d.all()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"task sets": external, "rolling": rolling}[name]+quick)
			calls := r.counted()
			drive(r)
			for call := range calls() {
				if call != "" && !slices.Contains(allowed, call) {
					t.Errorf("the policy does not allow %s", call)
				}
			}
		})
	}
}
