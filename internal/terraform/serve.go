package terraform

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"

	"github.com/sluice-ecs/sluice/internal/buildinfo"
)

// address names the provider in logs. Terraform itself finds it by the source in required_providers.
const address = "local/sluice-ecs/" + typeName

const usage = "terraform-provider-sluice is a provider that terraform starts; see docs/terraform.md\n"

// Variables that terraform sets when it starts a provider.
const (
	cookieVariable  = "TF_PLUGIN_MAGIC_COOKIE"
	certVariable    = "PLUGIN_CLIENT_CERT"
	muxVariable     = "PLUGIN_MULTIPLEX_GRPC"
	minPortVariable = "PLUGIN_MIN_PORT"
	maxPortVariable = "PLUGIN_MAX_PORT"
)

// maxMessage is the size of the largest message that terraform sends or accepts.
const maxMessage = 256 << 20

// Main serves terraform until it ends the provider, and returns the exit code. It prints the version
// for the argument -version.
func Main(args []string, stdout, stderr io.Writer) int {
	version := buildinfo.Read().Version
	if len(args) == 1 && (args[0] == "-version" || args[0] == "--version") {
		fmt.Fprintln(stdout, "terraform-provider-sluice", version)
		return 0
	}
	if len(args) > 0 || os.Getenv(cookieVariable) == "" {
		fmt.Fprint(stderr, usage)
		return 1
	}
	server, err := providerserver.NewProtocol6WithError(New(version))()
	if err == nil {
		err = serve(server, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "terraform-provider-sluice: %v\n", err)
		return 1
	}
	return 0
}

// serve serves a provider until terraform asks it to end.
//
// It uses the services of go-plugin, but not plugin.Serve. That function can also serve net/rpc, which
// calls methods by name, so the linker would keep all methods of the AWS clients: 14 MB more.
func serve(provider tfprotov6.ProviderServer, stdout io.Writer) error {
	identity, err := newIdentity(os.Getenv(certVariable))
	if err != nil {
		return err
	}
	var transport *grpc.Server
	silent, _ := io.Pipe() // what terraform may read as output of the provider: nothing
	services := &plugin.GRPCServer{
		Plugins: map[string]plugin.Plugin{"provider": &tf6server.GRPCProviderPlugin{Name: address,
			GRPCProvider: func() tfprotov6.ProviderServer { return provider }}},
		Server: func(o []grpc.ServerOption) *grpc.Server {
			transport = grpc.NewServer(append(o, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))...)
			return transport
		},
		TLS: identity.config, Stdout: silent, Stderr: silent,
	}
	if err := services.Init(); err != nil {
		return err
	}
	l, err := listen()
	if err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // ^C also reaches this process; terraform then calls StopProvider
	fmt.Fprintln(stdout, handshakeLine(l.Addr(), identity.certificate))
	return transport.Serve(l)
}

// handshakeLine tells terraform how to connect: version of the handshake, version of the protocol,
// address, and certificate. The last field is only for a terraform that sets muxVariable; this
// provider opens no second connection.
func handshakeLine(at net.Addr, certificate string) string {
	fields := []string{"1", "6", at.Network(), at.String(), "grpc", certificate}
	if os.Getenv(muxVariable) != "" {
		fields = append(fields, "false")
	}
	return strings.Join(fields, "|")
}

// listen listens on a Unix socket, or on Windows on a port.
func listen() (net.Listener, error) {
	if runtime.GOOS == "windows" {
		return listenPort(os.Getenv(minPortVariable), os.Getenv(maxPortVariable))
	}
	f, err := os.CreateTemp(os.Getenv(plugin.EnvUnixSocketDir), "sluice")
	if err != nil {
		return nil, err
	}
	name := f.Name()
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		return nil, err
	}
	return net.Listen("unix", name)
}

// listenPort listens on the first free port of a range, or on any port without a range.
func listenPort(first, last string) (net.Listener, error) {
	if first == "" || last == "" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	var low, high int
	if _, err := fmt.Sscan(first+" "+last, &low, &high); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", minPortVariable, maxPortVariable, err)
	}
	for port := low; port <= high; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no port from %d to %d is free", low, high)
}
