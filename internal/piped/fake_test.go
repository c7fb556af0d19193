package piped_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// fake is piped's side of the contract: it keeps metadata and logs, and holds what
// it is sent against the contract's rules as strictly as piped does.
type fake struct {
	contract.UnimplementedPluginServiceServer

	mu       sync.Mutex
	server   *grpc.Server
	addr     string
	known    map[string]bool // deployments that are planned or run
	metadata map[string]string
	objects  map[string][]byte              // shared objects of applications
	stages   map[string]map[string]string   // metadata by stage
	logs     map[string]*logged             // by stage
	commands map[string][]*contract.Command // of stages, as people pressed buttons
	wrong    []string                       // what piped would have refused or mixed up

	putErr func(key string) error          // a Put that fails
	lost   func(key string) bool           // told before each Put; true: it never came
	put    func(key, value string)         // told after each Put
	line   func(stage string, line string) // told of each new line
}

// logged is the log of a stage.
type logged struct {
	last     int64
	lines    []string
	kept     []string // handed over for good
	complete bool
}

func bareFake() *fake {
	return &fake{known: map[string]bool{}, metadata: map[string]string{}, objects: map[string][]byte{}, stages: map[string]map[string]string{},
		logs: map[string]*logged{}, commands: map[string][]*contract.Command{}}
}

func newFake(t testing.TB) *fake {
	f := bareFake()
	f.start(t, "127.0.0.1:0")
	t.Cleanup(func() { f.stop() })
	return f
}

func (f *fake) start(t testing.TB, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	must(t, err)
	s := grpc.NewServer(grpc.UnaryInterceptor(f.strict))
	contract.RegisterPluginServiceServer(s, f)
	f.mu.Lock()
	f.server, f.addr = s, l.Addr().String()
	f.mu.Unlock()
	go func() { _ = s.Serve(l) }()
}

func (f *fake) stop() {
	f.mu.Lock()
	s := f.server
	f.mu.Unlock()
	s.Stop()
}

// strict answers InvalidArgument as piped's validation does, and remembers it: no
// test expects one.
func (f *fake) strict(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := contracttest.Check(req.(proto.Message)); err != nil {
		f.mistake("%T: %v", req, err)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return handle(ctx, req)
}

func (f *fake) mistake(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

func (f *fake) runs(deployment string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known[deployment] {
		return status.Error(codes.Unknown, "deployment "+deployment+" is not being handled")
	}
	return nil
}

func (f *fake) GetDeploymentPluginMetadata(_ context.Context,
	r *contract.GetDeploymentPluginMetadataRequest) (*contract.GetDeploymentPluginMetadataResponse, error) {
	if err := f.runs(r.GetDeploymentId()); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.metadata[r.GetDeploymentId()+"/"+r.GetPluginName()+"/"+r.GetKey()]
	return &contract.GetDeploymentPluginMetadataResponse{Value: v, Found: ok}, nil
}

func (f *fake) PutDeploymentPluginMetadata(_ context.Context,
	r *contract.PutDeploymentPluginMetadataRequest) (*contract.PutDeploymentPluginMetadataResponse, error) {
	if err := f.runs(r.GetDeploymentId()); err != nil {
		return nil, err
	}
	f.mu.Lock()
	fails, told, lost := f.putErr, f.put, f.lost
	f.mu.Unlock()
	if lost != nil && lost(r.GetKey()) {
		return nil, status.Error(codes.Canceled, "whoever asked is dead")
	}
	f.mu.Lock()
	f.metadata[r.GetDeploymentId()+"/"+r.GetPluginName()+"/"+r.GetKey()] = r.GetValue()
	f.mu.Unlock()
	if told != nil {
		told(r.GetKey(), r.GetValue())
	}
	if fails != nil {
		if err := fails(r.GetKey()); err != nil {
			return nil, status.Error(codes.Unknown, err.Error()) // piped keeps it in memory all the same
		}
	}
	return &contract.PutDeploymentPluginMetadataResponse{}, nil
}

func (f *fake) GetApplicationSharedObject(_ context.Context,
	r *contract.GetApplicationSharedObjectRequest) (*contract.GetApplicationSharedObjectResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	object, ok := f.objects[r.GetApplicationId()+"/"+r.GetPluginName()+"/"+r.GetKey()]
	if !ok {
		return nil, status.Error(codes.NotFound, "the object was not found")
	}
	return &contract.GetApplicationSharedObjectResponse{Object: object}, nil
}

func (f *fake) PutApplicationSharedObject(_ context.Context,
	r *contract.PutApplicationSharedObjectRequest) (*contract.PutApplicationSharedObjectResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[r.GetApplicationId()+"/"+r.GetPluginName()+"/"+r.GetKey()] = r.GetObject()
	return &contract.PutApplicationSharedObjectResponse{}, nil
}

func (f *fake) PutStageMetadata(_ context.Context,
	r *contract.PutStageMetadataRequest) (*contract.PutStageMetadataResponse, error) {
	if err := f.runs(r.GetDeploymentId()); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stages[r.GetStageId()] == nil {
		f.stages[r.GetStageId()] = map[string]string{}
	}
	f.stages[r.GetStageId()][r.GetKey()] = r.GetValue()
	return &contract.PutStageMetadataResponse{}, nil
}

func (f *fake) log(stage string) *logged {
	if f.logs[stage] == nil {
		f.logs[stage] = &logged{}
	}
	return f.logs[stage]
}

func (f *fake) ReportStageLogs(_ context.Context,
	r *contract.ReportStageLogsRequest) (*contract.ReportStageLogsResponse, error) {
	f.mu.Lock()
	l, told := f.log(r.GetStageId()), f.line
	var fresh []string
	for _, b := range r.GetBlocks() {
		if b.GetIndex() <= l.last {
			f.wrong = append(f.wrong, fmt.Sprintf("stage %s: block %d after %d", r.GetStageId(), b.GetIndex(), l.last))
		}
		l.last = b.GetIndex()
		l.lines = append(l.lines, b.GetLog())
		fresh = append(fresh, b.GetLog())
	}
	f.mu.Unlock()
	for _, line := range fresh {
		if told != nil {
			told(r.GetStageId(), line)
		}
	}
	return &contract.ReportStageLogsResponse{}, nil
}

func (f *fake) ReportStageLogsFromLastCheckpoint(_ context.Context,
	r *contract.ReportStageLogsFromLastCheckpointRequest) (*contract.ReportStageLogsFromLastCheckpointResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.log(r.GetStageId())
	for _, b := range r.GetBlocks() {
		l.kept = append(l.kept, b.GetLog())
	}
	l.complete = r.GetCompleted()
	return &contract.ReportStageLogsFromLastCheckpointResponse{}, nil
}

func (f *fake) ListStageCommands(_ context.Context,
	r *contract.ListStageCommandsRequest) (*contract.ListStageCommandsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &contract.ListStageCommandsResponse{Commands: f.commands[r.GetStageId()]}, nil
}

// press is a person who presses a button of a stage.
func (f *fake) press(stage string, button contract.Command_Type) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands[stage] = append(f.commands[stage], &contract.Command{Id: fmt.Sprint(stage, len(f.commands[stage])),
		PipedId: "piped-1", StageId: stage, Commander: "jane", Type: button})
}

// text is the log of a stage.
func (f *fake) text(stage string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.log(stage).lines, "\n")
}

// completeLog tells whether the log was handed over whole.
func (f *fake) completeLog(stage string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.log(stage)
	switch {
	case !l.complete:
		return errors.New("not completed")
	case len(l.lines) == 0:
		return errors.New("empty")
	case len(l.kept) < 1 || l.kept[len(l.kept)-1] != l.lines[len(l.lines)-1]:
		return fmt.Errorf("kept %q of %q", l.kept, l.lines)
	}
	return nil
}

func (f *fake) displayed(stage string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stages[stage]["pipecd/stage-display-metadata"]
}

// values are the metadata by their key.
func (f *fake) values() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.metadata)
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}
