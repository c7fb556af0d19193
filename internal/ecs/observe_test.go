package ecs_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// said answers each request with the next body; the last one again and again.
type said struct{ bodies []string }

func (s *said) Do(r *http.Request) (*http.Response, error) {
	body := s.bodies[0]
	if len(s.bodies) > 1 {
		s.bodies = s.bodies[1:]
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		Request: r}, nil
}

// That a service does not exist takes two reads: what one read says alone is not
// believed.
func TestDeletedTakesTwoReads(t *testing.T) {
	const (
		missing  = `{"services":[],"failures":[{"reason":"MISSING"}]}`
		draining = `{"services":[{"serviceName":"web","status":"DRAINING"}],"failures":[]}`
		active   = `{"services":[{"serviceName":"web","status":"ACTIVE"}],"failures":[]}`
	)
	for _, c := range []struct {
		answers []string
		waits   int
		status  string // "" is none
	}{
		{[]string{active}, 0, "ACTIVE"},
		{[]string{missing, active}, 1, "ACTIVE"},
		{[]string{draining, active}, 1, "ACTIVE"},
		{[]string{missing, missing}, 1, ""},
		{[]string{draining, draining}, 1, "DRAINING"},
	} {
		waits := 0
		api := awsecs.New(awsecs.Options{Region: "us-east-1", HTTPClient: &said{c.answers},
			BaseEndpoint: aws.String("http://ecs.invalid"),
			Credentials:  credentials.NewStaticCredentialsProvider("k", "s", "")})
		live, err := ecs.Service{API: api, Cluster: "prod", Name: "web",
			Confirm: func(context.Context) error { waits++; return nil }}.Observe(context.Background())
		status := ""
		if live != nil {
			status = live.Status
		}
		if err != nil || status != c.status || waits != c.waits {
			t.Errorf("%v: %q after %d waits, %v", c.answers, status, waits, err)
		}
	}
}

// A failure other than MISSING says nothing about whether the service exists.
func TestAnotherFailureIsNoStatement(t *testing.T) {
	api := awsecs.New(awsecs.Options{Region: "us-east-1",
		HTTPClient:   &said{[]string{`{"services":[],"failures":[{"reason":"INTERNAL"}]}`}},
		BaseEndpoint: aws.String("http://ecs.invalid"), Credentials: credentials.NewStaticCredentialsProvider("k", "s",
			"")})
	if _, err := (ecs.Service{API: api, Cluster: "prod",
		Name: "web"}).Observe(context.Background()); sluice.KindOf(err) != sluice.Unreachable {
		t.Errorf("%v", err)
	}
}
