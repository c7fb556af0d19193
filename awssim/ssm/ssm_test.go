package ssm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/ssm"
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
	return site{t, wire.New(w, ssm.NewAPI(w)), w}
}

// ask calls an operation that must succeed.
func ask[Out any](s site, operation string, in any) *Out {
	s.Helper()
	out, err := s.Call(world.WithKey(context.Background(), here), "SSM", operation, in)
	if err != nil {
		s.Fatalf("%s %+v: %v", operation, in, err)
	}
	return out.(*Out)
}

func (s site) refused(operation string, in any, code, text string) {
	s.Helper()
	_, err := s.Call(world.WithKey(context.Background(), here), "SSM", operation, in)
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		s.Errorf("%s %+v: %v, want %s with %q", operation, in, err, code, text)
	}
}

func put(s site, in ssm.PutParameterInput) {
	s.Helper()
	ask[ssm.PutParameterOutput](s, "PutParameter", &in)
}

func TestParametersAreFoundByNameAndARN(t *testing.T) {
	s := newSite(t)
	put(s, ssm.PutParameterInput{Name: "/shop/level", Type: "String", Value: "info"})
	put(s, ssm.PutParameterInput{Name: "plain", Type: "String", Value: "x"})
	for name, want := range map[string]string{"/shop/level": "info", "/shop/level:1": "info", "plain": "x",
		"arn:aws:ssm:eu-west-1:123456789012:parameter/shop/level": "info",
		"arn:aws:ssm:eu-west-1:123456789012:parameter/plain":      "x"} {
		got := ask[ssm.GetParameterOutput](s, "GetParameter", &ssm.GetParameterInput{Name: name})
		if got.Parameter.Value != want {
			t.Errorf("%s: %+v", name, got.Parameter)
		}
	}
	s.refused("GetParameter", &ssm.GetParameterInput{Name: "/shop"}, "ParameterNotFound", "")
	s.refused("GetParameter", &ssm.GetParameterInput{Name: "plain:2"}, "ParameterNotFound", "")
	all := ask[ssm.GetParametersOutput](s, "GetParameters", &ssm.GetParametersInput{Names: []string{"plain", "none"}})
	if len(all.Parameters) != 1 || len(all.InvalidParameters) != 1 || all.InvalidParameters[0] != "none" {
		t.Errorf("%+v", all)
	}
	s.refused("GetParameters", &ssm.GetParametersInput{Names: make([]string, 11)}, "ValidationException", "10")
}

func TestSecureStringsAreEncrypted(t *testing.T) {
	s := newSite(t)
	put(s, ssm.PutParameterInput{Name: "key", Type: "SecureString", Value: "hidden"})
	for decrypt, want := range map[bool]bool{false: false, true: true} {
		got := ask[ssm.GetParameterOutput](s, "GetParameter",
			&ssm.GetParameterInput{Name: "key", WithDecryption: decrypt})
		if (got.Parameter.Value == "hidden") != want || got.Parameter.Type != "SecureString" {
			t.Errorf("decrypt %v: %+v", decrypt, got.Parameter)
		}
	}
}

func TestParametersAreWritten(t *testing.T) {
	s := newSite(t)
	put(s, ssm.PutParameterInput{Name: "a", Type: "String", Value: "1"})
	s.refused("PutParameter", &ssm.PutParameterInput{Name: "a", Type: "String", Value: "2"}, "ParameterAlreadyExists",
		"already exists")
	out := ask[ssm.PutParameterOutput](s, "PutParameter",
		&ssm.PutParameterInput{Name: "a", Value: "2", Overwrite: true})
	got := ask[ssm.GetParameterOutput](s, "GetParameter", &ssm.GetParameterInput{Name: "a"})
	if out.Version != 2 || got.Parameter.Value != "2" || got.Parameter.Version != 2 {
		t.Errorf("%+v %+v", out, got.Parameter)
	}
	s.refused("PutParameter", &ssm.PutParameterInput{Name: "b", Value: "2"}, "ValidationException", "type is required")
}
