package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/account"
)

var (
	inputs = regexp.MustCompile(`\b(aws[a-z]+)\.([A-Za-z]+)Input\{`)
	// imported are IAM's names of services, by the names under which their clients are
	// imported.
	imported = map[string]string{"awsecs": "ecs", "awselb": "elasticloadbalancing", "awssd": "servicediscovery",
		"awscd":  "codedeploy",
		"awsaas": "application-autoscaling", "awslogs": "logs", "awscw": "cloudwatch", "awssts": "sts", "awsiam": "iam"}
	// others are reads of other verbs than those that plan and deploy.
	others = map[string]string{
		"cloudwatch:GetMetricStatistics": "sluice rehearse --from-live reads how many requests there are",
		"ecs:ListServices":               "sluice revisions and deregister read what uses a revision",
		"iam:SimulatePrincipalPolicy":    "sluice plan --iam --check asks what the caller may do",
		"codedeploy:GetDeploymentConfig": "who creates a deployment needs it too: see ../policy/behind.go",
		// An error can do without the names.
		"codedeploy:ListDeploymentConfigs": "near names of a configuration that does not exist",
	}
)

// Every read that the hands and stages ask for is one that policies know, so that a
// new one cannot be forgotten.
func TestPoliciesKnowEveryRead(t *testing.T) {
	var known []byte
	for _, file := range []string{"../policy/reads.go", "../policy/gates.go", "../policy/checks.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, text...)
	}
	list, err := exec.Command("go", "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`,
		"github.com/sluice-ecs/sluice/cmd/sluice").Output()
	if err != nil {
		t.Fatal(err)
	}
	var reads []string
	for _, file := range strings.Fields(string(list)) {
		if strings.Contains(filepath.ToSlash(file), "/awssim/") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inputs.FindAllStringSubmatch(string(text), -1) {
			if op := imported[m[1]] + ":" + m[2]; !account.IsWrite(op) && op != "sts:AssumeRole" &&
				!slices.Contains(reads, op) {
				reads = append(reads, op)
			}
		}
	}
	if len(reads) < 25 {
		t.Fatalf("found %d reads only: %q", len(reads), reads)
	}
	for _, op := range reads {
		if !strings.Contains(string(known), `"`+op+`"`) && others[op] == "" {
			t.Errorf("no policy allows %s: say in internal/policy/reads.go when it is made", op)
		}
	}
}
