package piped_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/smithy-go/middleware"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// point is where a plugin dies: before or after its n-th write to AWS, or before or
// after its n-th save. After a write is between the call and its answer: AWS has
// done it, and the plugin never hears of it.
type point struct {
	save, after bool
	refused     bool   // nobody dies: piped cannot save it
	cancelled   bool   // nobody dies: somebody cancels the deployment
	outage      string // nobody dies: AWS answers the n-th call, and those after it, in this way; see package fault
	n           int    // from 1; 0: nowhere
}

func (p point) String() string {
	what := map[bool]string{true: "save", false: "write"}[p.save]
	switch {
	case p.n == 0:
		return "not killed"
	case p.outage != "":
		return fmt.Sprintf("%s from call %d on", p.outage, p.n)
	case p.refused:
		return fmt.Sprintf("%s %d refused", what, p.n)
	}
	does, when := map[bool]string{true: "cancelled", false: "killed"}[p.cancelled],
		map[bool]string{true: "after", false: "before"}[p.after]
	return fmt.Sprintf("%s %s %s %d", does, when, what, p.n)
}

// killed is what a plugin's actors end with.
type killed struct{}

// life is one process of the plugin: the clock that it sees, its way to AWS and its
// way to piped. Once dead, whatever goes through them ends without effect. It is a
// [clock.Clock] and a [contract.PluginServiceClient].
type life struct {
	contract.PluginServiceClient // of what no stage calls
	real                         clock.Clock
	fake                         *fake
	at                           point
	calls, writes, saves         int
	dead                         bool
	cancel                       func() // the stage
	inject                       func(fault string)
	wrote                        func(operation string) // told after each write; may be nil
	over                         bool                   // it was cancelled
}

func (l *life) alive() {
	if l.dead {
		panic(killed{})
	}
}

func (l *life) die() {
	if l.at.cancelled {
		l.over = true
		l.cancel()
		return
	}
	l.dead = true
	panic(killed{})
}

// around stands around each save and each write.
func (l *life) around(here bool, do func() error) error {
	l.alive()
	if here && l.at.refused {
		return status.Error(codes.FailedPrecondition, "the control plane is away")
	}
	if here && !l.at.after {
		l.die()
	}
	err := do()
	if here {
		l.die()
	}
	return err
}

func (l *life) Now() time.Time {
	l.alive()
	return l.real.Now()
}

func (l *life) Sleep(ctx context.Context, d time.Duration) error {
	l.alive()
	err := l.real.Sleep(ctx, d)
	l.alive()
	return err
}

func (l *life) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l.alive()
	return l.real.WithTimeout(ctx, d)
}

func (l *life) NetworkTime(d time.Duration) time.Duration { return l.real.NetworkTime(d) }

func (l *life) Go(f func()) {
	l.alive()
	l.real.Go(func() {
		defer func() { rest(recover()) }()
		f()
	})
}

// rest lets a death be, and nothing else.
func rest(r any) {
	if _, ok := r.(killed); r != nil && !ok {
		panic(r)
	}
}

// middleware stands where each attempt at a call of AWS is sent.
func (l *life) middleware(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("Mortal",
		func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
			out middleware.SerializeOutput, meta middleware.Metadata, err error,
		) {
			l.calls++
			if l.at.outage != "" && l.at.n == l.calls {
				l.inject(l.at.outage)
			}
			here := false
			if account.IsWrite(middleware.GetOperationName(ctx)) {
				l.writes++
				here = !l.at.save && l.at.outage == "" && l.at.n == l.writes
			}
			err = l.around(here, func() error {
				out, meta, err = next.HandleSerialize(ctx, in)
				return err
			})
			if operation := middleware.GetOperationName(ctx); err == nil && l.wrote != nil && account.IsWrite(operation) {
				l.wrote(operation)
			}
			return out, meta, err
		}), middleware.Before)
}

// chooseText passes a call on to piped, held against the contract's rules.
func chooseText[In proto.Message, Out any](l *life, ctx context.Context, in In,
	call func(context.Context, In) (Out, error)) (out Out, err error) {
	if err := contracttest.Check(in); err != nil {
		l.fake.mistake("%T: %v", in, err)
		return out, err
	}
	return call(ctx, in)
}

func (l *life) GetDeploymentPluginMetadata(ctx context.Context, in *contract.GetDeploymentPluginMetadataRequest,
	_ ...grpc.CallOption) (*contract.GetDeploymentPluginMetadataResponse, error) {
	l.alive()
	return chooseText(l, ctx, in, l.fake.GetDeploymentPluginMetadata)
}

func (l *life) PutDeploymentPluginMetadata(ctx context.Context, in *contract.PutDeploymentPluginMetadataRequest,
	_ ...grpc.CallOption) (out *contract.PutDeploymentPluginMetadataResponse, err error) {
	l.saves++
	err = l.around(l.at.save && l.at.n == l.saves, func() error {
		out, err = chooseText(l, ctx, in, l.fake.PutDeploymentPluginMetadata)
		return err
	})
	return out, err
}

// What the goroutines of the log and of the page's buttons send is not awaited by a stage, and kills nobody.

func (l *life) PutStageMetadata(ctx context.Context, in *contract.PutStageMetadataRequest,
	_ ...grpc.CallOption) (*contract.PutStageMetadataResponse, error) {
	return chooseText(l, ctx, in, l.fake.PutStageMetadata)
}

func (l *life) ReportStageLogs(ctx context.Context, in *contract.ReportStageLogsRequest,
	_ ...grpc.CallOption) (*contract.ReportStageLogsResponse, error) {
	return chooseText(l, ctx, in, l.fake.ReportStageLogs)
}

func (l *life) ReportStageLogsFromLastCheckpoint(ctx context.Context,
	in *contract.ReportStageLogsFromLastCheckpointRequest,
	_ ...grpc.CallOption) (*contract.ReportStageLogsFromLastCheckpointResponse, error) {
	return chooseText(l, ctx, in, l.fake.ReportStageLogsFromLastCheckpoint)
}

func (l *life) ListStageCommands(ctx context.Context, in *contract.ListStageCommandsRequest,
	_ ...grpc.CallOption) (*contract.ListStageCommandsResponse, error) {
	return chooseText(l, ctx, in, l.fake.ListStageCommands)
}

// here is a plugin in this process, as piped's connection to it.
type here struct {
	contract.DeploymentServiceClient // of what no test here calls
	plugin                           contract.DeploymentServiceServer
}

func (h here) BuildPipelineSyncStages(ctx context.Context, in *contract.BuildPipelineSyncStagesRequest,
	_ ...grpc.CallOption) (*contract.BuildPipelineSyncStagesResponse, error) {
	return h.plugin.BuildPipelineSyncStages(ctx, in)
}

func (h here) BuildQuickSyncStages(ctx context.Context, in *contract.BuildQuickSyncStagesRequest,
	_ ...grpc.CallOption) (*contract.BuildQuickSyncStagesResponse, error) {
	return h.plugin.BuildQuickSyncStages(ctx, in)
}

func (h here) ExecuteStage(ctx context.Context, in *contract.ExecuteStageRequest,
	_ ...grpc.CallOption) (*contract.ExecuteStageResponse, error) {
	return h.plugin.ExecuteStage(ctx, in)
}
