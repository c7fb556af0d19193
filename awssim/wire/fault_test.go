package wire_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// faults injects by operation.
type faults map[string]wire.Injected

func (f faults) Before(_ world.Key, _, operation string, _ time.Time) *wire.Injected {
	if i, ok := f[operation]; ok {
		return &i
	}
	return nil
}

func TestFaultsInPlaceOfTheEffect(t *testing.T) {
	for name, test := range map[string]struct {
		inject wire.Injected
		code   string
		status int
	}{
		"throttle": {wire.Injected{Throttle: true}, "ThrottlingException", 400},
		"500":      {wire.Injected{Status: 500}, "InternalFailure", 500},
		"503":      {wire.Injected{Status: 503}, "ServiceUnavailable", 503},
		"own":      {wire.Injected{Refuse: world.Refuse("ClientException", "x")}, "ClientException", 400},
	} {
		s := newSite(t)
		called := false
		s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
			error) {
			called = true
			return nil, nil
		}
		s.SetFaulter(faults{"DescribeServices": test.inject})
		for way, call := range s.ways() {
			_, err := call()
			var api smithy.APIError
			var res *smithyhttp.ResponseError
			if !errors.As(err, &api) || api.ErrorCode() != test.code || !errors.As(err, &res) ||
				res.HTTPStatusCode() != test.status {
				t.Errorf("%s, %s: %v, want %s %d", name, way, err, test.code, test.status)
			}
		}
		if called {
			t.Errorf("%s: the room was called", name)
		}
	}
}

func TestLostRequestsAndReplies(t *testing.T) {
	for name, inject := range map[string]wire.Injected{"request": {DropRequest: true}, "reply": {DropReply: true}} {
		s := newSite(t)
		effects := 0
		s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
			error) {
			effects++
			return nil, nil
		}
		s.SetFaulter(faults{"DescribeServices": inject})
		for way, call := range s.ways() {
			_, err := call()
			var send *smithyhttp.RequestSendError
			if !errors.Is(err, io.EOF) || !errors.As(err, &send) {
				t.Errorf("%s, %s: %v is not a connection that ended", name, way, err)
			}
		}
		if want := map[string]int{"request": 0, "reply": 2}[name]; effects != want {
			t.Errorf("%s: %d effects, want %d", name, effects, want)
		}
	}
}

func TestStaleReadsAnswerThePast(t *testing.T) {
	s := newSite(t)
	inject := faults{}
	s.SetFaulter(inject)
	ask := func() string {
		out, err := s.ways()["codec"]()
		if err != nil {
			return err.Error()
		}
		return *out.Services[0].ServiceName
	}
	s.answers("old", nil)
	ask()
	s.after(10 * time.Second)
	s.answers("new", nil)
	inject["DescribeServices"] = wire.Injected{StaleBy: 5 * time.Second}
	if got := ask(); got != "old" {
		t.Errorf("5 s ago it was old, answered %s", got)
	}
	inject["DescribeServices"] = wire.Injected{StaleBy: 11 * time.Second}
	if got := ask(); got != "new" {
		t.Errorf("nobody asked 11 s ago: want the fresh answer, got %s", got)
	}
	s.after(time.Second)
	s.answers("newest", nil)
	inject["DescribeServices"] = wire.Injected{StaleBy: 400 * time.Millisecond}
	if got := ask(); got != "newest" {
		t.Errorf("what is known is of 1 s ago, which is too long for 400 ms: got %s", got)
	}
	s.answers("new", nil)
	delete(inject, "DescribeServices")
	if got := ask(); got != "new" {
		t.Errorf("without a fault: got %s", got)
	}
	if text := entries(s.world); !strings.Contains(text, "ok, answered as of 2027-01-02T03:04:05.678Z") {
		t.Errorf("log:\n%s", text)
	}
}

func TestThrottleSetting(t *testing.T) {
	s := newSite(t, func(o *world.Options) { o.Settings.Throttle = true })
	s.answers("web", nil)
	count := func(n int, call func() error) (ok int) {
		for range n {
			err := call()
			var api smithy.APIError
			switch {
			case err == nil:
				ok++
			case !errors.As(err, &api) || !strings.HasPrefix(api.ErrorCode(), "Throttling") ||
				api.ErrorMessage() != "Rate exceeded":
				t.Fatal(err)
			}
		}
		return ok
	}
	read := func() error { _, err := s.ways()["direct"](); return err }
	if n := count(150, read); n != 100 {
		t.Errorf("%d of 150 reads passed, want the burst of 100", n)
	}
	s.after(time.Second)
	if n := count(50, read); n != 20 {
		t.Errorf("%d reads passed a second later, want 20", n)
	}
	s.elb.modifyRule = func(*awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) { return nil, nil }
	modify := func() error {
		_, err := s.Call(s.direct(), "Elastic Load Balancing v2", "ModifyRule", &awselb.ModifyRuleInput{})
		return err
	}
	if n := count(30, modify); n != 20 {
		t.Errorf("%d of 30 rule changes passed, want 20", n)
	}
}
