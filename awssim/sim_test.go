package awssim_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	smithy "github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestMain(m *testing.M) {
	if os.Getenv("TASK_PROGRAM") != "" {
		taskProgram()
		return
	}
	goleak.VerifyTestMain(m)
}

var ctx = context.Background()

// hands is a clock that a test moves; nobody may sleep on it but at once.
type hands struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

func newHands() *hands { return &hands{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)} }

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) Sleep(_ context.Context, d time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slept += d
	return nil
}

func (h *hands) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// fast is the machine's clock, running faster.
type fast struct {
	start time.Time
	speed float64
}

func newFast(speed float64) fast { return fast{time.Now(), speed} }

func (f fast) Now() time.Time {
	return f.start.Add(time.Duration(float64(time.Since(f.start)) * f.speed))
}

func (f fast) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(time.Duration(float64(d) / f.speed))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func newSim(t testing.TB, o awssim.Options) *awssim.Sim {
	t.Helper()
	if o.Clock == nil {
		o.Clock = newHands()
	}
	o.Strict = true
	s, err := awssim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func canaryFile(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../examples/canary/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func load(t testing.TB, s *awssim.Sim, file string) {
	t.Helper()
	if err := s.Load("world.yaml", []byte(file)); err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB, s *awssim.Sim) *awssim.Listening {
	t.Helper()
	l, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func TestClientsInProcess(t *testing.T) {
	for name, direct := range map[string]bool{"wire": false, "direct": true} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, awssim.Options{Direct: direct, Account: "123456789012", Region: "eu-west-1"})
			ecs := awsecs.NewFromConfig(s.Config())
			made, err := ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("prod")})
			if err != nil || *made.Cluster.ClusterArn != "arn:aws:ecs:eu-west-1:123456789012:cluster/prod" {
				t.Fatal(made, err)
			}
			list, err := ecs.ListClusters(ctx, &awsecs.ListClustersInput{})
			if err != nil || len(list.ClusterArns) != 1 {
				t.Errorf("%v %v", list, err)
			}
			_, err = ecs.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("none"),
				ServiceName: aws.String("web"), TaskDefinition: aws.String("x")})
			var gone *ecstypes.ClusterNotFoundException
			if !errors.As(err, &gone) {
				t.Errorf("a cluster that is not there: %v", err)
			}
			who, err := awssts.NewFromConfig(s.Config()).GetCallerIdentity(ctx, &awssts.GetCallerIdentityInput{})
			if err != nil || *who.Account != "123456789012" {
				t.Errorf("%v %v", who, err)
			}
			lbs, err := awselb.NewFromConfig(s.Config()).DescribeLoadBalancers(ctx,
				&awselb.DescribeLoadBalancersInput{})
			if err != nil || len(lbs.LoadBalancers) != 0 {
				t.Errorf("%v %v", lbs, err)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	if _, err := awssim.New(awssim.Options{Account: "12"}); err == nil {
		t.Error("an account of two digits was accepted")
	}
}

func TestFaultsStrikeCalls(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	cfg := s.Config()
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	ecs, sts := awsecs.NewFromConfig(cfg), awssts.NewFromConfig(cfg)
	create := func(name string) error {
		_, err := ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String(name)})
		return err
	}
	exists := func(name string) bool {
		out, _ := ecs.DescribeClusters(ctx, &awsecs.DescribeClustersInput{Clusters: []string{name}})
		return out != nil && len(out.Clusters) == 1
	}
	code := func(err error) string {
		var e smithy.APIError
		if errors.As(err, &e) {
			return e.ErrorCode()
		}
		return ""
	}
	for _, c := range []struct {
		fault, code string
		effect      bool
	}{
		{"throttle ecs:CreateCluster times=1", "ThrottlingException", false},
		{"5xx ecs:Create* times=1", "InternalFailure", false},
		{"no-send ecs:CreateCluster times=1", "", false},
		{"lost-reply ecs:CreateCluster times=1", "", true},
		{"expired-credentials times=1", "ExpiredTokenException", false},
	} {
		if err := s.Inject(c.fault); err != nil {
			t.Fatal(err)
		}
		name := strings.Fields(c.fault)[0]
		if err := create(name); err == nil || code(err) != c.code {
			t.Errorf("%s: %v", c.fault, err)
		}
		if got := exists(name); got != c.effect {
			t.Errorf("%s: the cluster exists: %v", c.fault, got)
		}
		if err := create(name); err != nil {
			t.Errorf("%s: again: %v", c.fault, err)
		}
	}
	_ = s.Inject("expired-credentials times=1")
	if _, err := sts.GetCallerIdentity(ctx, &awssts.GetCallerIdentityInput{}); code(err) != "ExpiredToken" {
		t.Errorf("sts: %v", err)
	}
	_ = s.Inject("latency ecs:* by=300ms")
	if exists("5xx"); clock.slept != 300*time.Millisecond {
		t.Errorf("slept %v", clock.slept)
	}
	if err := s.Inject("throtle ecs:*"); err == nil || !strings.Contains(err.Error(), "throtle") {
		t.Errorf("a bad line: %v", err)
	}
	if err := s.Inject("throttle ecs:CreateTaskSets"); err == nil ||
		!strings.Contains(err.Error(), "no operation is called ecs:CreateTaskSets; is ecs:CreateTaskSet meant?") {
		t.Errorf("an operation that is not there: %v", err)
	}
	s.ClearFaults()
	if len(s.Faults()) != 0 {
		t.Errorf("%v", s.Faults())
	}
}

func TestStaleReadAnswersWhatWasTrue(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	_ = s.Inject("stale ecs:ListClusters by=5s")
	ecs := awsecs.NewFromConfig(s.Config())
	clusters := func() int {
		out, err := ecs.ListClusters(ctx, &awsecs.ListClustersInput{})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.ClusterArns)
	}
	clusters()
	clock.move(5 * time.Second)
	if _, err := ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("prod")}); err != nil {
		t.Fatal(err)
	}
	if n := clusters(); n != 0 {
		t.Errorf("at once %d clusters are seen", n)
	}
	s.ClearFaults()
	if n := clusters(); n != 1 {
		t.Errorf("without the fault %d clusters are seen", n)
	}
}

func TestTaskCrashFault(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, string(canaryFile(t)))
	_ = s.Inject("task-crash web count=1 exit=137")
	ecs := awsecs.NewFromConfig(s.Config())
	crashed := func() (n int) {
		list, err := ecs.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod"),
			DesiredStatus: ecstypes.DesiredStatusStopped})
		if err != nil || len(list.TaskArns) == 0 {
			return 0
		}
		out, err := ecs.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("prod"),
			Tasks: list.TaskArns})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range out.Tasks {
			if aws.ToInt32(task.Containers[0].ExitCode) == 137 {
				n++
			}
		}
		return n
	}
	if n := crashed(); n != 1 {
		t.Errorf("%d tasks crashed", n)
	}
	clock.move(5 * time.Minute)
	view := s.View()
	if tasks := view.Regions[0].Clusters[0].Services[0].TaskSets[0].Tasks; len(tasks) != 4 {
		t.Errorf("five minutes later %d tasks stand", len(tasks))
	}
}

// fetch makes a request to the simulator's endpoint.
func fetch(t testing.TB, method, url, body string, change ...func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(got)
}

var _ world.Clock = fast{}
