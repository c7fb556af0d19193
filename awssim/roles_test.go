package awssim_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/sluice-ecs/sluice/awssim"
)

// A role of a world is in the world's account, or in that of the options.
func TestRolesOfAWorld(t *testing.T) {
	const roles = "roles: [{name: team/run, trusts: [ecs-tasks.amazonaws.com]}]\n"
	for file, account := range map[string]string{roles: "000000000000", "account: \"123456789012\"\n" + roles: "123456789012"} {
		s := newSim(t, awssim.Options{Clock: newHands()})
		if err := s.Load("world.yaml", []byte(file)); err != nil {
			t.Fatal(err)
		}
		out, err := awsiam.NewFromConfig(s.Config()).GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String("run")})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := *out.Role.Arn, "arn:aws:iam::"+account+":role/team/run"; got != want {
			t.Errorf("the role is %s, want %s", got, want)
		}
		if !strings.Contains(*out.Role.AssumeRolePolicyDocument, "ecs-tasks.amazonaws.com") {
			t.Errorf("its trust is %s", *out.Role.AssumeRolePolicyDocument)
		}
	}
	err := newSim(t, awssim.Options{Clock: newHands()}).Load("world.yaml", []byte("roles: [{name: 'a b'}]"))
	if err == nil || !strings.Contains(err.Error(), "is not the name of a role") {
		t.Errorf("a wrong name: %v", err)
	}
}
