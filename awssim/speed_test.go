package awssim_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim"
)

// wide is a world file of many services, twenty to a load balancer.
func wide(services, tasks int) string {
	var groups, balancers, list strings.Builder
	for i := range services {
		if i%20 == 0 {
			fmt.Fprintf(&balancers, "  - name: lb%d\n    listeners:\n      - port: 80\n        fixed: {status: "+
				"404}\n        rules:\n", i/20)
		}
		fmt.Fprintf(&groups, "  - {name: g%d, port: 80}\n", i)
		fmt.Fprintf(&balancers, "          - {priority: %d, path: [/s%d/*], forward: {g%d: 1}}\n", i%20+1, i, i)
		fmt.Fprintf(&list, "  - {name: s%d, count: %d, image: \"sim/web:v1\", targetGroup: g%d}\n", i, tasks, i)
	}
	return "clusters: [prod]\ntargetGroups:\n" + groups.String() + "loadBalancers:\n" + balancers.String() +
		"services:\n" + list.String()
}

func running(v awssim.View) (tasks, healthy int) {
	for _, s := range v.Regions[0].Clusters[0].Services {
		tasks += len(s.TaskSets[0].Tasks)
	}
	for _, g := range v.Regions[0].TargetGroups {
		for _, t := range g.Targets {
			if t.State == "healthy" {
				healthy++
			}
		}
	}
	return tasks, healthy
}

func TestWideWorldIsSettled(t *testing.T) {
	s := newSim(t, awssim.Options{})
	load(t, s, wide(40, 3))
	if tasks, healthy := running(s.View()); tasks != 120 || healthy != 120 {
		t.Errorf("%d tasks, %d healthy", tasks, healthy)
	}
}

// BenchmarkDescribeServices is reads of one service over HTTP, by SDK clients on
// the same processors.
func BenchmarkDescribeServices(b *testing.B) {
	s := newSim(b, awssim.Options{Clock: newFast(1), LogLimit: 1000})
	load(b, s, string(canaryFile(b)))
	ecs := awsecs.NewFromConfig(remote(b, s, listen(b, s)))
	in := &awsecs.DescribeServicesInput{Cluster: aws.String("prod"), Services: []string{"web"}}
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := ecs.DescribeServices(ctx, in); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkDescribeServicesBare is the same read by a client that costs little:
// a signed request, made once, sent again and again.
func BenchmarkDescribeServicesBare(b *testing.B) {
	s := newSim(b, awssim.Options{Clock: newFast(1), LogLimit: 1000})
	load(b, s, string(canaryFile(b)))
	l := listen(b, s)
	const body = `{"cluster":"prod","services":["web"]}`
	request := "POST / HTTP/1.1\r\nHost: " + l.Addr() +
		"\r\nX-Amz-Target: AmazonEC2ContainerServiceV20141113.DescribeServices\r\n" +
		"Content-Type: application/x-amz-json-1.1\r\nContent-Length: " + fmt.Sprint(len(body)) +
		"\r\nAuthorization: AWS4-HMAC-SHA256 Credential=123456789012/20261201/us-east-1/ecs/aws4_request, " +
		"SignedHeaders=host, Signature=0\r\n\r\n" + body
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := newBareClient(b, l.Addr())
		defer c.close()
		for pb.Next() {
			if status := c.send(request); status != 200 {
				b.Errorf("status %d", status)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkIdleDay is 24 hours of 100 services of two tasks with health checks, in
// which nothing happens.
func BenchmarkIdleDay(b *testing.B) {
	clock := newHands()
	s := newSim(b, awssim.Options{Clock: clock})
	load(b, s, wide(100, 2))
	if _, healthy := running(s.View()); healthy != 200 {
		b.Fatalf("%d healthy", healthy)
	}
	for b.Loop() {
		clock.move(24 * time.Hour)
		s.World().Advance()
	}
}

// BenchmarkThousandServices is the memory of 1,000 services with 10,000 tasks,
// listening.
func BenchmarkThousandServices(b *testing.B) {
	for b.Loop() {
		s := newSim(b, awssim.Options{Clock: newFast(1), LogLimit: 10_000})
		load(b, s, wide(1000, 10))
		l := listen(b, s)
		if tasks, healthy := running(s.View()); tasks != 10_000 || healthy != 10_000 {
			b.Fatalf("%d tasks, %d healthy", tasks, healthy)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/(1<<20), "MB-from-system")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MB-heap")
		l.Close()
	}
}
