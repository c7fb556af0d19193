package pulumi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/parent"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/watch"
)

const usage = "usage: pulumi-resource-sluice [ENGINE-ADDRESS]\n\nThe Pulumi engine starts it; see docs/pulumi.md\n"

const (
	// maxLineLength cuts lines of the provider's own log.
	maxLineLength = 4096
	// maxMessage is the size of a message that the engine may send.
	maxMessage = 400 << 20
	// stopGrace is how long calls may take to end after the provider is stopped.
	stopGrace = 2 * time.Second
)

// Reasons why a wait ends before its verdict.
var (
	errCancelled = errors.New("the Pulumi engine stopped the wait")
	errStopped   = errors.New("the provider was stopped")
	errOrphaned  = errors.New("the Pulumi engine has ended")
)

// Main serves the engine until the engine stops the process or has ended, and returns the exit code. The last
// argument is the engine's address. The only output is the port and a newline.
func Main(args []string, stdout, stderr io.Writer) int {
	stderr = printable.NewWriter(stderr, "", maxLineLength)
	engine := ""
	if n := len(args); n > 0 {
		engine = args[n-1]
	}
	if strings.HasPrefix(engine, "-") {
		fmt.Fprint(stderr, usage)
		return 1
	}
	if err := serve(engine, stdout); err != nil {
		fmt.Fprintf(stderr, "pulumi-resource-sluice: %v\n", err)
		return 1
	}
	return 0
}

func serve(engine string, stdout io.Writer) error {
	c, scaled, err := account.ProcessClock(os.Getenv)
	if err != nil {
		return err
	}
	p := newProvider(watch.NewJudge(account.Config{Clock: c}, scaled))
	if err := p.connectTo(engine); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.ChainUnaryInterceptor(endOnPanic))
	pulumirpc.RegisterResourceProviderServer(s, p)
	go stopServer(s, p)
	fmt.Fprintf(stdout, "%d\n", l.Addr().(*net.TCPAddr).Port)
	return s.Serve(l)
}

// stopServer ends the server on a signal, or when the engine has ended without one.
func stopServer(s *grpc.Server, p *provider) {
	signals, orphaned := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGTERM)
	// An interrupt reaches every process of the terminal. The engine sends Cancel for it.
	signal.Ignore(os.Interrupt)
	go func() {
		parent.AwaitEnd()
		close(orphaned)
	}()
	select {
	case <-signals:
		p.stop(errStopped)
	case <-orphaned:
		p.stop(errOrphaned)
	}
	late := time.AfterFunc(stopGrace, s.Stop)
	defer late.Stop()
	s.GracefulStop()
}

// endOnPanic ends only the call of a panic, not the waits of other resources.
func endOnPanic(ctx context.Context, req any, to *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(printable.NewWriter(os.Stderr, "", maxLineLength), "pulumi-resource-sluice: %s: %v\n%s",
				to.FullMethod, r, debug.Stack())
			err = status.Errorf(codes.Internal, "a defect of the provider, please report it: %v", r)
		}
	}()
	return handle(ctx, req)
}
