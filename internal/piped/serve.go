package piped

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/parent"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// flags are those of `start`. piped passes the first two. Plugins built on PipeCD's SDK accept the
// others, so that a wrapper script keeps working.
type flags struct {
	service string
	config  string
	grace   time.Duration

	tls             bool
	cert, key       string
	reflect         bool
	level, encoding string // ignored: the plugin's own log has a few lines only
	metrics         bool   // ignored: there are none
}

const usage = "usage: piped-plugin-sluice start --piped-plugin-service HOST:PORT --config JSON\n\npiped starts it; " +
	"see docs/pipecd.md\n"

// errUsage means that the usage was already printed.
var errUsage = errors.New("usage")

// readFlags accepts flags before and after the word start.
func readFlags(args []string, to io.Writer) (flags, error) {
	var f flags
	fs := flag.NewFlagSet("piped-plugin-sluice", flag.ContinueOnError)
	fs.SetOutput(to)
	fs.Usage = func() {
		fmt.Fprint(to, usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&f.service, "piped-plugin-service", "", "address where piped serves its plugins, `host:port`")
	fs.StringVar(&f.config, "config", "", "the plugin's entry in piped's configuration, as `JSON`")
	fs.DurationVar(&f.grace, "grace-period", 30*time.Second,
		"how long running calls may take to end when the plugin stops")
	fs.BoolVar(&f.tls, "tls", false, "serve with TLS; piped itself never uses TLS")
	fs.StringVar(&f.cert, "cert-file", "", "certificate for --tls")
	fs.StringVar(&f.key, "key-file", "", "key of that certificate")
	fs.BoolVar(&f.reflect, "enable-grpc-reflection", false, "serve gRPC reflection")
	fs.StringVar(&f.level, "log-level", "info", "ignored")
	fs.StringVar(&f.encoding, "log-encoding", "humanize", "ignored")
	fs.BoolVar(&f.metrics, "metrics", true, "ignored")
	for _, name := range []string{"profile", "profile-debug-logging", "profiler-credentials-file"} {
		fs.Func(name, "ignored", func(string) error { return nil })
	}
	if fs.Parse(args) != nil {
		return f, errUsage
	}
	if fs.Arg(0) != "start" {
		fs.Usage()
		return f, errUsage
	}
	if fs.Parse(fs.Args()[1:]) != nil {
		return f, errUsage
	}
	switch {
	case fs.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case f.service == "":
		return f, errors.New("--piped-plugin-service is not given")
	case f.config == "":
		return f, errors.New("--config is not given")
	}
	return f, nil
}

// Main runs the plugin until it is stopped or piped has ended, and returns the exit code.
func Main(args []string, stderr io.Writer) int {
	stderr = printable.NewWriter(stderr, "", maxLineLength)
	f, err := readFlags(args, stderr)
	if err == nil {
		err = runPlugin(f, stderr)
	}
	if err == nil {
		return 0
	}
	if !errors.Is(err, errUsage) {
		reportError(stderr, err)
	}
	return 1
}

func reportError(to io.Writer, err error) {
	fmt.Fprintf(to, "piped-plugin-sluice: %v\n", err)
	if next := sluice.NextStep(err); next != "" {
		fmt.Fprintf(to, "next: %s\n", pipedAdvice(next))
	}
}

func runPlugin(f flags, stderr io.Writer) error {
	e, err := readEntry(f.config)
	if err != nil {
		return err
	}
	if e.problem != nil {
		reportError(stderr, e.problem)
	}
	c, scaled, err := account.ProcessClock(os.Getenv)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:///"+f.service, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	p := &plugin{entry: e, clock: c, targets: newTargetPool(e, c, connectToAWS(c, scaled)),
		piped: contract.NewPluginServiceClient(conn)}
	l, err := listenOn(e.Port)
	if err != nil {
		return err
	}
	return servePiped(f, p, l)
}

// bindTimeout is how long the port may be in use: a plugin whose piped was killed frees it within a
// second.
const bindTimeout = 20 * time.Second

func listenOn(port int) (net.Listener, error) {
	at := net.JoinHostPort("localhost", strconv.Itoa(port))
	for end := time.Now().Add(bindTimeout); ; time.Sleep(100 * time.Millisecond) {
		l, err := net.Listen("tcp", at)
		if err == nil || time.Now().After(end) {
			return l, err
		}
	}
}

// servePiped serves piped until a signal, or until piped has ended.
func servePiped(f flags, p *plugin, l net.Listener) error {
	stopping, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	options := []grpc.ServerOption{grpc.ChainUnaryInterceptor(makePrintable, endWithServer(stopping))}
	if f.tls {
		creds, err := credentials.NewServerTLSFromFile(f.cert, f.key)
		if err != nil {
			return err
		}
		options = append(options, grpc.Creds(creds))
	}
	s := grpc.NewServer(options...)
	contract.RegisterDeploymentServiceServer(s, p)
	contract.RegisterLivestateServiceServer(s, p)
	contract.RegisterPlanPreviewServiceServer(s, p)
	if f.reflect {
		reflection.Register(s)
	}
	go stopServer(s, stop, f.grace)
	return s.Serve(l)
}

// Reasons why a stage stops without being cancelled.
var (
	errStopped  = errors.New("the plugin is being stopped")
	errOrphaned = errors.New("piped has ended")
)

// orphanGrace is how long a running write may take to end after piped has ended. The next piped
// runs the stage again and must not overlap with this process.
const orphanGrace = 2 * time.Second

// stopServer ends the server on a signal or when piped has ended. It accepts no new call, stops the
// running calls, and cuts them off after the grace period. The port is free immediately.
func stopServer(s *grpc.Server, stop context.CancelCauseFunc, grace time.Duration) {
	signals, orphaned := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		parent.AwaitEnd()
		close(orphaned)
	}()
	select {
	case <-signals:
		stop(errStopped)
	case <-orphaned:
		grace = orphanGrace
		stop(errOrphaned)
	}
	late := time.AfterFunc(grace, s.Stop)
	defer late.Stop()
	s.GracefulStop()
}

// endWithServer makes every call end with the server. A panic ends only its call: piped does not
// restart a plugin that ended.
func endWithServer(stopping context.Context) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, to *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (out any, err error) {
		defer func() {
			if r := recover(); r != nil {
				fmt.Fprintf(printable.NewWriter(os.Stderr, "", maxLineLength), "piped-plugin-sluice: %s: %v\n%s",
					to.FullMethod, r, debug.Stack())
				err = status.Errorf(codes.Internal, "a defect of the plugin, please report it: %v", r)
			}
		}()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stopping, func() { cancel(context.Cause(stopping)) })()
		return handle(ctx, req)
	}
}
