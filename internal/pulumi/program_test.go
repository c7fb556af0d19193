package pulumi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// monitor is a small engine: it creates the resources of @pulumi/aws in the local AWS, forwards those of sluice
// to the provider, and keeps a state between runs of the program.
type monitor struct {
	pulumirpc.UnimplementedResourceMonitorServer
	rig     *rig
	preview bool
	mu      sync.Mutex
	state   map[string]*stored // by URN
	outputs map[string]any     // of the stack
	stop    func(error)        // ends the program, as the engine does after a failure
}

type stored struct {
	id      string
	inputs  *structpb.Struct
	outputs *structpb.Struct
}

func (m *monitor) SupportsFeature(context.Context, *pulumirpc.SupportsFeatureRequest) (
	*pulumirpc.SupportsFeatureResponse, error) {
	return &pulumirpc.SupportsFeatureResponse{}, nil
}

func (m *monitor) SignalAndWaitForShutdown(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

func (m *monitor) RegisterResourceOutputs(_ context.Context, r *pulumirpc.RegisterResourceOutputsRequest) (
	*emptypb.Empty, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outputs = r.GetOutputs().AsMap()
	return &emptypb.Empty{}, nil
}

func (m *monitor) RegisterResource(ctx context.Context, r *pulumirpc.RegisterResourceRequest) (
	*pulumirpc.RegisterResourceResponse, error) {
	urn := "urn:pulumi:dev::shop::" + r.GetType() + "::" + r.GetName()
	m.mu.Lock()
	old := m.state[urn]
	m.mu.Unlock()
	var now *stored
	var err error
	switch {
	case !r.GetCustom():
		return &pulumirpc.RegisterResourceResponse{Urn: urn}, nil
	case strings.HasPrefix(r.GetType(), "aws:"):
		now, err = m.registerAWS(ctx, r.GetType(), r.GetObject())
	default:
		now, err = m.registerOfProvider(ctx, urn, r.GetObject(), old)
	}
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stop(err)
		return nil, err
	}
	if !m.preview {
		m.mu.Lock()
		m.state[urn] = now
		m.mu.Unlock()
	}
	return &pulumirpc.RegisterResourceResponse{Urn: urn, Id: now.id, Object: now.outputs}, nil
}

// registerOfProvider makes the calls of the engine: Check, then Create, or Diff and Update.
func (m *monitor) registerOfProvider(ctx context.Context, urn string, news *structpb.Struct, old *stored) (
	*stored, error) {
	check, err := m.rig.Check(ctx, &pulumirpc.CheckRequest{Urn: urn, News: news})
	if err != nil {
		return nil, err
	}
	if all := check.GetFailures(); len(all) > 0 {
		return nil, fmt.Errorf("%s %s", all[0].GetProperty(), all[0].GetReason())
	}
	now := &stored{inputs: check.GetInputs()}
	if old == nil {
		resp, err := m.rig.Create(ctx, &pulumirpc.CreateRequest{Urn: urn, Properties: now.inputs, Preview: m.preview})
		now.id, now.outputs = resp.GetId(), resp.GetProperties()
		return now, err
	}
	diff, err := m.rig.Diff(ctx, &pulumirpc.DiffRequest{Id: old.id, Urn: urn, Olds: old.outputs, OldInputs: old.inputs,
		News: now.inputs})
	if err != nil || diff.GetChanges() != pulumirpc.DiffResponse_DIFF_SOME {
		return old, err
	}
	resp, err := m.rig.Update(ctx, &pulumirpc.UpdateRequest{Id: old.id, Urn: urn, Olds: old.outputs,
		OldInputs: old.inputs, News: now.inputs, Preview: m.preview})
	now.id, now.outputs = old.id, resp.GetProperties()
	return now, err
}

// registerAWS creates or updates a resource in the local AWS.
func (m *monitor) registerAWS(ctx context.Context, kind string, in *structpb.Struct) (*stored, error) {
	out := &structpb.Struct{Fields: maps.Clone(in.GetFields())}
	now := &stored{id: unknown, inputs: in, outputs: out}
	text := func(name string) *string { return aws.String(in.GetFields()[name].GetStringValue()) }
	if m.preview {
		out.Fields["arn"] = structpb.NewStringValue(unknown)
		return now, nil
	}
	arn, err := "", error(nil)
	switch kind {
	case "aws:ecs/cluster:Cluster":
		var c *awsecs.CreateClusterOutput
		if c, err = m.rig.ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: text("name")}); err == nil {
			arn = *c.Cluster.ClusterArn
		}
	case "aws:ecs/taskDefinition:TaskDefinition":
		var containers []struct{ Image string }
		err = json.Unmarshal([]byte(*text("containerDefinitions")), &containers)
		if err == nil {
			arn = m.rig.revision(containers[0].Image)
		}
	case "aws:ecs/service:Service":
		err = m.ensureService(ctx, *text("cluster"), *text("name"), *text("taskDefinition"))
		arn = *text("name")
	default:
		err = errors.New("no such resource: " + kind)
	}
	now.id = arn
	out.Fields["arn"] = structpb.NewStringValue(arn)
	return now, err
}

func (m *monitor) ensureService(ctx context.Context, cluster, name, arn string) error {
	_, err := m.rig.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: &cluster, Service: &name,
		TaskDefinition: &arn})
	if err == nil {
		return nil
	}
	_, err = m.rig.ecs.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: &cluster, ServiceName: &name,
		TaskDefinition: &arn, DesiredCount: aws.Int32(2), LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: network(), DeploymentConfiguration: &ecstypes.DeploymentConfiguration{
			DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true, Rollback: true}}})
	return err
}

// Packages of the registry that the program needs.
const (
	pulumiPackage     = "@pulumi/pulumi@3.270.0"
	typescriptPackage = "typescript@5.9.3"
)

// nodeModules returns a folder with the packages of the registry. It installs them once per user. The test is
// skipped where that is not possible.
func nodeModules(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: the program of the example needs %s on PATH", program)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("skipped: no folder for npm packages: %v", err)
	}
	dir := filepath.Join(cache, "sluice-tests", "pulumi-3.270.0")
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return modules
	}
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true}`), 0o644))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", pulumiPackage,
		typescriptPackage)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("skipped: npm cannot install %s: %v\n%s", pulumiPackage, err, out)
	}
	must(t, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644))
	return modules
}

// project returns a copy of the example with its packages.
func project(t *testing.T, modules string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("../../examples/pulumi-typescript")))
	must(t, os.CopyFS(filepath.Join(dir, "node_modules/@pulumi/aws"), os.DirFS("testdata/aws")))
	must(t, os.CopyFS(filepath.Join(dir, "node_modules/@sluice-ecs/pulumi"), os.DirFS("../../sdk/nodejs")))
	for _, name := range []string{"@pulumi/pulumi", "typescript"} {
		if err := os.Symlink(filepath.Join(modules, name), filepath.Join(dir, "node_modules", name)); err != nil {
			t.Skipf("skipped: no symbolic links here: %v", err)
		}
	}
	return dir
}

// run runs the program as `pulumi up` or `pulumi preview` does, and returns its output.
func (m *monitor) run(dir, address, image string) (string, error) {
	args := []string{filepath.Join("node_modules", "@pulumi", "pulumi", "cmd", "run"), "--monitor", address,
		"--engine", m.rig.engine.address, "--project", "shop", "--stack", "dev", "--pwd", dir, "--parallel", "4"}
	if m.preview {
		args = append(args, "--dry-run")
	}
	ctx, stop := context.WithCancelCause(context.Background())
	m.mu.Lock()
	m.stop = stop
	m.mu.Unlock()
	cmd := exec.CommandContext(ctx, "node", append(args, ".")...)
	cmd.Dir = dir
	config := fmt.Sprintf(`{"shop:image": %q, "shop:subnets": "[\"subnet-0123456789abcdef0\"]"}`, image)
	cmd.Env = append(m.rig.environ(), "PULUMI_CONFIG="+config, "PULUMI_NODEJS_TYPESCRIPT=true",
		"PULUMI_NODEJS_TRANSPILE_ONLY=true",
		"PULUMI_NODEJS_PROJECT=shop", "PULUMI_NODEJS_STACK=dev")
	out, err := cmd.CombinedOutput()
	if failed := context.Cause(ctx); failed != nil {
		err = failed
	}
	return string(out) + m.rig.engine.lines(), err
}

// The example runs on the real package @pulumi/pulumi: preview, success, a rollback that fails the update, and
// the next update.
func TestExampleProgramOfNode(t *testing.T) {
	modules := nodeModules(t)
	dir := project(t, modules)
	r := newRig(t, worldFile)
	m := &monitor{rig: r, state: map[string]*stored{}}
	address := serveOn(t, func(s *grpc.Server) {
		pulumirpc.RegisterResourceMonitorServer(s, m)
		pulumirpc.RegisterEngineServer(s, r.engine)
	})
	check := exec.Command("node", filepath.Join("node_modules", "typescript", "bin", "tsc"), "--noEmit", "-p", ".")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("types of the example: %v\n%s", err, out)
	}
	m.preview = true
	if out, err := m.run(dir, address, "sim/web:v1"); err != nil {
		t.Fatalf("preview: %v\n%s", err, out)
	}
	m.preview = false
	if out, err := m.run(dir, address, "sim/web:v1"); err != nil || m.outputs["status"] != "COMPLETED" {
		t.Fatalf("first update: %v, %v\n%s", err, m.outputs, out)
	}
	out, err := m.run(dir, address, crash)
	if c := initError(err); !c.kept || !strings.Contains(c.reasons[0], "web:2 was rolled back to web:1") {
		t.Errorf("update that fails: %v\n%s", err, out)
	}
	if out, err := m.run(dir, address, "sim/web:v3"); err != nil || m.outputs["status"] != "COMPLETED" {
		t.Errorf("update after it: %v, %v\n%s", err, m.outputs, out)
	}
}
