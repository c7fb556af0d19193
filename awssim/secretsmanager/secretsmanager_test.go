package secretsmanager_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/secretsmanager"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

var here = world.Key{Account: "123456789012", Region: "eu-west-1"}

type site struct {
	*testing.T
	*wire.Server
	world *world.World
}

func newSite(t *testing.T) site {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	return site{t, wire.New(w, secretsmanager.NewAPI(w)), w}
}

// ask calls an operation that must succeed.
func ask[Out any](s site, operation string, in any) *Out {
	s.Helper()
	out, err := s.Call(world.WithKey(context.Background(), here), "Secrets Manager", operation, in)
	if err != nil {
		s.Fatalf("%s %+v: %v", operation, in, err)
	}
	return out.(*Out)
}

func (s site) refused(operation string, in any, code, text string) {
	s.Helper()
	_, err := s.Call(world.WithKey(context.Background(), here), "Secrets Manager", operation, in)
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		s.Errorf("%s %+v: %v, want %s with %q", operation, in, err, code, text)
	}
}

func TestASecretIsFoundByNameAndARN(t *testing.T) {
	s := newSite(t)
	made := ask[secretsmanager.CreateSecretOutput](s, "CreateSecret",
		&secretsmanager.CreateSecretInput{Name: "shop/db", SecretString: "x"})
	if !strings.HasPrefix(made.ARN, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-") {
		t.Error(made.ARN)
	}
	for _, id := range []string{"shop/db", made.ARN, made.ARN[:len(made.ARN)-7]} {
		got := ask[secretsmanager.GetSecretValueOutput](s, "GetSecretValue",
			&secretsmanager.GetSecretValueInput{SecretId: id})
		if got.SecretString != "x" || got.ARN != made.ARN || got.VersionId != made.VersionId {
			t.Errorf("%s: %+v", id, got)
		}
	}
	const none = "can't find the specified secret"
	s.refused("GetSecretValue", &secretsmanager.GetSecretValueInput{SecretId: "shop"}, "ResourceNotFoundException", none)
	s.refused("GetSecretValue", &secretsmanager.GetSecretValueInput{SecretId: "shop/db", VersionStage: "AWSPREVIOUS"},
		"ResourceNotFoundException", none+" value for staging label: AWSPREVIOUS")
	ask[secretsmanager.CreateSecretOutput](s, "CreateSecret", &secretsmanager.CreateSecretInput{Name: "empty"})
	s.refused("GetSecretValue", &secretsmanager.GetSecretValueInput{SecretId: "empty"}, "ResourceNotFoundException",
		none+" value for staging label: AWSCURRENT")
}

func TestValuesAreReplaced(t *testing.T) {
	s := newSite(t)
	first := ask[secretsmanager.CreateSecretOutput](s, "CreateSecret",
		&secretsmanager.CreateSecretInput{Name: "db", SecretString: "a"})
	s.refused("CreateSecret", &secretsmanager.CreateSecretInput{Name: "db"}, "ResourceExistsException", "db already exists")
	second := ask[secretsmanager.CreateSecretOutput](s, "PutSecretValue",
		&secretsmanager.PutSecretValueInput{SecretId: "db", SecretString: "b"})
	got := ask[secretsmanager.GetSecretValueOutput](s, "GetSecretValue",
		&secretsmanager.GetSecretValueInput{SecretId: "db"})
	if got.SecretString != "b" || second.VersionId == first.VersionId || got.VersionId != second.VersionId {
		t.Error(first, second, got)
	}
	described := ask[secretsmanager.DescribeSecretOutput](s, "DescribeSecret",
		&secretsmanager.DescribeSecretInput{SecretId: "db"})
	if len(described.VersionIdsToStages[second.VersionId]) != 1 || described.ARN != first.ARN {
		t.Errorf("%+v", described)
	}
}
