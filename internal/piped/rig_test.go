package piped_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// binary is the plugin as users get it, built once.
var binary string

// parentVar makes the test binary a parent that starts the plugin and waits to be
// killed.
const parentVar = "PIPED_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVar) != "" {
		beParent()
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("24") // they wait for AWS most of the time
	}
	os.Exit(built(m))
}

func built(m *testing.M) int {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "piped-plugin-sluice")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary,
		"github.com/sluice-ecs/sluice/cmd/piped-plugin-sluice")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func got[T any](out T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return out
	}
}

const (
	// speed is how much faster than the machine's time runs, at most.
	speed = 25
	// compareApplications is the world's time between two requests of the callers.
	compareApplications = 250 * time.Millisecond
)

// rig is a local AWS under a load of requests, piped's side, and the plugin.
type rig struct {
	testing.TB
	sim    *awssim.Sim
	clock  *pace
	url    string
	ecs    *awsecs.Client
	elb    *awselb.Client
	piped  *fake
	plugin *process
	load   *load
	number int // of deployments
}

// world is the local AWS of the tests: web at v1, behind a load balancer.
const world = `
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]
clusters: [prod]
targetGroups:
  - name: web-primary
    arn: arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-primary/0123456789abcdef
    port: 80
    deregistrationDelay: 20s
    healthCheck: {path: /, interval: 5s, timeout: 4s, healthy: 2, unhealthy: 2}
  - name: web-canary
    arn: arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/fedcba9876543210
    port: 80
    deregistrationDelay: 20s
    healthCheck: {path: /, interval: 5s, timeout: 4s, healthy: 2, unhealthy: 2}
loadBalancers:
  - name: web
    arn: arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/0123456789abcdef
    listeners:
      - port: 80
        arn: arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef
        forward: {web-primary: 100, web-canary: 0}
`

const external = `
services:
  - {name: web, cluster: prod, controller: EXTERNAL, count: 2, image: sim/web:v1, port: 80, targetGroup: web-primary}
`

const rolling = `
services:
  - {name: web, cluster: prod, controller: ECS, count: 2, image: sim/web:v1, port: 80, targetGroup: web-primary}
`

// quick is an AWS that starts and stops tasks without the usual delays.
const quick = "\nknobs: {delays: none}\n"

func newRig(t testing.TB, more string) *rig {
	t.Helper()
	p := newPace()
	s := got(awssim.New(awssim.Options{Clock: p, Seed: 1, Speed: speed, Strict: true}))(t)
	must(t, s.Load("world.yaml", []byte(world+more)))
	at := got(s.Listen(context.Background(), "127.0.0.1:0"))(t)
	t.Cleanup(at.Close)
	p.start(t, func() { _ = at.Flush(context.Background()) })
	cfg := s.Config()
	r := &rig{TB: t, sim: s, clock: p, url: at.URL(), ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg),
		piped: newFake(t)}
	r.plugin = r.launch(r.entry("dt"))
	t.Cleanup(r.end)
	return r
}

func (r *rig) end() {
	r.plugin.kill()
	if r.load != nil {
		r.load.end()
	}
	r.piped.mu.Lock()
	defer r.piped.mu.Unlock()
	for _, w := range r.piped.wrong {
		r.Errorf("piped would refuse: %s", w)
	}
}

// entry is the plugin's entry in piped's configuration.
func (r *rig) entry(targets ...string) string {
	type target struct {
		Name   string         `json:"name"`
		Config map[string]any `json:"config"`
	}
	e := map[string]any{"name": "ecs", "url": "file:///plugin", "port": freePort(r)}
	var all []target
	for _, name := range targets {
		all = append(all, target{name, map[string]any{"region": "us-east-1"}})
	}
	e["deployTargets"] = all
	return string(got(json.Marshal(e))(r))
}

// ports are given out once each, below those that systems give out by themselves: a
// port that is taken before the plugin binds it would lead to another test's plugin.
var ports atomic.Int32

func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 16000 + os.Getpid()%100*100 + int(ports.Add(1))%100
		if l, err := net.Listen("tcp", fmt.Sprintf("localhost:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// environ is what the plugin inherits from piped.
func (r *rig) environ() []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL="+r.url, "AWS_ACCESS_KEY_ID="+r.sim.Account(),
		"AWS_SECRET_ACCESS_KEY=sim",
		"AWS_DISABLE_HOST_PREFIX_INJECTION=true", "AWS_EC2_METADATA_DISABLED=true",
		fmt.Sprintf("SLUICE_SPEED=%d", speed))
}

// process is the plugin at work.
type process struct {
	entry string
	cmd   *exec.Cmd
	out   *bytes.Buffer
	ended chan struct{}
	conn  *grpc.ClientConn
	contract.DeploymentServiceClient
	live    contract.LivestateServiceClient
	preview contract.PlanPreviewServiceClient
}

// launch starts the plugin exactly as piped does and waits until it answers.
func (r *rig) launch(entry string) *process {
	r.Helper()
	p := &process{entry: entry, out: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd = exec.Command(binary, "start", "--piped-plugin-service", r.piped.addr, "--config", entry)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = r.environ(), p.out, p.out
	must(r, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	p.dial(r)
	return p
}

// often is how a piped that waits for its plugin looks for it.
var often = grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond,
	Multiplier: 1, MaxDelay: 20 * time.Millisecond}, MinConnectTimeout: time.Second})

func (p *process) dial(t testing.TB) {
	t.Helper()
	var e struct{ Port int }
	must(t, json.Unmarshal([]byte(p.entry), &e))
	p.conn = got(grpc.NewClient(fmt.Sprintf("passthrough:///localhost:%d", e.Port),
		grpc.WithTransportCredentials(insecure.NewCredentials()), often))(t)
	p.DeploymentServiceClient = contract.NewDeploymentServiceClient(p.conn)
	p.live, p.preview = contract.NewLivestateServiceClient(p.conn), contract.NewPlanPreviewServiceClient(p.conn)
	stages, err := p.FetchDefinedStages(context.Background(), &contract.FetchDefinedStagesRequest{},
		grpc.WaitForReady(true))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.out)
	}
	want := 6
	want += strings.Count(p.entry, `"analysis":true`) + strings.Count(p.entry, `"wait":true`)
	if len(stages.GetStages()) != want {
		t.Fatalf("stages %q", stages.GetStages())
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.conn.Close()
}

// restart is what a piped that is started again does.
func (r *rig) restart() {
	r.Helper()
	r.plugin.kill()
	r.plugin = r.launch(r.plugin.entry)
}

// load sends requests to the load balancer all along, one after the other.
type load struct {
	clock        *pace
	sent, failed atomic.Int64
	first        sync.Once
	why          string
	state        func() string
	quit, done   chan struct{}
	mu           sync.Mutex
	answers      map[string]int // by version
}

// versions are how many requests each version has answered.
func (l *load) versions() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.answers)
}

func (r *rig) flow() {
	at := ""
	for _, lb := range r.sim.View().Regions[0].LoadBalancers {
		at = lb.Listeners[0].Bound
	}
	l := &load{clock: r.clock, state: r.state, answers: map[string]int{}, quit: make(chan struct{}),
		done: make(chan struct{})}
	r.load = l
	go l.run("http://" + at + "/")
}

func (l *load) run(url string) {
	defer close(l.done)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-l.quit
		cancel()
	}()
	for l.clock.Sleep(ctx, compareApplications) == nil {
		l.clock.request(func() { l.one(client, url) })
	}
}

func (l *load) one(client *http.Client, url string) {
	l.sent.Add(1)
	resp, err := client.Get(url)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		l.mu.Lock()
		l.answers[resp.Header.Get("X-Sim-Version")]++
		l.mu.Unlock()
		if resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
	}
	if err != nil {
		l.failed.Add(1)
		l.first.Do(func() { l.why = err.Error() + " when it stood so: " + l.state() })
	}
}

func (l *load) end() {
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	<-l.done
}

// noneLost ends the load and wants every request answered.
func (r *rig) noneLost() {
	r.Helper()
	r.load.end()
	if n := r.load.failed.Load(); n > 0 {
		r.Errorf("%d of %d requests failed, the first: %s", n, r.load.sent.Load(), r.load.why)
	}
	if r.load.sent.Load() == 0 {
		r.Error("no request was sent")
	}
}

// state is what stands: "PRIMARY sim/web:v2 100% 2 running; primary 100 canary 0".
func (r *rig) state() string {
	region := r.sim.View().Regions[0]
	var all []string
	for _, c := range region.Clusters {
		for _, s := range c.Services {
			for _, ts := range s.TaskSets {
				n, image := 0, ""
				for _, task := range ts.Tasks {
					if task.Status == "RUNNING" && task.Desired == "RUNNING" {
						n++
						image = task.Images[0]
					}
				}
				if n > 0 || ts.Status != "DRAINING" && ts.Status != "INACTIVE" {
					all = append(all, fmt.Sprintf("%s %s %g%% %d running", ts.Status, image, ts.Scale, n))
				}
			}
		}
	}
	for _, w := range region.LoadBalancers[0].Listeners[0].Rules[0].Weights {
		name := strings.Split(w.Group, "/")[1]
		all = append(all, fmt.Sprintf("%s %d", strings.TrimPrefix(name, "web-"), w.Weight))
	}
	return strings.Join(all, "; ")
}

func (r *rig) want(state string) {
	r.Helper()
	if now := r.state(); now != state {
		r.Errorf("%s\nwant %s", now, state)
	}
}

// serves is the state when a version serves alone.
func serves(version string) string {
	return "PRIMARY sim/web:" + version + " 100% 2 running; primary 100; canary 0"
}
