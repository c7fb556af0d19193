package iam_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/iam"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

const (
	user = "arn:aws:iam::123456789012:user/sluice"
	role = "arn:aws:iam::123456789012:role/teams/deployer"
	prod = "arn:aws:ecs:us-east-1:123456789012:service/prod/web"
	test = "arn:aws:ecs:us-east-1:123456789012:service/test/web"
)

// client calls as the user, in a world in which the role has policies, and the user
// those of usersOwn if there are any.
func client(t *testing.T, boundary string, policies []string, usersOwn ...string) *awsiam.Client {
	t.Helper()
	parse := func(text string) iam.Policy {
		p, err := iam.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	deployer := iam.Principal{ARN: role}
	for _, p := range policies {
		deployer.Policies = append(deployer.Policies, parse(p))
	}
	if boundary != "" {
		b := parse(boundary)
		deployer.Boundary = &b
	}
	all := []iam.Principal{deployer}
	if len(usersOwn) > 0 {
		all = append(all, iam.Principal{ARN: user, Policies: []iam.Policy{parse(usersOwn[0])}})
	}
	server := wire.New(world.New(world.Options{Clock: stopped{}, Strict: true}), iam.NewAPI(all))
	return awsiam.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: server},
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"}, nil
		})})
}

// asks is "<action> <resource>: <decision>" of each pair.
func asks(t *testing.T, c *awsiam.Client, in awsiam.SimulatePrincipalPolicyInput) (all []string) {
	t.Helper()
	if in.PolicySourceArn == nil {
		in.PolicySourceArn = aws.String(role)
	}
	out, err := c.SimulatePrincipalPolicy(context.Background(), &in)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.EvaluationResults {
		if len(r.ResourceSpecificResults) == 0 {
			all = append(all, fmt.Sprintf("%s %s: %s", *r.EvalActionName, *r.EvalResourceName, r.EvalDecision))
		}
		for _, s := range r.ResourceSpecificResults {
			all = append(all, fmt.Sprintf("%s %s: %s", *r.EvalActionName,
				(*s.EvalResourceName)[strings.LastIndexByte(*s.EvalResourceName, ':')+1:], s.EvalResourceDecision))
		}
	}
	return all
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestADenyGoesBeforeAnAllow(t *testing.T) {
	c := client(t, "", []string{`{"Statement": [{"Effect": "Allow", "Action": "ecs:*Service", "Resource": "arn:aws:ecs:*:123456789012:service/*"},
		{"Effect": "Deny", "Action": ["ECS:deleteservice"], "Resource": ["` + prod + `"]}]}`})
	expect(t, asks(t, c, awsiam.SimulatePrincipalPolicyInput{ActionNames: []string{"ecs:UpdateService",
		"ecs:DeleteService", "ecs:RunTask"}, ResourceArns: []string{prod, test}}),
		"ecs:UpdateService service/prod/web: allowed", "ecs:UpdateService service/test/web: allowed",
		"ecs:DeleteService service/prod/web: explicitDeny", "ecs:DeleteService service/test/web: allowed",
		"ecs:RunTask service/prod/web: implicitDeny", "ecs:RunTask service/test/web: implicitDeny")
}

func TestTheResultOfSeveralResourcesIsTheStrictest(t *testing.T) {
	c := client(t, "", []string{`{"Statement": {"Effect": "Allow", "Action": "ecs:*", "Resource": "` + prod + `"}}`})
	out, err := c.SimulatePrincipalPolicy(context.Background(),
		&awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(role),
			ActionNames: []string{"ecs:UpdateService"}, ResourceArns: []string{prod, test}})
	if err != nil || len(out.EvaluationResults) != 1 {
		t.Fatal(out, err)
	}
	r := out.EvaluationResults[0]
	if r.EvalDecision != iamtypes.PolicyEvaluationDecisionTypeImplicitDeny || *r.EvalResourceName == prod ||
		len(r.ResourceSpecificResults) != 2 {
		t.Errorf("%s of %s, %d of resources", r.EvalDecision, *r.EvalResourceName, len(r.ResourceSpecificResults))
	}
	expect(t, asks(t, c, awsiam.SimulatePrincipalPolicyInput{ActionNames: []string{"ecs:UpdateService"}}),
		"ecs:UpdateService *: implicitDeny")
}

func TestConditionsReadTheContext(t *testing.T) {
	c := client(t, "", []string{`{"Statement": {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "*", "Condition": {"StringEquals": {"iam:PassedToService": ["ecs-tasks.amazonaws.com"]}}}}`})
	ask := func(value ...string) awsiam.SimulatePrincipalPolicyInput {
		in := awsiam.SimulatePrincipalPolicyInput{ActionNames: []string{"iam:PassRole"}}
		if len(value) > 0 {
			in.ContextEntries = []iamtypes.ContextEntry{{ContextKeyName: aws.String("IAM:PassedToService"),
				ContextKeyType: iamtypes.ContextKeyTypeEnumString, ContextKeyValues: value}}
		}
		return in
	}
	expect(t, asks(t, c, ask("ecs-tasks.amazonaws.com")), "iam:PassRole *: allowed")
	expect(t, asks(t, c, ask("ec2.amazonaws.com")), "iam:PassRole *: implicitDeny")
	expect(t, asks(t, c, ask()), "iam:PassRole *: implicitDeny")
	in := ask()
	in.PolicySourceArn = aws.String(role)
	out, err := c.SimulatePrincipalPolicy(context.Background(), &in)
	if err != nil || strings.Join(out.EvaluationResults[0].MissingContextValues, " ") != "iam:PassedToService" {
		t.Error(out, err)
	}
}

func TestABoundaryAllowsNothingByItself(t *testing.T) {
	c := client(t, `{"Statement": {"Effect": "Allow", "Action": ["ecs:UpdateService", "ecs:RunTask"], "Resource": "*"}}`,
		[]string{`{"Statement": {"Effect": "Allow", "NotAction": "ecs:RunTask", "Resource": "*"}}`})
	expect(t, asks(t, c, awsiam.SimulatePrincipalPolicyInput{ActionNames: []string{"ecs:UpdateService",
		"ecs:DeleteService", "ecs:RunTask"}}),
		"ecs:UpdateService *: allowed", "ecs:DeleteService *: implicitDeny", "ecs:RunTask *: implicitDeny")
	out, err := c.SimulatePrincipalPolicy(context.Background(),
		&awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(role),
			ActionNames: []string{"ecs:DeleteService"}})
	if err != nil || out.EvaluationResults[0].PermissionsBoundaryDecisionDetail.AllowedByPermissionsBoundary {
		t.Error(out, err)
	}
}

func TestResultsArePaged(t *testing.T) {
	c := client(t, "", []string{`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}`})
	in := &awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(role)}
	for i := range 130 {
		in.ActionNames = append(in.ActionNames, fmt.Sprintf("ecs:Action%d", i))
	}
	var sizes []int
	for p := awsiam.NewSimulatePrincipalPolicyPaginator(c, in); p.HasMorePages(); {
		out, err := p.NextPage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(out.EvaluationResults))
	}
	if fmt.Sprint(sizes) != "[100 30]" {
		t.Error(sizes)
	}
	in.MaxItems = aws.Int32(50)
	if out, err := c.SimulatePrincipalPolicy(context.Background(), in); err != nil || !out.IsTruncated ||
		len(out.EvaluationResults) != 50 || out.Marker == nil {
		t.Error(out, err)
	}
}

func TestRefusedCalls(t *testing.T) {
	ctx := context.Background()
	refused := func(err error, code, text string) {
		t.Helper()
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
			t.Errorf("%v, want %s: %s", err, code, text)
		}
	}
	c := client(t, "", nil)
	ask := func(c *awsiam.Client, arn, action string) error {
		_, err := c.SimulatePrincipalPolicy(ctx, &awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(arn),
			ActionNames: []string{action}})
		return err
	}
	refused(ask(c, "arn:aws:iam::123456789012:role/other", "ecs:RunTask"), "NoSuchEntity",
		"role with name other cannot be found")
	refused(ask(c, "arn:aws:sts::123456789012:assumed-role/deployer/me", "ecs:RunTask"), "InvalidInput",
		"Invalid Entity Arn")
	refused(ask(c, role, "RunTask"), "InvalidInput", "Invalid action name RunTask")
	c = client(t, "", nil, `{"Statement": {"Effect": "Allow", "Action": "ecs:*", "Resource": "*"}}`)
	refused(ask(c, role, "ecs:RunTask"), "AccessDenied",
		"User: "+user+" is not authorized to perform: iam:SimulatePrincipalPolicy on resource: "+role)
	_, err := c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String("deployer")})
	refused(err, "AccessDenied", "iam:GetRole")
}

func TestGetRoleReturnsThePath(t *testing.T) {
	ctx, c := context.Background(), client(t, "", nil)
	out, err := c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String("deployer")})
	if err != nil || *out.Role.Arn != role || *out.Role.Path != "/teams/" {
		t.Error(out, err)
	}
	_, err = c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String("other")})
	var none *iamtypes.NoSuchEntityException
	if !errors.As(err, &none) {
		t.Error(err)
	}
}

func TestGetRoleReturnsTheTrustPolicy(t *testing.T) {
	account := "arn:aws:iam::123456789012:role/"
	s := iam.New([]iam.Principal{{ARN: account + "task", Trusts: []string{"ecs-tasks.amazonaws.com"}}, {ARN: account + "other"},
		{ARN: account + "both", Trusts: []string{"ecs-tasks.amazonaws.com", "ecs.amazonaws.com"}}})
	ctx := world.WithKey(context.Background(), world.Key{Account: "123456789012", Region: "us-east-1"})
	for name, want := range map[string]string{"task": `"Service":"ecs-tasks.amazonaws.com"`, "other": "123456789012:root",
		"both": `"Service":["ecs-tasks.amazonaws.com","ecs.amazonaws.com"]`} {
		out, err := s.GetRole(ctx, &awsiam.GetRoleInput{RoleName: &name})
		if err != nil {
			t.Fatal(err)
		}
		text, err := url.QueryUnescape(*out.Role.AssumeRolePolicyDocument)
		if err != nil || !strings.Contains(text, want) || text == *out.Role.AssumeRolePolicyDocument {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// A world whose file names no roles has every role, which ECS may assume.
func TestEveryRoleExistsInAWorldWithoutRoles(t *testing.T) {
	s := iam.New(nil)
	ctx := world.WithKey(context.Background(), world.Key{Account: "123456789012", Region: "us-east-1"})
	in := &awsiam.GetRoleInput{RoleName: aws.String("task")}
	var none *world.Refusal
	if _, err := s.GetRole(ctx, in); !errors.As(err, &none) || none.Code != "NoSuchEntity" {
		t.Errorf("among named roles: %v", err)
	}
	s.EveryRole = true
	out, err := s.GetRole(ctx, in)
	if err != nil || *out.Role.Arn != "arn:aws:iam::123456789012:role/task" ||
		!strings.Contains(*out.Role.AssumeRolePolicyDocument, "ecs-tasks.amazonaws.com") {
		t.Errorf("%v %v", out, err)
	}
}

func TestTheUserMayDoEverything(t *testing.T) {
	expect(t, asks(t, client(t, "", nil), awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(user),
		ActionNames: []string{"ecs:RunTask"}}), "ecs:RunTask *: allowed")
}

func TestPoliciesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "it is no policy",
		`{"Statement": {"Effect": "Allows", "Action": "*", "Resource": "*"}}`:                                                         "neither Allow nor Deny",
		`{"Statement": {"Effect": "Allow", "Resource": "*"}}`:                                                                         "Action and NotAction",
		`{"Statement": {"Effect": "Allow", "Action": "*"}}`:                                                                           "Resource and NotResource",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "1.1.1.1"}}}}`: "condition operator IpAddress",
		`{"Statement": [{"Effect": "Allow", "Acton": "*", "Resource": "*"}]}`:                                                         "Acton",
	} {
		if _, err := iam.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
