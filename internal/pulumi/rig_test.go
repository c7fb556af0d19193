package pulumi_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	_ "github.com/sluice-ecs/sluice/internal/pulumi" // a changed provider runs its tests again
	"github.com/sluice-ecs/sluice/internal/watch"
)

// binary is the provider as users get it, built once.
var binary string

func TestMain(m *testing.M) {
	if isLanguage() {
		if err := serveLanguage(); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "provider")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pulumi-resource-sluice")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", binary,
		"github.com/sluice-ecs/sluice/cmd/pulumi-resource-sluice")
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
	// speed is how much faster than the machine's time runs.
	speed = 50
	urn   = "urn:pulumi:dev::shop::sluice:index:WaitForEcsDeployment::web"
	crash = "sim/web:v2?crash-after=2s&exit=3"
)

const worldFile = `
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0]
clusters: [prod]
`

// rig is a local AWS over HTTP, the engine's side, and the provider as a process.
type rig struct {
	testing.TB
	sim    *awssim.Sim
	url    string
	ecs    *awsecs.Client
	engine *engine
	cmd    *exec.Cmd
	ended  chan struct{}
	pulumirpc.ResourceProviderClient
}

func newRig(t testing.TB, world string) *rig {
	t.Helper()
	s := got(awssim.New(awssim.Options{Clock: clock.Scaled(speed), Seed: 1, Speed: speed, Strict: true}))(t)
	must(t, s.Load("world.yaml", []byte(world)))
	at := got(s.Listen(context.Background(), "127.0.0.1:0"))(t)
	t.Cleanup(at.Close)
	r := &rig{TB: t, sim: s, url: at.URL(), ecs: awsecs.NewFromConfig(s.Config()), engine: newEngine(t)}
	r.start()
	return r
}

// environ is the environment of the engine.
func (r *rig) environ() []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL="+r.url, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID="+r.sim.Account(), "AWS_SECRET_ACCESS_KEY=sim", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_DISABLE_HOST_PREFIX_INJECTION=true", "AWS_CONFIG_FILE=none", "AWS_SHARED_CREDENTIALS_FILE=none",
		fmt.Sprintf("SLUICE_SPEED=%d", speed))
}

// start starts the provider as the engine does.
func (r *rig) start() {
	r.Helper()
	r.cmd, r.ended = exec.Command(binary, r.engine.address), make(chan struct{})
	r.cmd.Env, r.cmd.Stderr = r.environ(), os.Stderr
	out := got(r.cmd.StdoutPipe())(r)
	must(r, r.cmd.Start())
	line := got(bufio.NewReader(out).ReadString('\n'))(r)
	cmd, ended := r.cmd, r.ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	conn := got(grpc.NewClient("passthrough:///127.0.0.1:"+strings.TrimSpace(line),
		grpc.WithTransportCredentials(insecure.NewCredentials())))(r)
	r.ResourceProviderClient = pulumirpc.NewResourceProviderClient(conn)
	r.Cleanup(func() {
		_ = conn.Close()
		_ = cmd.Process.Kill()
		<-ended
	})
}

// engine serves the engine's log.
type engine struct {
	pulumirpc.UnimplementedEngineServer
	address string
	mu      sync.Mutex
	logs    []*pulumirpc.LogRequest
	onLog   func(*pulumirpc.LogRequest)
	root    string
}

func newEngine(t testing.TB) *engine {
	e := &engine{}
	e.address = serveOn(t, func(s *grpc.Server) { pulumirpc.RegisterEngineServer(s, e) })
	return e
}

// serveOn serves until the test ends.
func serveOn(t testing.TB, register func(*grpc.Server)) (address string) {
	t.Helper()
	l := got(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := grpc.NewServer()
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func (e *engine) Log(_ context.Context, r *pulumirpc.LogRequest) (*emptypb.Empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.logs = append(e.logs, r)
	if e.onLog != nil {
		e.onLog(r)
	}
	return &emptypb.Empty{}, nil
}

func (e *engine) GetRootResource(context.Context, *pulumirpc.GetRootResourceRequest) (
	*pulumirpc.GetRootResourceResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &pulumirpc.GetRootResourceResponse{Urn: e.root}, nil
}

func (e *engine) SetRootResource(_ context.Context, r *pulumirpc.SetRootResourceRequest) (
	*pulumirpc.SetRootResourceResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.root = r.GetUrn()
	return &pulumirpc.SetRootResourceResponse{}, nil
}

// lines returns the logged lines, one text.
func (e *engine) lines() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []string
	for _, l := range e.logs {
		all = append(all, l.GetMessage())
	}
	return strings.Join(all, "\n")
}

// revision registers a task definition of family web and returns its ARN.
func (r *rig) revision(image string) string {
	r.Helper()
	td := got(r.ecs.RegisterTaskDefinition(context.Background(), &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc, Cpu: aws.String("256"),
		Memory: aws.String("512"), RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image)}}}))(r)
	return *td.TaskDefinition.TaskDefinitionArn
}

// breaker is the circuit breaker of a service.
type breaker struct{ enable, rollback bool }

// serve creates the service web and waits until it serves the image.
func (r *rig) serve(image string, b breaker) {
	r.Helper()
	arn := r.revision(image)
	_, err := r.ecs.CreateService(context.Background(), &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("web"), TaskDefinition: &arn, DesiredCount: aws.Int32(2),
		LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: network(),
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(100),
			MaximumPercent: aws.Int32(200), DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{
				Enable: b.enable, Rollback: b.rollback}}})
	must(r, err)
	if out := r.judge(arn); !out.Succeeded() {
		r.Fatalf("%+v", out)
	}
}

// network is that of tasks on Fargate.
func network() *ecstypes.NetworkConfiguration {
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
		Subnets: []string{"subnet-0123456789abcdef0"}}}
}

// judge waits for the revision by the function that the provider uses.
func (r *rig) judge(arn string) watch.Result {
	r.Helper()
	cfg := r.sim.Config()
	j := watch.NewJudge(account.Config{Clock: clock.Scaled(speed), Credentials: cfg.Credentials,
		HTTPClient: r.sim.HTTPClient(), APIOptions: r.sim.APIOptions()}, false)
	return got(j.Wait(context.Background(), watch.Request{Cluster: "prod", Service: "web", TaskDefinition: arn,
		Timeout: time.Hour, Region: cfg.Region, EndpointURL: awssim.Endpoint}))(r)
}

// deploy updates the service; without an ARN it forces a new deployment of the same revision. It returns the ARN
// of the service deployment.
func (r *rig) deploy(arn string) string {
	r.Helper()
	in := &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		ForceNewDeployment: arn == ""}
	if arn != "" {
		in.TaskDefinition = &arn
	}
	return aws.ToString(got(r.ecs.UpdateService(context.Background(), in))(r).Service.CurrentServiceDeployment)
}

// inputs returns the inputs of a wait on the service web, with more of them.
func inputs(t testing.TB, arn string, more map[string]any) *structpb.Struct {
	t.Helper()
	all := map[string]any{"clusterName": "prod", "serviceName": "web", "timeoutMs": 600000, "failOnError": true}
	if arn != "" {
		all["desiredTaskDef"] = arn
	}
	for k, v := range more {
		all[k] = v
	}
	return got(structpb.NewStruct(all))(t)
}
