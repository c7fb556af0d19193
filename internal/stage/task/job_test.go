package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// bench is a job on the world of the example, with what it emitted and saved.
type bench struct {
	*testing.T
	sim    *awssim.Sim
	job    *Job
	events []sluice.Event
	saved  *Progress
}

// onJob calls f with a job that runs count tasks of an image.
func onJob(t *testing.T, image string, count int, f func(*bench)) {
	t.Helper()
	v := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	text, err := os.ReadFile("../../../examples/job/world.yaml")
	check(t, err)
	v.Run(func() {
		b := &bench{T: t}
		b.sim, err = awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true})
		check(t, err)
		check(t, b.sim.Load("world.yaml", text))
		a, err := account.Open(context.Background(), account.Config{Region: b.sim.Region(),
			Credentials: b.sim.Config().Credentials, EndpointURL: awssim.Endpoint, HTTPClient: b.sim.HTTPClient(),
			APIOptions: b.sim.APIOptions(), Clock: v})
		check(t, err)
		b.job = &Job{Task: &plan.Task{Count: count, Watch: "job"}, Revision: b.register(image),
			Request: runRequest(), Cluster: "prod", Family: "job", StartedBy: "slc-1/run",
			Planned:  sluice.Write{Operation: "ecs:RunTask", Resource: "prod/job"},
			Resource: "prod/job", ProgressDeadline: 10 * time.Minute, Account: a, Clock: v,
			Memory:         Memory{Load: b.load, Save: b.save},
			Emit:           func(e sluice.Event) { b.events = append(b.events, e) },
			Write:          permitted,
			ActionID:       func(name string) sluice.ActionID { return sluice.NewActionID("slc-1", "0 RUN", name) },
			CheckInterrupt: context.Cause, Pause: v.Sleep}
		f(b)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// register registers a definition whose container prints to a log.
func (b *bench) register(image string, sidecars ...string) ecs.Revision {
	all := []ecstypes.ContainerDefinition{logged("job", image)}
	for i, image := range sidecars {
		b.job.Others = append(b.job.Others, fmt.Sprint("side", i))
		all = append(all, logged(b.job.Others[i], image))
	}
	out, err := awsecs.NewFromConfig(b.sim.Config()).RegisterTaskDefinition(context.Background(),
		&awsecs.RegisterTaskDefinitionInput{Family: aws.String("job"), NetworkMode: ecstypes.NetworkModeAwsvpc,
			RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
			Cpu:                     aws.String("256"), Memory: aws.String("512"),
			ContainerDefinitions: all})
	check(b.T, err)
	arn := *out.TaskDefinition.TaskDefinitionArn
	return ecs.Revision{ARN: arn, Name: sluice.RevisionOf(arn)}
}

// logged is a container that prints to a log.
func logged(name, image string) ecstypes.ContainerDefinition {
	return ecstypes.ContainerDefinition{Name: &name, Image: &image, Essential: aws.Bool(true),
		LogConfiguration: &ecstypes.LogConfiguration{LogDriver: ecstypes.LogDriverAwslogs,
			Options: map[string]string{"awslogs-group": "/ecs/job", "awslogs-region": "us-east-1",
				"awslogs-stream-prefix": "job", "awslogs-create-group": "true"}}}
}

func runRequest() *definition.Run {
	r := definition.NewRun()
	r.Input.LaunchType = ecstypes.LaunchTypeFargate
	r.Input.NetworkConfiguration = &ecstypes.NetworkConfiguration{
		AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-0123456789abcdef0"}}}
	return r
}

func permitted(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	_, err := call(account.Permit(ctx, account.Action{ID: "slc-1/0 RUN/run task", Writes: []sluice.Write{a.Actual}}))
	return err
}

func (b *bench) load(context.Context) (Progress, bool, error) {
	if b.saved == nil {
		return Progress{}, false, nil
	}
	return *b.saved, true, nil
}

func (b *bench) save(_ context.Context, p *Progress) error {
	copied := *p
	b.saved = &copied
	return nil
}

// countTasks returns how many tasks of the job the world has or had.
func (b *bench) countTasks() (n int) {
	check(b.T, b.sim.World().Do(world.Key{Account: b.sim.Account(), Region: b.sim.Region()}, func(tx *world.Tx) error {
		for _, t := range tx.Tasks.All() {
			if t.StartedBy == "slc-1/run" {
				n++
			}
		}
		return nil
	}))
	return n
}

func (b *bench) expectTasks(want int) {
	b.Helper()
	if n := b.countTasks(); n != want {
		b.Errorf("the world has %d tasks, want %d", n, want)
	}
}

func TestASecondLaunchStartsNoMoreTasks(t *testing.T) {
	onJob(t, "sim/job:v1-crash-after-20s-exit-3", 12, func(b *bench) {
		_, err := b.job.Launch(context.Background())
		check(t, err)
		p, err := b.job.Launch(context.Background())
		check(t, err)
		b.expectTasks(12)
		err = b.job.Await(context.Background(), p)
		if err == nil || !strings.Contains(err.Error(), "12 of 12 tasks failed") ||
			!strings.Contains(err.Error(), "container job exited with 3") ||
			!strings.Contains(sluice.NextStep(err), "aws logs get-log-events --log-group-name /ecs/job") {
			t.Errorf("ended with %v, next %q", err, sluice.NextStep(err))
		}
		if len(b.saved.Ended) != 12 {
			t.Errorf("saved %d ends of tasks, want 12", len(b.saved.Ended))
		}
	})
}

// The response is lost after AWS has started the tasks, and the process is killed: the next one
// finds them.
func TestTasksOfALostResponseAreFound(t *testing.T) {
	onJob(t, "sim/job:v1-crash-after-20s-exit-0", 2, func(b *bench) {
		b.job.Write = func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
			return errors.Join(permitted(ctx, a, call), errors.New("killed"))
		}
		b.job.Memory.Save = func(ctx context.Context, p *Progress) error {
			if b.saved != nil {
				return errors.New("killed")
			}
			return b.save(ctx, p)
		}
		if _, err := b.job.Launch(context.Background()); err == nil {
			t.Fatal("the first process was not killed")
		}
		b.job.Write, b.job.Memory.Save = permitted, b.save
		p, err := b.job.Launch(context.Background())
		check(t, err)
		b.expectTasks(2)
		if n := countEvents[sluice.Adopted](b.events); n != 2 {
			t.Errorf("%d tasks were adopted, want 2", n)
		}
		check(t, b.job.Await(context.Background(), p))
	})
}

// The response is lost, and the repetition of the call is refused, as with credentials that have expired. The call
// keeps its client token: the next process finds its tasks, or starts them with the same token.
func TestTasksOfALostResponseAreFoundAfterARefusal(t *testing.T) {
	refused := &sluice.Error{Op: "ecs:RunTask", Kind: sluice.Unreachable, Err: errors.New("ExpiredTokenException")}
	for _, arrives := range []bool{false, true} {
		onJob(t, "sim/job:v1-crash-after-20s-exit-0", 2, func(b *bench) {
			var late func() error
			b.job.Write = func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
				if late != nil {
					return refused
				}
				late = func() error { return permitted(context.WithoutCancel(ctx), a, call) }
				return sluice.ErrUnanswered
			}
			_, err := b.job.Launch(context.Background())
			if !errors.Is(err, refused) || !strings.Contains(err.Error(), "may have started tasks") {
				t.Errorf("launch: %v", err)
			}
			if arrives {
				check(t, late())
			}
			b.job.Write = permitted
			p, err := b.job.Launch(context.Background())
			check(t, err)
			if p.Attempt != 1 {
				t.Errorf("call number %d was sent, want the same call again", p.Attempt)
			}
			b.expectTasks(2)
		})
	}
}

// An hour later ECS no longer shows whether the lost call started a task: it is not repeated.
func TestAnOldLostCallIsNotRepeated(t *testing.T) {
	onJob(t, "sim/job:v1-crash-after-20s-exit-0", 1, func(b *bench) {
		b.saved = &Progress{Attempt: 1, Begun: b.job.Clock.Now().Add(-time.Hour), Requested: 1, Unanswered: true}
		_, err := b.job.Launch(context.Background())
		if sluice.KindOf(err) != sluice.NotFound || !strings.Contains(fmt.Sprint(err), "cannot determine whether") {
			t.Errorf("launch: %v", err)
		}
		b.expectTasks(0)
	})
}

func TestAJobWithoutItsValuesStartsNoTask(t *testing.T) {
	onJob(t, "sim/job:v1-crash-after-20s-exit-0", 1, func(b *bench) {
		b.job.Redacted = true
		if _, err := b.job.Launch(context.Background()); sluice.KindOf(err) != sluice.Halted {
			t.Errorf("launch: %v", err)
		}
		b.expectTasks(0)
	})
}

// ECS stops a task as soon as one essential container ends. A watched one that exits with 0 then did not end by itself.
func TestContainerThatECSStoppedHasNotSucceeded(t *testing.T) {
	for _, c := range []struct{ job, side, want string }{
		{"sim/job:v1", "sim/side:v1-crash-after-10s-exit-0",
			"ECS stopped container job, because essential container side0 exited with 0 first"},
		{"sim/job:v1", "sim/side:v1-crash-after-10s-exit-7",
			"ECS stopped container job, because essential container side0 exited with 7 first"},
		{"sim/job:v1-crash-after-20s-exit-0", "sim/side:v1", ""},
		{"sim/job:v1-crash-after-20s-exit-0", "sim/side:v1-crash-after-3h-exit-1", ""},
	} {
		onJob(t, c.job, 1, func(b *bench) {
			b.job.Revision = b.register(c.job, c.side)
			p, err := b.job.Launch(context.Background())
			check(t, err)
			err = b.job.Await(context.Background(), p)
			if code := p.Ended[0].Containers[0].ExitCode; code == nil || *code != 0 {
				t.Errorf("container job of %s and %s: %v", c.job, c.side, p.Ended[0])
			}
			if c.want == "" && err != nil || c.want != "" && !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s with %s: %v, want %q", c.job, c.side, err, c.want)
			}
			if c.want != "" && !strings.Contains(sluice.NextStep(err), "needs essential: false") {
				t.Error(sluice.NextStep(err))
			}
		})
	}
}

// A watched container that failed by itself is named, also if no poll has shown that it ended before an essential one.
func TestContainerThatFailedByItselfIsNamed(t *testing.T) {
	onJob(t, "sim/job:v1-crash-after-300ms-exit-4", 1, func(b *bench) {
		b.job.Revision = b.register("sim/job:v1-crash-after-300ms-exit-4", "sim/side:v1-crash-after-1s-exit-255")
		p, err := b.job.Launch(context.Background())
		check(t, err)
		b.job.Clock.Sleep(context.Background(), 10*time.Minute)
		if err = b.job.Await(context.Background(), p); !strings.Contains(fmt.Sprint(err), "container job exited with 4") {
			t.Error(err)
		}
	})
}

// A lost claim ends the wait within the interval of its checks, and the task keeps running.
func TestALostClaimEndsTheWait(t *testing.T) {
	onJob(t, "sim/job:v1-crash-after-3h-exit-0", 1, func(b *bench) {
		p, err := b.job.Launch(context.Background())
		check(t, err)
		begun, lost := b.job.Clock.Now(), errors.New("the claim is lost")
		b.job.KeepClaim = func(context.Context) error {
			if b.job.Clock.Now().Sub(begun) > 10*time.Minute {
				return lost
			}
			return nil
		}
		if err := b.job.Await(context.Background(), p); !errors.Is(err, lost) {
			t.Fatalf("await: %v", err)
		}
		if took := b.job.Clock.Now().Sub(begun); took > 12*time.Minute {
			t.Errorf("the wait went on for %s", took)
		}
		if countEvents[sluice.Noted](b.events) == 0 || len(b.saved.Ended) > 0 {
			t.Error("nothing says that the task keeps running")
		}
	})
}

func countEvents[E sluice.Event](all []sluice.Event) (n int) {
	for _, e := range all {
		if _, is := e.(E); is {
			n++
		}
	}
	return n
}
