package pulumi

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/sluice-ecs/sluice/internal/buildinfo"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// resourceType is the type token of the one resource.
const resourceType = "sluice:index:WaitForEcsDeployment"

//go:embed schema.json
var schema []byte

// provider serves the engine. Calls for several resources run concurrently.
type provider struct {
	pulumirpc.UnimplementedResourceProviderServer
	judge *watch.Judge

	stopping context.Context
	stop     context.CancelCauseFunc

	mu     sync.Mutex
	engine pulumirpc.EngineClient // nil: no engine, no progress lines
}

func newProvider(j *watch.Judge) *provider {
	p := &provider{judge: j}
	p.stopping, p.stop = context.WithCancelCause(context.Background())
	return p
}

// connectTo sends progress lines to the engine at that address. An empty address is no engine.
func (p *provider) connectTo(address string) error {
	if address == "" {
		return nil
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the engine at %s: %w", address, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine = pulumirpc.NewEngineClient(conn)
	return nil
}

// log shows a line next to the resource. A status line lasts until the next one; others stay.
func (p *provider) log(ctx context.Context, urn string, severity pulumirpc.LogSeverity, isStatus bool, line string) {
	p.mu.Lock()
	engine := p.engine
	p.mu.Unlock()
	if engine == nil {
		return
	}
	// A lost line does not change the verdict.
	_, _ = engine.Log(ctx, &pulumirpc.LogRequest{Severity: severity, Urn: urn, Ephemeral: isStatus,
		Message: printable.Text(line)})
}

// Handshake tells the engine that the provider keeps the marks of secrets.
func (p *provider) Handshake(_ context.Context, r *pulumirpc.ProviderHandshakeRequest) (
	*pulumirpc.ProviderHandshakeResponse, error) {
	return &pulumirpc.ProviderHandshakeResponse{AcceptSecrets: true}, p.connectTo(r.GetEngineAddress())
}

// Attach connects a provider that the user started, for debugging.
func (p *provider) Attach(_ context.Context, r *pulumirpc.PluginAttach) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, p.connectTo(r.GetAddress())
}

// GetPluginInfo returns the version.
func (p *provider) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: version()}, nil
}

// version returns the version as Pulumi needs it, without a v. A build without a tag is 0.0.0.
func version() string { return cmp.Or(buildinfo.Read().Release(), "0.0.0") }

// GetSchema returns the package schema, with the version of this build.
func (p *provider) GetSchema(_ context.Context, r *pulumirpc.GetSchemaRequest) (*pulumirpc.GetSchemaResponse, error) {
	if r.GetVersion() != 0 {
		return nil, status.Errorf(codes.InvalidArgument, "schema format %d is not supported, only 0", r.GetVersion())
	}
	var all map[string]any
	if err := json.Unmarshal(schema, &all); err != nil {
		return nil, err
	}
	all["version"] = version()
	out, err := json.Marshal(all)
	return &pulumirpc.GetSchemaResponse{Schema: string(out)}, err
}

// CheckConfig accepts the configuration of the provider. It has no settings of its own.
func (p *provider) CheckConfig(_ context.Context, r *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: r.GetNews()}, nil
}

// DiffConfig reports no change: no setting affects a wait that has ended.
func (p *provider) DiffConfig(context.Context, *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE}, nil
}

// Configure reports what the provider supports: previews and secrets.
func (p *provider) Configure(context.Context, *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	return &pulumirpc.ConfigureResponse{SupportsPreview: true, AcceptSecrets: true}, nil
}

// Cancel ends all waits immediately. The engine also calls it at every normal end.
func (p *provider) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	p.stop(errCancelled)
	return &emptypb.Empty{}, nil
}

// checkType refuses types that the provider does not have. Engines before 3.100 send only the URN.
func checkType(token, urn string) error {
	if token == "" {
		token = typeOfURN(urn)
	}
	if token == resourceType || token == "" {
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "the provider sluice has no resource %s, only %s", token, resourceType)
}
