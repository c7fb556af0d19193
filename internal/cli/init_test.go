package cli

import (
	"bytes"
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
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// typist is a terminal on which a person types lines.
type typist struct{ io.Reader }

func (typist) Write(p []byte) (int, error) { return len(p), nil }

// initBench is a local AWS with the world of examples/rolling, and a folder in which commands run.
type initBench struct {
	*testing.T
	sim   *awssim.Sim
	clock *clock.Virtual
	dir   string
	state string
}

func onInitBench(t *testing.T, test func(b *initBench)) {
	t.Helper()
	noMachine(t)
	b := &initBench{T: t, clock: clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)), dir: t.TempDir(), state: t.TempDir()}
	b.clock.Run(func() {
		text, err := os.ReadFile("../../examples/rolling/world.yaml")
		if err != nil {
			t.Error(err)
			return
		}
		if b.sim, err = awssim.New(awssim.Options{Clock: b.clock, Seed: 1, Strict: true}); err == nil {
			err = b.sim.Load("world.yaml", text)
		}
		if err != nil {
			t.Error(err)
			return
		}
		test(b)
	})
}

// run runs a command on a terminal with what a person types. The input ends behind it.
func (b *initBench) run(typed, line string) (code int, screen string) {
	b.Helper()
	return b.runOn(context.Background(), typist{strings.NewReader(typed)}, line)
}

func (b *initBench) runOn(ctx context.Context, in io.Reader, line string) (code int, screen string) {
	b.Helper()
	var out bytes.Buffer
	cfg := b.sim.Config()
	env := session.Env{
		Args: strings.Fields(line), In: in, Out: &out, Err: &out,
		Getenv: func(name string) string { return map[string]string{"AWS_REGION": "us-east-1", "NO_COLOR": "1"}[name] },
		Clock:  b.clock, Rand: rand.NewChaCha8([32]byte{1}), HTTPClient: cfg.HTTPClient, APIOptions: cfg.APIOptions,
		Credentials: cfg.Credentials, OpenJournal: journal.Open, StateDir: b.state,
		Disk: session.Disk{Getwd: func() (string, error) { return b.dir, nil },
			FS: func(dir string) fs.FS { return folder.New(dir) }},
		Host: "here", User: "ana", PID: 1, IsAlive: func(p int) bool { return p == 1 },
		IsTerminal: func(w io.Writer) bool {
			_, typed := w.(typist)
			return typed || w == io.Writer(&out) && strings.HasPrefix(line, "init")
		},
		Size: func(io.Writer) (int, int) { return 0, 0 },
	}
	s, err := session.New(env)
	if err != nil {
		b.Fatal(err)
	}
	code = (&program{s}).run(ctx)
	return code, out.String()
}

// want runs a command and wants its exit code and parts of its screen.
func (b *initBench) want(code int, typed, line string, parts ...string) string {
	b.Helper()
	got, screen := b.run(typed, line)
	if got != code {
		b.Errorf("sluice %s exits with %d, want %d:\n%s", line, got, code, screen)
	}
	for _, part := range parts {
		if !strings.Contains(screen, part) {
			b.Errorf("sluice %s does not print %q:\n%s", line, part, screen)
		}
	}
	return screen
}

func (b *initBench) wantNoFiles() {
	b.Helper()
	if all, _ := os.ReadDir(b.dir); len(all) > 0 {
		b.Errorf("%d files were written, the first is %s", len(all), all[0].Name())
	}
}

func (b *initBench) addClusters(names ...string) {
	b.Helper()
	c := awsecs.NewFromConfig(b.sim.Config())
	for _, name := range names {
		if _, err := c.CreateCluster(context.Background(), &awsecs.CreateClusterInput{ClusterName: aws.String(name)}); err != nil {
			b.Error(err)
		}
	}
}

var createsGroup = regexp.MustCompile(
	`aws elbv2 create-target-group --name (\S+) --protocol (\S+) --port 80 --target-type (\S+) --vpc-id (\S+) --health-check-path (\S+)`)

// After the answers and the printed command, what sluice init wrote deploys a canary.
func TestInitAsks(t *testing.T) {
	for typed, want := range map[string]string{
		"2\n\n":                "with: {canary: 20}",
		"9\nPRO\ncanary\n":     "with: {canary: 20}",
		"prod\n5\n2\n":         "with: {canary: 100}",
		"\nprod\nblue-green\n": "with: {canary: 100}",
	} {
		t.Run(fmt.Sprintf("%q", typed), func(t *testing.T) {
			onInitBench(t, func(b *initBench) {
				b.addClusters("alpha", "zeta")
				screen := b.want(0, typed, "init web", "3 clusters of Region us-east-1:\n  1  alpha\n  2  prod\n  3  zeta\n",
					"service: web, the only one of cluster prod\n", "wrote web/sluice.yaml\n",
					"note: AWS lacks one thing for the pipeline: the target group web-canary\nnext: create it, and set its ARN in web/sluice.yaml: aws ")
				file := filepath.Join(b.dir, "web/sluice.yaml")
				text, err := os.ReadFile(file)
				if err != nil || !strings.Contains(string(text), want) {
					b.Fatalf("sluice.yaml has no %q: %v\n%s", want, err, text)
				}
				m := createsGroup.FindStringSubmatch(screen)
				if m == nil {
					b.Fatalf("no command creates the group:\n%s", screen)
				}
				b.want(1, "", "plan web", m[0])
				made, err := awselb.NewFromConfig(b.sim.Config()).CreateTargetGroup(context.Background(), &awselb.CreateTargetGroupInput{
					Name: &m[1], Protocol: elbtypes.ProtocolEnum(m[2]), Port: aws.Int32(80),
					TargetType: elbtypes.TargetTypeEnum(m[3]), VpcId: &m[4], HealthCheckPath: &m[5]})
				if err != nil {
					b.Fatal(err)
				}
				placeholder := regexp.MustCompile(`arn:\S+/web-canary/\S+`)
				text = placeholder.ReplaceAll(text, []byte(*made.TargetGroups[0].TargetGroupArn))
				if err := os.WriteFile(file, text, 0o644); err != nil {
					b.Fatal(err)
				}
				b.want(0, "", "plan web", "No changes. prod/web is as the files specify.")
				b.want(0, "", "deploy web --image sim/web:v2", "ECS_CANARY_ROLLOUT", "succeeded: prod/web runs web:2")
				b.want(1, "", "init web", "already; nothing was written")
			})
		})
	}
}

// A service without stages lacks nothing: its files deploy as they are.
func TestInitAsksRolling(t *testing.T) {
	onInitBench(t, func(b *initBench) {
		screen := b.want(0, "3\n", "init web", "cluster: prod, the only one of Region us-east-1\n", "next: run sluice plan web")
		if strings.Contains(screen, "target group") {
			b.Errorf("it names a target group:\n%s", screen)
		}
		b.want(0, "", "plan web", "No changes. prod/web is as the files specify.")
		b.want(0, "", "deploy web --image sim/web:v2", "succeeded: prod/web runs web:2")
	})
}

// The flags give what the answers give.
func TestInitPipelineFlag(t *testing.T) {
	onInitBench(t, func(b *initBench) {
		b.want(0, "1\n", "init asked")
		b.want(0, "", "init given --cluster prod --service web --pipeline canary", "aws elbv2 create-target-group --name web-canary ")
		asked, _ := os.ReadFile(filepath.Join(b.dir, "asked/sluice.yaml"))
		given, _ := os.ReadFile(filepath.Join(b.dir, "given/sluice.yaml"))
		if len(asked) == 0 || !bytes.Equal(asked, given) {
			b.Errorf("asked:\n%s\ngiven:\n%s", asked, given)
		}
		b.want(1, "", "init other --cluster prod --service web --pipeline none",
			`--pipeline is "none", but must be canary, blue-green or rolling`)
	})
}

// Nothing is written before the last answer.
func TestInitEndsWithoutAnswer(t *testing.T) {
	onInitBench(t, func(b *initBench) {
		for _, typed := range []string{"", "9\n", "prod", "2\n1", "2\n7\n"} {
			b.addClusters("alpha")
			b.want(1, typed, "init", "the input ended before the last answer; nothing was written")
			b.wantNoFiles()
		}
		b.want(1, "1\n", "init", "cluster alpha has no service; nothing was written")
		b.wantNoFiles()
		ctx, interrupt := context.WithCancelCause(context.Background())
		in, keyboard := io.Pipe() // nobody types
		defer keyboard.Close()
		waits := &noticingReader{Reader: in, read: func() { interrupt(session.ErrInterrupted) }}
		code, screen := b.runOn(ctx, typist{waits}, "init")
		if code != sluice.ExitStopped || !strings.Contains(screen, "interrupted") {
			b.Errorf("Ctrl-C exits with %d:\n%s", code, screen)
		}
		b.wantNoFiles()
	})
}

// noticingReader calls read before it reads.
type noticingReader struct {
	io.Reader
	read func()
}

func (r *noticingReader) Read(p []byte) (int, error) {
	r.read()
	return r.Reader.Read(p)
}

// Of many clusters, a part of the name shows fewer.
func TestInitAsksAmongMany(t *testing.T) {
	onInitBench(t, func(b *initBench) {
		var names []string
		for i := range 230 { // three pages of ListClusters
			names = append(names, fmt.Sprintf("team-%03d", i))
		}
		b.addClusters(names...)
		b.want(0, "team-01\nod\n1\n", "init web", "231 clusters of Region us-east-1:\n  1  prod\n",
			" 20  team-018\n     and 211 more: enter a part of the name\n", "10 clusters of Region us-east-1:\n  1  team-010\n",
			"cluster: prod\n", "wrote web/sluice.yaml")
	})
}

// Without a terminal it asks nothing, and names the candidates.
func TestInitWithoutTerminal(t *testing.T) {
	onInitBench(t, func(b *initBench) {
		for line, want := range map[string]string{
			"init":                "Region us-east-1 has the clusters prod\nnext: give --cluster and --service",
			"init --cluster prod": "cluster prod has web\nnext: give --service too",
		} {
			code, screen := b.runOn(context.Background(), strings.NewReader("1\n1\n1\n"), line)
			if code != 1 || !strings.Contains(screen, want) || strings.Contains(screen, "Enter") {
				b.Errorf("sluice %s exits with %d:\n%s", line, code, screen)
			}
			b.wantNoFiles()
		}
	})
}
