package account

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
)

// Every name in the tables is an operation of its client, so that no typo makes
// a row that is never used.
func TestTablesNameRealOperations(t *testing.T) {
	clients := map[string]reflect.Type{
		"ecs": reflect.TypeFor[*awsecs.Client](), "elasticloadbalancing": reflect.TypeOf((*clients).ELB).Out(0),
		"servicediscovery":        reflect.TypeOf((*clients).CloudMap).Out(0),
		"application-autoscaling": reflect.TypeOf((*clients).Scaling).Out(0),
		"cloudwatch":              reflect.TypeOf((*clients).CloudWatch).Out(0),
		"logs":                    reflect.TypeOf((*clients).Logs).Out(0),
		"codedeploy":              reflect.TypeOf((*clients).CodeDeploy).Out(0),
		"iam":                     reflect.TypeFor[*awsiam.Client](),
		"sts":                     reflect.TypeOf((*clients).STS).Out(0),
	}
	real := func(operation string) {
		service, name, _ := strings.Cut(operation, ":")
		if _, signed := signedServices[service]; signed && clients[service] == nil {
			return // no client has it
		}
		if _, ok := clients[service].MethodByName(name); !ok && name != "AssumeRoleWithSAML" {
			t.Errorf("%s is no operation", operation)
		}
	}
	for operation := range writeTable {
		real(operation)
		if !IsWrite(operation) {
			t.Errorf("%s has a row but is a read", operation)
		}
	}
	for operation := range requiredFields {
		real(operation)
	}
	for name := range ecsBuckets {
		real("ecs:" + name)
	}
	for _, operation := range identityOperations {
		real(operation)
	}
}

func TestResourceOf(t *testing.T) {
	set := "arn:aws:ecs:us-east-1:123456789012:task-set/prod/web/ecs-svc/42"
	for _, c := range []struct {
		operation string
		input     any
		want      string
		ok        bool
	}{
		{"ecs:CreateTaskSet", &awsecs.CreateTaskSetInput{Service: aws.String("web")}, "default/web", true},
		{"ecs:CreateTaskSet", &awsecs.CreateTaskSetInput{Cluster: aws.String(""),
			Service: aws.String("arn:aws:ecs:us-east-1:123456789012:service/web")}, "default/web", true},
		{"ecs:CreateTaskSet", &awsecs.CreateTaskSetInput{Cluster: aws.String("prod")}, "", false},
		{"ecs:CreateTaskSet", &awsecs.UpdateTaskSetInput{TaskSet: aws.String("ecs-svc/1")}, "", false},
		{"ecs:CreateTaskSet", (*awsecs.CreateTaskSetInput)(nil), "", false},
		{"ecs:CreateTaskSet", nil, "", false},
		{"ecs:CreateTaskSet", awsecs.CreateTaskSetInput{Service: aws.String("web")}, "", false},
		{"ecs:UpdateTaskSet", &awsecs.UpdateTaskSetInput{TaskSet: aws.String(set)}, "ecs-svc/42", true},
		{"ecs:UpdateTaskSet", &awsecs.UpdateTaskSetInput{TaskSet: aws.String("ecs-svc/42")}, "ecs-svc/42", true},
		{"ecs:DeregisterTaskDefinition", &awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:3")},
			"web:3", true},
		{"ecs:CreateCluster", &awsecs.CreateClusterInput{ClusterName: aws.String("prod")}, "", false},
		{"CreateTaskSet", &awsecs.CreateTaskSetInput{Service: aws.String("web")}, "", false},
	} {
		got, ok := ResourceOf(c.operation, c.input)
		if got != c.want || ok != c.ok {
			t.Errorf("%s %+v: %q, %t", c.operation, c.input, got, ok)
		}
	}
}

// Our share of the account's bucket keeps the sum below AWS's ten a second.
func TestShareIsSafe(t *testing.T) {
	if elbAccount.rate*rateShare >= 10 || rateShare > 0.75 {
		t.Errorf("share %v leaves nothing to others", rateShare)
	}
}

// called matches the calls of operations in sources.
var called = regexp.MustCompile(`\.((?:Describe|List|Get|Discover|BatchGet|Filter|Assume)[A-Z][A-Za-z]+|TagResource|UntagResource)\(ctx, (?:&|in|input|q)`)

// Every operation that is written or read has a row: what AWS always sends in its
// answer.
func TestEveryOperationHasAnAnswerRow(t *testing.T) {
	names := map[string]bool{}
	for operation := range requiredFields {
		_, name, _ := strings.Cut(operation, ":")
		names[name] = true
	}
	for operation := range writeTable {
		if requiredFields[operation] == nil {
			t.Errorf("%s is written and has no row", operation)
		}
	}
	seen := 0
	for _, dir := range []string{"account", "ecs", "codedeploy", "autoscaling", "route/alb", "route/cloudmap", "stage",
		"watch", "cli", "rehearse"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range called.FindAllStringSubmatch(string(text), -1) {
				seen++
				if !names[m[1]] {
					t.Errorf("%s calls %s, which has no row", f, m[1])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d calls were found", seen)
	}
}
