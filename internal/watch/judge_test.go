package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// judge returns a Judge on the bench's world, and the operations that it calls.
func (b *bench) judge(api ...func(*middleware.Stack) error) (*watch.Judge, *[]string) {
	cfg := b.sim.Config()
	calls := &[]string{}
	return watch.NewJudge(account.Config{Clock: b.clock, Credentials: cfg.Credentials, HTTPClient: b.sim.HTTPClient(),
		APIOptions: append(b.sim.APIOptions(), api...),
		OnCall:     func(c account.Call) { *calls = append(*calls, c.Operation) }}, false), calls
}

// request is for the service "web" of the bench.
func request(revision string) watch.Request {
	return watch.Request{Cluster: "prod", Service: "web", TaskDefinition: revision, Timeout: time.Hour,
		Region: here.Region, EndpointURL: awssim.Endpoint}
}

func TestJudgeTellsRollbackFromSuccess(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		j, calls := b.judge()
		r := request("web:1")
		if got, err := j.Wait(context.Background(), r); err != nil || !got.Succeeded() || got.Message != "" {
			t.Errorf("%+v %v", got, err)
		}
		b.deploy("web", b.revision(crash))
		var lines []string
		r = request("web:2")
		r.Report = func(line string) { lines = append(lines, line) }
		got, err := j.Wait(context.Background(), r)
		if err != nil || got.Outcome != sluice.RolledBack || got.RolledBackTo != "web:1" || len(got.Reasons) == 0 ||
			!strings.Contains(got.Reasons[0], "exit code 3") {
			t.Errorf("%+v %v", got, err)
		}
		for _, want := range []string{got.Detail, "\nlog of web: ", "\nnext: "} {
			if !strings.Contains(got.Message, want) {
				t.Errorf("no %q in %q", want, got.Message)
			}
		}
		if text := strings.Join(lines, "\n"); !strings.Contains(text, "web:2: ") || !strings.Contains(text, "exit code 3") {
			t.Errorf("lines: %s", text)
		}
		if !slices.Contains(*calls, "DescribeServices") {
			t.Errorf("calls: %q", *calls)
		}
	})
}

// A forced deployment of the revision that serves is not taken for its earlier success, although the first read
// is from before it.
func TestJudgeReadsAnEndOfTheFirstPollAgain(t *testing.T) {
	for _, x := range []struct {
		lag, latency time.Duration // of the reads: their age when AWS answers, and the time that the answer takes
		started      bool
		want         sluice.Outcome
	}{
		{2 * time.Second, 0, false, sluice.Succeeded},
		{2 * time.Second, 0, true, sluice.TimedOut},
		{9 * time.Second, 0, true, sluice.TimedOut},
		{9 * time.Second, 10 * time.Second, true, sluice.TimedOut},
	} {
		on(t, options{}, func(b *bench) {
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1, breaker: true, rollback: true})
			b.sleep(x.lag + time.Second) // the stale read is from after the end of the first deployment
			must(b, b.sim.Inject(fmt.Sprintf("stale ecs:DescribeServices by=%s", x.lag)))
			must(b, b.sim.Inject("no-capacity prod"))
			b.deploy("web", "")
			reads := 0
			j, _ := b.judge(b.slowCalls(func(operation string) (there, back time.Duration) {
				if operation != "DescribeServices" {
					return 0, 0
				}
				if reads++; reads == 1 {
					return 0, 0
				}
				return 0, x.latency
			}))
			r := request("web:1")
			r.JustStarted, r.Timeout = x.started, time.Minute
			got, err := j.Wait(context.Background(), r)
			if err != nil || got.Outcome != x.want {
				t.Errorf("%+v: %+v %v", x, got, err)
			}
		})
	}
}

// Waits of one account, role and Region share a role session and reads; another Region has its own.
func TestJudgeSharesAccounts(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		j, calls := b.judge()
		r := request("web:1")
		r.AssumeRole = "arn:aws:iam::123456789012:role/reader"
		for range 3 {
			if got, err := j.Wait(context.Background(), r); err != nil || !got.Succeeded() {
				t.Errorf("%+v %v", got, err)
			}
		}
		assumed := slices.DeleteFunc(slices.Clone(*calls), func(c string) bool { return c != "AssumeRole" })
		if len(assumed) != 1 {
			t.Errorf("the role was assumed %d times: %q", len(assumed), *calls)
		}
		r.Region = "eu-west-1"
		if _, err := j.Wait(context.Background(), r); err == nil {
			t.Error("a Region without the cluster gave a verdict")
		}
	})
}

func TestJudgeEndsWithItsContext(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.create("web", b.revision("sim/web:v1?start-delay=10m"), rolling{desired: 1})
		j, _ := b.judge()
		ctx, cancel := context.WithCancelCause(context.Background())
		stopped := errors.New("stopped by the engine")
		b.clock.Go(func() {
			b.sleep(10 * time.Second)
			cancel(stopped)
		})
		began := b.clock.Now()
		got, err := j.Wait(ctx, request("web:1"))
		if took := b.clock.Now().Sub(began); !errors.Is(err, stopped) || got.Outcome != "" || took != 10*time.Second {
			t.Errorf("%+v %v after %s", got, err, took)
		}
	})
}

// Lines of a container's log reach state files and screens of other tools: without escape bytes and secrets.
func TestJudgeReturnsPrintableTexts(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision(crash+"&prints=\x1b[2Jgone|DB_PASSWORD=correct-horse-battery"))
		j, _ := b.judge()
		var all []string
		r := request("web:2")
		r.Report = func(line string) { all = append(all, line) }
		got, err := j.Wait(context.Background(), r)
		if err != nil || !strings.Contains(got.Message, "log of web: ") {
			t.Fatalf("%+v %v", got, err)
		}
		text := strings.Join(append(all, got.Message, got.Detail, strings.Join(got.Reasons, "\n")), "\n")
		for _, never := range []string{"\x1b", "correct-horse-battery"} {
			if strings.Contains(text, never) {
				t.Errorf("%q in %q", never, text)
			}
		}
	})
}
