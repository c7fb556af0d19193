package wire_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// oneService is a service of ordinary size.
func oneService() *awsecs.DescribeServicesOutput {
	s := ecstypes.Service{ServiceName: aws.String("web"), DesiredCount: 2, Status: aws.String("ACTIVE")}
	for range 2 {
		var ts ecstypes.TaskSet
		(&filler{}).fill(reflect.ValueOf(&ts).Elem())
		s.TaskSets = append(s.TaskSets, ts)
	}
	for range 20 {
		s.Events = append(s.Events, ecstypes.ServiceEvent{Id: aws.String("id"),
			Message: aws.String("(service web) has reached a steady state.")})
	}
	return &awsecs.DescribeServicesOutput{Services: []ecstypes.Service{s}, Failures: []ecstypes.Failure{}}
}

func benchSite(b *testing.B) *site {
	s := newSite(b)
	s.SetQuiet(true)
	out := oneService()
	s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
		error) {
		return out, nil
	}
	return s
}

// BenchmarkDescribeServicesHTTP is calls per second over one loopback address.
func BenchmarkDescribeServicesHTTP(b *testing.B) {
	s := benchSite(b)
	h := httptest.NewServer(s.Server)
	defer h.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _ := http.NewRequest("POST", h.URL, strings.NewReader(`{"cluster":"c","services":["web"]}`))
			r.Header.Set("Authorization", signed("123456789012", "eu-west-1", "ecs"))
			r.Header.Set("X-Amz-Target", ecsTarget+"DescribeServices")
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkDescribeServicesRoundTrip(b *testing.B) {
	s := benchSite(b)
	c := s.ecs()
	for b.Loop() {
		if _, err := c.DescribeServices(context.Background(), describe); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDescribeServicesDirect(b *testing.B) {
	s := benchSite(b)
	ctx := s.direct()
	for b.Loop() {
		if _, err := s.Call(ctx, "ECS", "DescribeServices", describe); err != nil {
			b.Fatal(err)
		}
	}
}
