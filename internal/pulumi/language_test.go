package pulumi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// languageProgram is the name under which the engine starts this test binary as a language: a real engine then
// needs no other one. A program of this language is its configuration: one wait, whose inputs are the
// configuration's values.
const languageProgram = "pulumi-language-sluicetest"

// isLanguage reports whether the engine started this binary as a language.
func isLanguage() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), languageProgram) }

// language runs programs for the engine.
type language struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
}

// serveLanguage serves until the engine ends the process.
func serveLanguage() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	pulumirpc.RegisterLanguageRuntimeServer(s, language{})
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return s.Serve(l)
}

func (language) Handshake(context.Context, *pulumirpc.LanguageHandshakeRequest) (
	*pulumirpc.LanguageHandshakeResponse, error) {
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

func (language) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: "1.0.0"}, nil
}

func (language) GetRequiredPackages(context.Context, *pulumirpc.GetRequiredPackagesRequest) (
	*pulumirpc.GetRequiredPackagesResponse, error) {
	return &pulumirpc.GetRequiredPackagesResponse{}, nil
}

func (language) GetRequiredPlugins(context.Context, *pulumirpc.GetRequiredPluginsRequest) (
	*pulumirpc.GetRequiredPluginsResponse, error) {
	return &pulumirpc.GetRequiredPluginsResponse{}, nil
}

// Run registers the stack, the wait and the outputs. The engine reports what it refuses.
func (language) Run(ctx context.Context, r *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	conn, err := grpc.NewClient("passthrough:///"+r.GetMonitorAddress(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	monitor := pulumirpc.NewResourceMonitorClient(conn)
	stack, err := monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{Type: "pulumi:pulumi:Stack",
		Name: r.GetProject() + "-" + r.GetStack()})
	if err != nil {
		return &pulumirpc.RunResponse{Bail: true}, nil
	}
	limit := &pulumirpc.RegisterResourceRequest_CustomTimeouts{}
	in := programInputs(r)
	if v := in.Fields["limit"]; v != nil {
		limit.Create, limit.Update = v.GetStringValue(), v.GetStringValue()
		delete(in.Fields, "limit")
	}
	wait, err := monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{Custom: true, Object: in,
		Type: "sluice:index:WaitForEcsDeployment", Name: "wait", Parent: stack.GetUrn(), AcceptSecrets: true,
		CustomTimeouts: limit})
	if err != nil {
		return &pulumirpc.RunResponse{Bail: true}, nil
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, name := range []string{"status", "failureMessage", "rolledBackTo"} {
		out.Fields[name] = wait.GetObject().GetFields()[name]
	}
	_, err = monitor.RegisterResourceOutputs(ctx,
		&pulumirpc.RegisterResourceOutputsRequest{Urn: stack.GetUrn(), Outputs: out})
	return &pulumirpc.RunResponse{}, err
}

// programInputs returns the values of the configuration, with the marks of those that are secret.
func programInputs(r *pulumirpc.RunRequest) *structpb.Struct {
	in := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for key, text := range r.GetConfig() {
		var v any = text
		var parsed any
		if json.Unmarshal([]byte(text), &parsed) == nil {
			v = parsed
		}
		if slices.Contains(r.GetConfigSecretKeys(), key) {
			v = secret(v)
		}
		if value, err := structpb.NewValue(v); err == nil {
			in.Fields[key[strings.LastIndexByte(key, ':')+1:]] = value
		}
	}
	return in
}
