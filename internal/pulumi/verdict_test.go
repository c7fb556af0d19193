package pulumi_test

import (
	"context"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// created is the result of a Create: outputs in any case, the error if the update fails.
type created struct {
	id      string
	out     map[string]any
	kept    bool // in the state, with an initialization error
	reasons []string
	err     error
}

func (r *rig) create(in *structpb.Struct, timeout float64) created {
	resp, err := r.Create(context.Background(), &pulumirpc.CreateRequest{Urn: urn, Properties: in, Timeout: timeout})
	if err != nil {
		return initError(err)
	}
	return created{id: resp.GetId(), out: resp.GetProperties().AsMap()}
}

// initError returns what the engine keeps after an error.
func initError(err error) created {
	c := created{err: err}
	for _, d := range status.Convert(err).Details() {
		if e, ok := d.(*pulumirpc.ErrorResourceInitFailed); ok {
			c.id, c.out, c.kept, c.reasons = e.GetId(), e.GetProperties().AsMap(), true, e.GetReasons()
		}
	}
	return c
}

// expect fails the test unless the wait ended with that outcome and a message with those words.
func (c created) expect(t testing.TB, outcome string, words ...string) {
	t.Helper()
	want := "FAILED"
	if outcome == "succeeded" {
		want = "COMPLETED"
	}
	message, _ := c.out["failureMessage"].(string)
	if c.out["outcome"] != outcome || c.out["status"] != want || c.kept == (outcome == "succeeded") ||
		(message == "") != (outcome == "succeeded") {
		t.Errorf("want %s: %v, kept %v, %v", outcome, c.out, c.kept, c.err)
	}
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("no %q in %q", w, message)
		}
	}
	if c.kept && (len(c.reasons) != 1 || c.reasons[0] != message || c.id != "prod/web") {
		t.Errorf("kept %q for %q, message %q", c.id, c.reasons, message)
	}
}

// The four states of a deployment that the earlier component documents, each read when the wait begins.
func TestFourStatesOfADeployment(t *testing.T) {
	t.Run("completed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, worldFile)
		r.serve("sim/web:v1", breaker{true, true})
		c := r.create(inputs(t, "web:1", nil), 0)
		c.expect(t, "succeeded")
		if c.out["clusterName"] != "prod" || c.out["timeoutMs"] != 600000.0 || c.id != "prod/web" {
			t.Errorf("%v", c)
		}
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, worldFile)
		r.serve("sim/web:v1", breaker{true, false})
		arn := r.revision(crash)
		r.deploy(arn)
		r.judge(arn)
		r.create(inputs(t, arn, nil), 0).expect(t, "failed", "web:2 failed", "exit code 3", "\nnext: ")
	})
	t.Run("rolling back, then rolled back", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, worldFile)
		r.serve("sim/web:v1", breaker{true, true})
		arn := r.revision(crash)
		r.deploy(arn)
		r.create(inputs(t, arn, nil), 0).expect(t, "rolled back", "web:2 was rolled back to web:1", "exit code 3")
		c := r.create(inputs(t, arn, nil), 0)
		c.expect(t, "rolled back", "web:2 was rolled back to web:1")
		if c.out["rolledBackTo"] != "web:1" {
			t.Errorf("%v", c.out)
		}
		if lines := r.engine.lines(); !strings.Contains(lines, "waiting for web:2 of prod/web, at most 10m0s") ||
			!strings.Contains(lines, "exit code 3") {
			t.Errorf("progress: %s", lines)
		}
	})
}

func TestRollbackOfTheSameRevision(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1?start-delay=20s", breaker{true, true})
	current := r.deploy("")
	_, err := r.ecs.StopServiceDeployment(context.Background(), &awsecs.StopServiceDeploymentInput{
		ServiceDeploymentArn: aws.String(current), StopType: ecstypes.StopServiceDeploymentStopTypeRollback})
	must(t, err)
	r.create(inputs(t, "web:1", nil), 0).expect(t, "rolled back", "same revision")
	r.create(inputs(t, "", map[string]any{"deploymentId": current}), 0).expect(t, "rolled back", "same revision")
}

// A crash loop without a circuit breaker ends the wait early, with the cause.
func TestCrashLoopWithoutBreaker(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{})
	arn := r.revision(crash)
	r.deploy(arn)
	r.create(inputs(t, arn, map[string]any{"timeoutMs": 3.6e6}), 0).expect(t, "failed", "exit code 3")

	// With failOnError: false the program reads the outcome.
	c := r.create(inputs(t, arn, map[string]any{"failOnError": false}), 0)
	if c.err != nil || c.out["status"] != "FAILED" || !strings.Contains(c.out["failureMessage"].(string), "exit code 3") {
		t.Errorf("%v", c)
	}
}

// A version whose tasks run and then die again and again is no success: the circuit breaker does not count such deaths. If
// they die later than AWS reports success, bakeMs shows it. A version without a death runs through it.
func TestTasksThatDieLater(t *testing.T) {
	for name, c := range map[string]struct {
		image, outcome string
		bake           int
		texts          []string
	}{
		"early":            {"sim/web:v2?oom-after=25s", "failed", 0, []string{"exit code 137"}},
		"late":             {"sim/web:v2?crash-after=70s&exit=3", "failed", 120000, []string{"exit code 3"}},
		"a good one bakes": {"sim/web:v2", "succeeded", 90000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, worldFile)
			r.serve("sim/web:v1", breaker{true, false})
			arn := r.revision(c.image)
			r.deploy(arn)
			more := map[string]any{}
			if c.bake > 0 {
				more["bakeMs"] = c.bake
			}
			got := r.create(inputs(t, arn, more), 0)
			got.expect(t, c.outcome, c.texts...)
			if c.outcome == "succeeded" && !strings.Contains(r.engine.lines(), "success needs 1m30s of baking") {
				t.Error(r.engine.lines())
			}
		})
	}
}

// The limit is timeoutMs, or customTimeouts.
func TestLimitsOfTheWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	arn := r.revision("sim/web:v2?start-delay=10m")
	r.deploy(arn)
	r.create(inputs(t, arn, map[string]any{"timeoutMs": 20000}), 0).expect(t, "timed out", "20s passed", "web:2")
	r.create(inputs(t, arn, map[string]any{"timeoutMs": 3.6e6}), 15).expect(t, "timed out", "15s passed")
}

func TestMissingServiceIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	arn := r.revision("sim/web:v1")
	r.create(inputs(t, arn, nil), 0).expect(t, "gone", "the service does not exist")
	// A cluster that does not exist gives no verdict, so nothing is kept.
	c := r.create(inputs(t, arn, map[string]any{"clusterName": "shop"}), 0)
	if c.err == nil || c.kept || !strings.Contains(c.err.Error(), "shop") {
		t.Errorf("%v", c)
	}
}

// A newer deployment of another revision is not taken for a failure of this one.
func TestSupersededIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	slow := r.revision("sim/web:v2?start-delay=10m")
	first := r.deploy(slow)
	r.deploy(r.revision("sim/web:v3"))
	r.create(inputs(t, "", map[string]any{"deploymentId": first}), 0).expect(t, "superseded", "web:3")
	r.create(inputs(t, slow, nil), 0).expect(t, "superseded", "web:3")
}

// Reads from before the deployment are no verdict: neither for a new revision nor for the same one once more.
func TestStaleFirstReadsAreTolerated(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	must(t, r.sim.Inject("stale ecs:DescribeServices by=3s"))
	arn := r.revision("sim/web:v2")
	r.deploy(arn)
	before := inputs(t, arn, map[string]any{"triggers": []any{"1"}})
	c := r.create(before, 0)
	c.expect(t, "succeeded")
	forced := r.deploy("")
	_, err := r.ecs.StopServiceDeployment(context.Background(), &awsecs.StopServiceDeploymentInput{
		ServiceDeploymentArn: aws.String(forced), StopType: ecstypes.StopServiceDeploymentStopTypeRollback})
	must(t, err)
	_, err = r.Update(context.Background(), &pulumirpc.UpdateRequest{Id: c.id, Urn: urn, OldInputs: before,
		Olds: got(structpb.NewStruct(c.out))(t), News: inputs(t, arn, map[string]any{"triggers": []any{"2"}})})
	initError(err).expect(t, "rolled back", "same revision")
}

// A stopped provider ends its waits, then itself.
func TestStoppedProviderEnds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{})
	arn := r.revision("sim/web:v2?start-delay=10m")
	r.deploy(arn)
	r.engine.onLog = func(l *pulumirpc.LogRequest) {
		if strings.HasPrefix(l.GetMessage(), "web:2: ") {
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	c := r.create(inputs(t, arn, map[string]any{"timeoutMs": 3.6e6}), 0)
	if status.Code(c.err) != codes.Canceled || c.kept || !strings.Contains(c.err.Error(), "the provider was stopped") {
		t.Errorf("%v", c)
	}
	<-r.ended
}

// A deployment that is named must deploy the revision that is wanted.
func TestNamedDeploymentOfAnotherRevision(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	id := r.deploy(r.revision("sim/web:v2"))
	r.create(inputs(t, "web:2", map[string]any{"deploymentId": id}), 0).expect(t, "succeeded")
	r.create(inputs(t, "web:1", map[string]any{"deploymentId": id}), 0).expect(t, "failed", "deployed web:2, not web:1")
}

func TestRoleIsAssumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{})
	role := map[string]any{"assumeRole": "arn:aws:iam::123456789012:role/deploy"}
	must(t, r.sim.Inject("denied sts:AssumeRole"))
	c := r.create(inputs(t, "web:1", role), 0)
	if c.err == nil || c.kept || !strings.Contains(c.err.Error(), "AssumeRole") ||
		!strings.Contains(c.err.Error(), "\nnext: ") {
		t.Errorf("%v", c)
	}
	r.create(inputs(t, "web:1", nil), 0).expect(t, "succeeded")
	r.sim.ClearFaults()
	r.create(inputs(t, "web:1", role), 0).expect(t, "succeeded")
}

// Cancel ends a wait immediately. Nothing is kept, so the next update waits again.
func TestCancelledWaitEndsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{})
	arn := r.revision("sim/web:v2?start-delay=10m")
	r.deploy(arn)
	var began time.Time
	r.engine.onLog = func(l *pulumirpc.LogRequest) {
		if began.IsZero() && strings.HasPrefix(l.GetMessage(), "web:2: ") {
			began = time.Now()
			go func() { _, _ = r.Cancel(context.Background(), &emptypb.Empty{}) }()
		}
	}
	c := r.create(inputs(t, arn, map[string]any{"timeoutMs": 3.6e6}), 0)
	if status.Code(c.err) != codes.Canceled || c.kept || began.IsZero() || time.Since(began) > 2*time.Second {
		t.Errorf("%v %s after Cancel", c, time.Since(began))
	}
}

// A failed wait is repeated by the next update, also with the same inputs.
func TestFailedWaitIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	arn := r.revision(crash)
	r.deploy(arn)
	in := inputs(t, arn, nil)
	c := r.create(in, 0)
	c.expect(t, "rolled back")
	outputs := got(structpb.NewStruct(c.out))(t)

	diff := got(r.Diff(context.Background(), &pulumirpc.DiffRequest{Id: c.id, Urn: urn, Olds: outputs, OldInputs: in,
		News: in}))(t)
	if diff.GetChanges() != pulumirpc.DiffResponse_DIFF_SOME || len(diff.GetReplaces()) > 0 {
		t.Errorf("a failed wait is not repeated: %v", diff)
	}
	next := inputs(t, r.revision("sim/web:v3"), nil)
	r.deploy("web:3")
	update := got(r.Update(context.Background(), &pulumirpc.UpdateRequest{Id: c.id, Urn: urn, Olds: outputs,
		OldInputs: in, News: next}))(t)
	created{out: update.GetProperties().AsMap()}.expect(t, "succeeded")
	diff = got(r.Diff(context.Background(), &pulumirpc.DiffRequest{Id: c.id, Urn: urn, Olds: update.GetProperties(),
		OldInputs: next, News: next}))(t)
	if diff.GetChanges() != pulumirpc.DiffResponse_DIFF_NONE {
		t.Errorf("a success waits again: %v", diff)
	}
}
