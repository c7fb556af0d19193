package awssim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/dataplane"
)

// patience bounds a wait for what real sockets, programs and clocks do.
const patience = 30 * time.Second

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never happened: %s", what)
		}
	}
}

// remote is the configuration of a client that reaches the simulator by its socket.
func remote(t testing.TB, s *awssim.Sim, l *awssim.Listening) aws.Config {
	cfg := s.Config()
	tr := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(tr.CloseIdleConnections)
	cfg.BaseEndpoint, cfg.HTTPClient, cfg.APIOptions = aws.String(l.URL()), &http.Client{Transport: tr}, nil
	return cfg
}

// door is the address that DescribeLoadBalancers gives.
func door(t testing.TB, cfg aws.Config) string {
	t.Helper()
	out, err := awselb.NewFromConfig(cfg).DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + *out.LoadBalancers[0].DNSName
}

func traffic(t testing.TB, l *awssim.Listening) (tr dataplane.Traffic) {
	t.Helper()
	status, body := fetch(t, "GET", l.URL()+"/_sluice/traffic", "")
	if err := json.Unmarshal([]byte(body), &tr); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	return tr
}

func TestListeningWorldServesClientsAndUsers(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(1), Speed: 1})
	load(t, s, string(canaryFile(t)))
	l := listen(t, s)
	cfg := remote(t, s, l)
	out, err := awsecs.NewFromConfig(cfg).DescribeServices(ctx,
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"), Services: []string{"web"}})
	if err != nil || out.Services[0].RunningCount != 4 {
		t.Fatal(out, err)
	}
	at := door(t, cfg)
	for range 20 {
		if status, body := fetch(t, "GET", at, ""); status != 200 || body != "v1\n" {
			t.Fatal(status, body)
		}
	}
	tr := traffic(t, l)
	if tr.Requests != 20 || tr.Failed != 0 || len(tr.Rows) != 1 || tr.Rows[0].Group != primaryARN ||
		tr.Rows[0].Version != "v1" || tr.Rows[0].Outcome != "answered" {
		t.Errorf("%+v", tr)
	}
	if status, _ := fetch(t, "POST", l.URL()+"/_sluice/traffic/reset", ""); status != 204 ||
		traffic(t, l).Requests != 0 {
		t.Errorf("traffic/reset: %d", status)
	}
}

func TestControl(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(1)})
	load(t, s, string(canaryFile(t)))
	l := listen(t, s)
	control := l.URL() + "/_sluice/"
	var v awssim.View
	status, body := fetch(t, "GET", control+"world", "")
	if err := json.Unmarshal([]byte(body), &v); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	r := v.Regions[0]
	rule := r.LoadBalancers[0].Listeners[0].Rules[0]
	if v.Speed != 1 || r.Account != "123456789012" || r.Clusters[0].Services[0].TaskSets[0].Status != "PRIMARY" ||
		r.TargetGroups[0].Targets[0].State != "healthy" ||
		rule.Weights[0].Weight != 100 || rule.Weights[1].Group != canaryARN ||
		r.LoadBalancers[0].Listeners[0].Bound == "" {
		t.Errorf("%s", body)
	}
	var now awssim.TimeView
	if status, body := fetch(t, "GET", control+"time", ""); status != 200 ||
		json.Unmarshal([]byte(body), &now) != nil || now.Speed != 1 || now.Now.Before(v.Now) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := fetch(t, "POST", control+"reset", ""); status != 204 || now.World == "" ||
		s.Time().World == now.World {
		t.Errorf("%d: the world after a reset is %q, before it was %q", status, s.Time().World, now.World)
	}
	if status, body := fetch(t, "POST", control+"faults",
		"# three times\nthrottle ecs:CreateTaskSet times=3\n\nlatency sts:* by=1s\n"); status != 200 ||
		len(s.Faults()) != 2 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := fetch(t, "POST", control+"faults", "zone-lost us-east-1a\nthrotle ecs:*\n"); status != 400 ||
		!strings.Contains(body, `line 2: fault "throtle ecs:*"`) || len(s.Faults()) != 2 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := fetch(t, "GET", control+"faults", ""); status != 200 ||
		!strings.Contains(body, "throttle ecs:CreateTaskSet times=3") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := fetch(t, "DELETE", control+"faults", ""); status != 204 || len(s.Faults()) != 0 {
		t.Errorf("%d %v", status, s.Faults())
	}
	if status, body := fetch(t, "GET", control+"wrold", ""); status != 404 ||
		!strings.Contains(body, "there are reset (POST), world (GET)") {
		t.Errorf("%d %s", status, body)
	}
}

func TestResetWhileListening(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(1)})
	load(t, s, string(canaryFile(t)))
	l := listen(t, s)
	cfg := remote(t, s, l)
	ecs := awsecs.NewFromConfig(cfg)
	if _, err := ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("other")}); err != nil {
		t.Fatal(err)
	}
	fetch(t, "GET", door(t, cfg), "")
	if status, body := fetch(t, "POST", l.URL()+"/_sluice/reset", ""); status != 204 {
		t.Fatal(status, body)
	}
	out, err := ecs.ListClusters(ctx, &awsecs.ListClustersInput{})
	if err != nil || len(out.ClusterArns) != 1 || traffic(t, l).Requests != 0 {
		t.Errorf("%v %v", out, err)
	}
	if status, body := fetch(t, "GET", door(t, cfg), ""); status != 200 || body != "v1\n" {
		t.Errorf("%d %s", status, body)
	}
}

func TestWebPagesAndForeignNamesAreRefused(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(1)})
	l := listen(t, s)
	_, port, _ := net.SplitHostPort(l.Addr())
	for _, c := range []struct {
		path, host, origin string
		want               int
		text               string
	}{
		{"/_sluice/world", "", "https://example.com", 403, "Origin"},
		{"/", "", "null", 403, "Origin"},
		{"/_sluice/world", "rebound.example.com:" + port, "", 403, `the host "rebound.example.com:` + port +
			`" is not this simulator's`},
		{"/_sluice/world", "localhost:" + port, "", 200, ""},
		{"/_sluice/world", "data-servicediscovery.localhost:" + port, "", 200, ""},
		{"/_sluice/world", "[::1]:" + port, "", 200, ""},
		{"/_sluice/world", "data-127.0.0.1:" + port, "", 200, ""},
		{"/_sluice/world", "data-example.com:" + port, "", 403, "is not this simulator's"},
	} {
		status, body := fetch(t, "GET", l.URL()+c.path, "", func(r *http.Request) {
			if c.host != "" {
				r.Host = c.host
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		})
		if status != c.want || !strings.Contains(body, c.text) {
			t.Errorf("%+v: %d %s", c, status, body)
		}
	}
}

func TestListenRefusesOtherThanLoopback(t *testing.T) {
	s := newSim(t, awssim.Options{})
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "4566"} {
		if l, err := s.Listen(ctx, addr); err == nil {
			l.Close()
			t.Errorf("listens at %s", addr)
		}
	}
	open := newSim(t, awssim.Options{AllowRemote: true, Clock: newFast(1)})
	l, err := open.Listen(ctx, "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestListenAgainAndCloseByContext(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(1)})
	load(t, s, string(canaryFile(t)))
	l := listen(t, s)
	if _, err := s.Listen(ctx, "127.0.0.1:0"); err == nil ||
		!strings.Contains(err.Error(), "listens at "+l.Addr()+" already") {
		t.Errorf("a second Listen: %v", err)
	}
	l.Close()
	l.Close()
	bounded, cancel := context.WithCancel(ctx)
	again, err := s.Listen(bounded, l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if status, body := fetch(t, "GET", door(t, remote(t, s, again)), ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	cancel()
	until(t, "the socket is closed", func() bool {
		c, err := net.Dial("tcp", again.Addr())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	again.Close()
}

func TestWorldFollowsTheClockByItself(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(300)})
	load(t, s, string(canaryFile(t))+"settled: false\n")
	l := listen(t, s)
	cfg := remote(t, s, l)
	until(t, "the load balancer answers for a healthy task", func() bool {
		at := door(t, cfg)
		if strings.Contains(at, "amazonaws") {
			t.Fatalf("a listening load balancer is called %s", at)
		}
		c, err := net.Dial("tcp", strings.TrimPrefix(withPort(at), "http://"))
		if err != nil {
			return false // it is being provisioned
		}
		_ = c.Close()
		status, body := fetch(t, "GET", at, "")
		return status == 200 && body == "v1\n"
	})
}

func withPort(url string) string {
	if strings.Count(url, ":") > 1 {
		return url
	}
	return url + ":80"
}

func programWorld(t testing.TB, image string) string {
	return strings.Replace(string(canaryFile(t)), "image: sim/web:v1",
		fmt.Sprintf("image: %q\n    environment: {TASK_PROGRAM: serve}", image), 1)
}

func TestHostImageBehindTheLoadBalancer(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(t, awssim.Options{Clock: newFast(20), AllowHostImages: true})
	load(t, s, programWorld(t, "host:"+exe))
	l := listen(t, s)
	at := door(t, remote(t, s, l))
	until(t, "the program has passed a health check", func() bool {
		status, body := fetch(t, "GET", at, "")
		return status == 200 && body == "program serve\n"
	})
	_ = s.Inject("task-crash web count=1 exit=9")
	until(t, "the crashed task is replaced and healthy", func() bool {
		healthy := 0
		for _, target := range s.View().Regions[0].TargetGroups[0].Targets {
			if target.State == "healthy" {
				healthy++
			}
		}
		crashed := false
		for _, e := range s.World().Entries() {
			crashed = crashed || strings.Contains(e.Text, "exited 9")
		}
		return crashed && healthy == 4
	})
}

func TestHostImageIsRefusedUnlessAllowed(t *testing.T) {
	s := newSim(t, awssim.Options{})
	load(t, s, programWorld(t, "host:/bin/true"))
	found := false
	for _, e := range s.World().Entries() {
		found = found || strings.Contains(e.Text, "--allow-host-images")
	}
	if !found {
		t.Error("the log does not say why no task starts")
	}
	if tasks := s.View().Regions[0].TargetGroups[0].Targets; len(tasks) != 0 {
		t.Errorf("%+v", tasks)
	}
}
