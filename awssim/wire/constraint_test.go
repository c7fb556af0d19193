package wire_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
)

// constrained is a site whose ECS has constraints in its model.
func constrained(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.echo.updateTaskSet = func(*awsecs.UpdateTaskSetInput) (*awsecs.UpdateTaskSetOutput, error) {
		return &awsecs.UpdateTaskSetOutput{}, nil
	}
	s.echo.createService = func(*awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput, error) {
		return &awsecs.CreateServiceOutput{}, nil
	}
	room := s.echo.room()
	room.Violation = "ClientException"
	room.Constraints = map[string]wire.Constraint{
		"CreateServiceInput.ServiceName":  {Required: true, Length: []int{1, 5}, Pattern: `[a-z-]+`},
		"CreateServiceInput.Cluster":      {Length: []int{2}},
		"CreateServiceInput.DesiredCount": {Value: []int{0, 10}},
		"CreateServiceInput.Tags":         {Length: []int{0, 1}},
		"Tag.Key":                         {Required: true},
		"UpdateTaskSetInput.Scale":        {Required: true},
	}
	s.Server = wire.New(s.world, room)
	s.cfg.HTTPClient = &http.Client{Transport: s.Server}
	return s
}

func refused(t *testing.T, err error, text string) {
	t.Helper()
	var typed *ecstypes.ClientException
	if !errors.As(err, &typed) || typed.ErrorMessage() != text {
		t.Errorf("got  %v\nwant %s", err, text)
	}
}

func TestEveryViolatedConstraintIsNamed(t *testing.T) {
	s := constrained(t)
	name := func(in string) string { return "Value '" + in + "' at 'serviceName' failed to satisfy constraint: " }
	for _, c := range []struct {
		in   awsecs.CreateServiceInput
		want string
	}{
		{awsecs.CreateServiceInput{ServiceName: aws.String("a b")}, "1 validation error detected: " + name("a b") +
			"Member must satisfy regular expression pattern: [a-z-]+"},
		{awsecs.CreateServiceInput{ServiceName: aws.String("")}, "2 validation errors detected: " + name("") +
			"Member must have length greater than or equal to 1; " + name("") +
			"Member must satisfy regular expression pattern: [a-z-]+"},
		{awsecs.CreateServiceInput{ServiceName: aws.String("abcdef"), LaunchType: "MOON", Cluster: aws.String("x"),
			DesiredCount: aws.Int32(11), Tags: make([]ecstypes.Tag, 2)},
			"7 validation errors detected: " + name("abcdef") + "Member must have length less than or equal to 5; " +
				"Value 'x' at 'cluster' failed to satisfy constraint: Member must have length greater than or equal to 2; " +
				"Value '11' at 'desiredCount' failed to satisfy constraint: Member must have value less than or equal " +
				"to 10; Value 'MOON' at 'launchType' failed to satisfy constraint: Member must satisfy enum value set: " +
				"[EC2, FARGATE, EXTERNAL, MANAGED_INSTANCES]; " +
				"Value at 'tags' failed to satisfy constraint: Member must have length less than or equal to 1; " +
				"Value null at 'tags.1.member.key' failed to satisfy constraint: Member must not be null; " +
				"Value null at 'tags.2.member.key' failed to satisfy constraint: Member must not be null"},
		{awsecs.CreateServiceInput{ServiceName: aws.String("äöüäö")}, "1 validation error detected: " + name("äöüäö") +
			"Member must satisfy regular expression pattern: [a-z-]+"},
	} {
		_, err := s.ecs().CreateService(t.Context(), &c.in)
		refused(t, err, c.want)
		_, err = s.Server.Call(s.direct(), "ECS", "CreateService", &c.in)
		refused(t, err, c.want)
	}
	_, err := s.ecs().CreateService(t.Context(), &awsecs.CreateServiceInput{ServiceName: aws.String("web"),
		Cluster: aws.String("prod"), DesiredCount: aws.Int32(0), LaunchType: "FARGATE",
		Tags: []ecstypes.Tag{{Key: aws.String("k")}}})
	if err != nil {
		t.Error("an input within the constraints:", err)
	}
}

// SDKs refuse an input without a required member themselves; other clients do not.
func TestAnAbsentMemberIsNull(t *testing.T) {
	s := constrained(t)
	_, err := s.Server.Call(s.direct(), "ECS", "UpdateTaskSet", &awsecs.UpdateTaskSetInput{})
	refused(t, err,
		"1 validation error detected: Value null at 'scale' failed to satisfy constraint: Member must not be null")
}
