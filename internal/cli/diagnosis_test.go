package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// brokenVersion is a version that never becomes healthy, and what every screen must show of it.
type brokenVersion struct {
	image string // in the world file
	kind  diagnosis.Kind
	cause string // of a service and of a task that runs to its end
	log   string // its last log line; empty: it never ran, or logs say nothing
	jobs  bool   // a task that runs to its end fails in this way too
	// remedy is the advice of the reason, if it is another one than that of the kind.
	remedy string
}

func (v brokenVersion) advice() string { return cmp.Or(v.remedy, v.kind.Advice()) }

var brokenVersions = map[string]brokenVersion{
	"crash": {"{crash-after: 2s, exit: 3, healthy-after: 1h, prints: \"fatal: DATABASE_URL is not set\"}",
		diagnosis.ExitCode, `(exit code 3 of|exited with 3)`, "fatal: DATABASE_URL is not set", true, ""},
	"oom": {"{oom-after: 2s, healthy-after: 1h, prints: \"heap: 498 of 512 MB\"}", diagnosis.OutOfMemory,
		`137 \(killed: SIGKILL, often out of memory\).*: OutOfMemoryError: Container killed due to memory usage`,
		"heap: 498 of 512 MB", true, ""},
	"platform": {"{exec-format: true}", diagnosis.ExecFormat, `(exit code 1 of|exited with 1)`,
		"exec format error", true, ""},
	"image": {"{noboot: true}", diagnosis.ImageNotFound, `CannotPullContainerError: .*image not found`, "", true, ""},
	"secret": {"{no-secret: true}", diagnosis.SecretUnread,
		`ResourceInitializationError: .*unable to retrieve secret from asm`, "", true,
		"allow secretsmanager:GetSecretValue and ssm:GetParameters on it to the execution role"},
	"health": {"{never-healthy: true}", diagnosis.BalancerHealth,
		`failed ELB health checks in \(target-group web[a-z-]*\): Health checks failed with these codes: \[503\]`, "",
		false, "make the health check path return a code of the target group's matcher; if the program only needs longer, " +
			"raise healthCheckGracePeriodSeconds"},
}

// diagnosisModes are all ways in which sluice follows tasks. Each plays a broken version and returns
// what the terminal shows.
var diagnosisModes = map[string]struct {
	example string
	jobs    bool
	play    func(*diagnosisBench)
}{
	"canary on task sets":        {"canary", false, deployBroken},
	"canary service":             {"beside-rolling", false, deployBroken},
	"rolling":                    {"rolling", false, deployBroken},
	"CodeDeploy":                 {"codedeploy", false, deployBroken},
	"step":                       {"migration", true, deployBroken},
	"standalone task":            {"job", true, func(b *diagnosisBench) { b.sluice("run", "/app") }},
	"wait":                       {"rolling", false, waitForBroken},
	"status":                     {"rolling", false, statusOfBroken},
	"status of task sets":        {"canary", false, statusDuringDeploy},
	"status of a canary service": {"beside-rolling", false, statusDuringDeploy},
}

// TestDiagnosisIsTheSameInEveryMode compares the screens of all modes: cause, last log lines of the
// failed container, advice.
func TestDiagnosisIsTheSameInEveryMode(t *testing.T) {
	noMachine(t)
	for mode, m := range diagnosisModes {
		for name, v := range brokenVersions {
			if m.jobs && !v.jobs {
				continue
			}
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				screen := playBroken(t, m.example, v.image, m.play)
				expectOnScreen(t, screen, "cause", v.cause)
				expectOnScreen(t, screen, "advice", "next: (.*: )?"+regexp.QuoteMeta(v.advice()))
				if v.log != "" {
					expectOnScreen(t, screen, "log", `(?m)(log of \w+: |\w+ \| |^).*`+regexp.QuoteMeta(v.log))
				}
				if t.Failed() {
					t.Log(screen)
				}
			})
		}
	}
}

func expectOnScreen(t *testing.T, screen, what, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(screen) {
		t.Errorf("no %s on the screen: %s", what, pattern)
	}
}

// diagnosisBench is an example with a broken version, in virtual time.
type diagnosisBench struct {
	*testing.T
	clock  *clock.Virtual
	sim    *awssim.Sim
	files  fstest.MapFS
	random io.Reader
	state  string
	out    bytes.Buffer
	runs   int
}

func playBroken(t *testing.T, example, image string, play func(*diagnosisBench)) string {
	t.Helper()
	world := strings.Replace(brokenWorld(t, example), "sim/web:v0: {}", "sim/web:broken: "+image+
		"\n  sim/report:broken: "+image, 1)
	return playInWorld(t, brokenFiles(t, example), world, play)
}

// playInWorld plays commands with the files of an application in folder /app, and returns what the terminal shows.
func playInWorld(t *testing.T, files fstest.MapFS, world string, play func(*diagnosisBench)) string {
	t.Helper()
	b := &diagnosisBench{T: t, clock: clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)),
		random: rand.NewChaCha8([32]byte{1}), state: t.TempDir(), files: files}
	b.clock.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: b.clock, Seed: 1, Strict: true})
		if err != nil {
			t.Error(err)
			return
		}
		if b.sim = sim; sim.Load("world.yaml", []byte(world)) != nil {
			t.Error(sim.Load("world.yaml", []byte(world)))
			return
		}
		play(b)
	})
	return b.out.String()
}

const logConfiguration = `
    logConfiguration:
      logDriver: awslogs
      options:
        {awslogs-group: /ecs/web, awslogs-region: us-east-1, awslogs-stream-prefix: web, awslogs-create-group: "true"}
`

var imageOfVersion = regexp.MustCompile(`image: sim/(web|report):v[12]\n`)

// brokenFiles returns the files of an example, at the broken version and with a log.
func brokenFiles(t *testing.T, example string) fstest.MapFS {
	t.Helper()
	files := exampleFiles(t, example)
	text, image := files["taskdef.yaml"].Data, "image: sim/$1:broken\n"
	if !bytes.Contains(text, []byte("logConfiguration")) {
		image = "image: sim/$1:broken" + logConfiguration
	}
	files["taskdef.yaml"] = &fstest.MapFile{Data: imageOfVersion.ReplaceAll(text, []byte(image))}
	return files
}

// exampleFiles returns the files of an example.
func exampleFiles(t *testing.T, example string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	dir := filepath.Join("../../examples", example)
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range names {
		if text, err := os.ReadFile(filepath.Join(dir, f.Name())); !f.IsDir() && err == nil {
			files[f.Name()] = &fstest.MapFile{Data: text}
		}
	}
	return files
}

// exampleWorld returns the world file of an example.
func exampleWorld(t *testing.T, example string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", example, "world.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// brokenWorld returns the world file of an example with a place for the broken image.
func brokenWorld(t *testing.T, example string) string {
	t.Helper()
	world := regexp.MustCompile(`(?m)^  sim/(web|report):broken:.*\n(    .*\n)*`).ReplaceAllString(exampleWorld(t, example), "")
	if strings.Contains(world, "\nimages:\n") {
		return strings.Replace(world, "\nimages:\n", "\nimages:\n  sim/web:v0: {}\n", 1)
	}
	return strings.Replace(world, "\nclusters:", "\nimages:\n  sim/web:v0: {}\n\nclusters:", 1)
}

// sluice runs one command and adds what it prints to the screen.
func (b *diagnosisBench) sluice(args ...string) {
	b.Helper()
	b.runs++
	pid, cfg := 1000+b.runs, b.sim.Config()
	s, err := session.New(session.Env{
		Args: args, In: strings.NewReader(""), Out: &b.out, Err: &b.out, Getenv: func(string) string { return "" },
		Clock: b.clock, Rand: b.random, HTTPClient: cfg.HTTPClient, APIOptions: cfg.APIOptions,
		Credentials: cfg.Credentials,
		OpenJournal: journal.Open, StateDir: b.state,
		Disk: session.Disk{Getwd: func() (string, error) { return "/work", nil },
			FS: func(string) fs.FS { return b.files }},
		Host: "here", User: "ana", PID: pid, IsAlive: func(p int) bool { return p == pid },
		IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 },
	})
	if err != nil {
		b.Error(err)
		return
	}
	fmt.Fprintf(&b.out, "$ sluice %s\n", strings.Join(args, " "))
	fmt.Fprintf(&b.out, "exit %d\n", (&program{s}).run(context.Background()))
}

func deployBroken(b *diagnosisBench) { b.sluice("deploy", "/app") }

// updateByOthers makes another tool than sluice deploy the broken version.
func (b *diagnosisBench) updateByOthers() {
	b.Helper()
	ctx, api := context.Background(), awsecs.NewFromConfig(b.sim.Config())
	td, err := api.DescribeTaskDefinition(ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	if err != nil {
		b.Error(err)
		return
	}
	c := td.TaskDefinition.ContainerDefinitions
	c[0].Image = aws.String("sim/web:broken")
	c[0].LogConfiguration = &ecstypes.LogConfiguration{LogDriver: ecstypes.LogDriverAwslogs,
		Options: map[string]string{"awslogs-group": "/ecs/web", "awslogs-region": "us-east-1",
			"awslogs-stream-prefix": "web", "awslogs-create-group": "true"}}
	made, err := api.RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"),
		ContainerDefinitions: c, NetworkMode: td.TaskDefinition.NetworkMode, Cpu: td.TaskDefinition.Cpu,
		Memory:                  td.TaskDefinition.Memory,
		RequiresCompatibilities: td.TaskDefinition.RequiresCompatibilities})
	if err != nil {
		b.Error(err)
		return
	}
	_, err = api.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		TaskDefinition: made.TaskDefinition.TaskDefinitionArn,
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{
			DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{}}})
	if err != nil {
		b.Error(err)
	}
}

// statusDuringDeploy shows only the status while a deployment runs.
func statusDuringDeploy(b *diagnosisBench) {
	b.clock.Go(func() {
		var deploy diagnosisBench
		deploy.T, deploy.clock, deploy.sim, deploy.files = b.T, b.clock, b.sim, b.files
		deploy.random, deploy.state = rand.NewChaCha8([32]byte{2}), b.state
		deploy.sluice("deploy", "/app")
	})
	for range 40 {
		if err := b.clock.Sleep(context.Background(), 5*time.Second); err != nil {
			b.Error(err)
		}
		b.sluice("status", "/app")
	}
}

func waitForBroken(b *diagnosisBench) {
	b.updateByOthers()
	b.sluice("wait", "--cluster", "prod", "--service", "web", "--region", "us-east-1")
}

func statusOfBroken(b *diagnosisBench) {
	b.updateByOthers()
	if err := b.clock.Sleep(context.Background(), 3*time.Minute); err != nil {
		b.Error(err)
	}
	b.sluice("status", "/app")
}
