package iam_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/iam"
	"github.com/sluice-ecs/sluice/internal/policy"
)

const role = "arn:aws:iam::123456789012:role/teams/deployer"

// check asks about a statement as a session of a role with that policy.
func check(t *testing.T, own string, s policy.Statement) (c iam.CheckResult) {
	t.Helper()
	virtual := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	virtual.Run(func() {
		ctx := context.Background()
		sim, err := awssim.New(awssim.Options{Clock: virtual, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		world := fmt.Sprintf("account: \"123456789012\"\nprincipals: [{arn: %q, policies: ['%s']}]\n", role, own)
		if err := sim.Load("world.yaml", []byte(world)); err != nil {
			t.Fatal(err)
		}
		a, err := account.Open(ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
			EndpointURL: awssim.Endpoint,
			HTTPClient:  sim.HTTPClient(), APIOptions: sim.APIOptions(), Clock: virtual, AssumeRole: role})
		if err != nil {
			t.Fatal(err)
		}
		c, err = iam.Checker{IAM: account.IAM(a), STS: a.STS()}.Check(ctx, policy.Document{Version: policy.Version,
			Statement: []policy.Statement{s}})
		if err != nil {
			t.Fatal(err)
		}
	})
	return c
}

// A result of the second page counts too.
func TestEveryPageIsRead(t *testing.T) {
	s := policy.Statement{Sid: "Many", Effect: "Allow", Resource: []string{"*"}}
	for i := range 130 {
		s.Action = append(s.Action, fmt.Sprintf("ecs:Action%d", i))
	}
	c := check(t, `{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "ecs:Action120", "Resource": "*"}]}`, s)
	if c.Principal != role || c.Pairs != 130 || len(c.Denied) != 1 || c.Denied[0].Action != "ecs:Action120" ||
		!c.Denied[0].Elsewhere {
		t.Errorf("%+v", c)
	}
}

// What is denied on one resource of several is denied on that alone; a pattern is asked
// for by an example, which a narrower policy does not fit.
func TestEachResourceHasItsOwnDecision(t *testing.T) {
	const ours, others = "arn:aws:ecs:us-east-1:123456789012:service/prod/web",
		"arn:aws:ecs:us-east-1:123456789012:service-deployment/prod/web/*"
	s := policy.Statement{Sid: "Stop", Effect: "Allow", Action: []string{"ecs:StopServiceDeployment",
		"sts:GetCallerIdentity"}, Resource: []string{ours, others}}
	own := func(resource string) string {
		return `{"Statement": {"Effect": "Allow", "Action": ["ecs:*", "iam:*"], "Resource": ["arn:aws:iam::*", "` +
			ours + `", "` + resource + `"]}}`
	}
	if c := check(t, own(others), s); len(c.Denied) != 0 || c.Pairs != 2 {
		t.Errorf("%+v", c)
	}
	c := check(t, own(strings.Replace(others, "/*", "/a*", 1)), s)
	if len(c.Denied) != 1 || c.Denied[0].Resource != others || c.Denied[0].Decision != "implicitDeny" ||
		c.Missing.Statement[0].Resource[0] != others {
		t.Errorf("%+v", c)
	}
}

// The values of a statement's conditions, and the cluster, go with the question.
func TestTheContextGoesWithTheQuestion(t *testing.T) {
	own := `{"Statement": [{"Effect": "Allow", "Action": "iam:*", "Resource": "*", "Condition": {"StringEqualsIfExists": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}},` +
		` {"Effect": "Allow", "Action": "ecs:*", "Resource": "*", "Condition": {"ArnEquals": {"ecs:cluster": "arn:aws:ecs:us-east-1:123456789012:cluster/prod"}}}]}`
	pass := policy.Statement{Effect: "Allow", Action: []string{"iam:PassRole"}, Resource: []string{role}}
	for service, denied := range map[string]int{"ecs-tasks.amazonaws.com": 0, "ecs.amazonaws.com": 1} {
		pass.Condition = map[string]map[string]string{"StringEquals": {"iam:PassedToService": service}}
		if c := check(t, own, pass); len(c.Denied) != denied || denied > 0 &&
			len(c.Missing.Statement[0].Condition) == 0 {
			t.Errorf("%s: %+v", service, c)
		}
	}
	for cluster, denied := range map[string]int{"prod": 0, "test": 1} {
		update := policy.Statement{Effect: "Allow", Action: []string{"ecs:UpdateService"},
			Resource: []string{"arn:aws:ecs:us-east-1:123456789012:service/" + cluster + "/web"}}
		if c := check(t, own, update); len(c.Denied) != denied {
			t.Errorf("%s: %+v", cluster, c)
		}
	}
}
