package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// leastShapes is how many shapes of services from AWS's documentation are tested at least.
const leastShapes = 30

// noChange begins the line of sluice plan if a service is as its files specify.
const noChange = "\nNo changes. prod/"

// TestShapesOfServicesDeploy takes each service of testdata/shapes through the first hour of a user:
// sluice sim --from builds its local AWS, sluice plan shows the new image, sluice deploy deploys it.
// Afterwards AWS describes what the files specify, and sluice plan shows no change. The files that
// sluice init writes of the service, also in the format of ecspresso, show no change either.
func TestShapesOfServicesDeploy(t *testing.T) {
	noMachine(t)
	names, err := filepath.Glob("testdata/shapes/*.txtar")
	if err != nil || len(names) < leastShapes {
		t.Fatalf("%d shapes: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			b := newShapeBench(t, readArchive(t, name))
			b.clock.Run(func() {
				if b.load() {
					b.deploy()
				}
			})
		})
	}
}

// sluice plan warns about limits that AWS accepts and with which ECS can replace no task.
func TestPlanWarnsThatECSCanReplaceNoTask(t *testing.T) {
	noMachine(t)
	for most, blocked := range map[string]bool{"150": true, "200": false} {
		t.Run("maximumPercent "+most, func(t *testing.T) {
			a := readArchive(t, "testdata/shapes/defaults.txtar")
			for i, f := range a.Files {
				a.Files[i].Data = bytes.Replace(f.Data, []byte(`"desiredCount": 1`), []byte(`"desiredCount": 1, `+
					`"deploymentConfiguration": {"minimumHealthyPercent": 100, "maximumPercent": `+most+`}`), 1)
			}
			b := newShapeBench(t, a)
			b.clock.Run(func() {
				if !b.load() {
					return
				}
				code, out, log := b.sluice("plan", "files", "--region", "us-east-1")
				if code != 0 || strings.Contains(out, "ECS can replace no task") != blocked {
					t.Errorf("exit %d\n%s%s", code, out, log)
				}
			})
		})
	}
}

// shapeBench is one service, its files and its local AWS.
type shapeBench struct {
	t       *testing.T
	clock   *clock.Virtual
	sim     *awssim.Sim
	dir     string // of the folders files and written
	service map[string]any
	images  []string
	refuse  *refusal // what AWS refuses; nil: nothing
}

func newShapeBench(t *testing.T, a *txtar.Archive) *shapeBench {
	b := &shapeBench{t: t, dir: t.TempDir(), clock: clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}
	fail(t, os.Mkdir(filepath.Join(b.dir, "files"), 0o700))
	for _, f := range a.Files {
		fail(t, os.WriteFile(filepath.Join(b.dir, "files", f.Name), f.Data, 0o600))
		switch f.Name {
		case "servicedef.json":
			fail(t, json.Unmarshal(f.Data, &b.service))
		case "taskdef.json":
			var task struct{ ContainerDefinitions []struct{ Image string } }
			fail(t, json.Unmarshal(f.Data, &task))
			for _, c := range task.ContainerDefinitions {
				b.images = append(b.images, c.Image)
			}
		}
	}
	var err error
	b.sim, err = awssim.New(awssim.Options{Clock: b.clock, Seed: 1, Strict: true})
	fail(t, err)
	return b
}

// apiOptions returns the options of the local AWS with the refusal of the test.
func (b *shapeBench) apiOptions(all []func(*middleware.Stack) error) []func(*middleware.Stack) error {
	if b.refuse == nil {
		return all
	}
	refuse := *b.refuse
	return append(slices.Clone(all), func(s *middleware.Stack) error { return s.Deserialize.Add(refuse, middleware.After) })
}

// sluice runs a command and returns its exit code and what it printed.
func (b *shapeBench) sluice(args ...string) (code int, out, log string) {
	cfg := b.sim.Config()
	var stdout, stderr bytes.Buffer
	s, err := session.New(session.Env{
		Args: args, In: strings.NewReader(""), Out: &stdout, Err: &stderr,
		Getenv: func(string) string { return "" }, Clock: b.clock, Rand: rand.NewChaCha8([32]byte{1}),
		HTTPClient: cfg.HTTPClient, APIOptions: b.apiOptions(cfg.APIOptions), Credentials: cfg.Credentials,
		OpenJournal: journal.Open, StateDir: filepath.Join(b.dir, "state"),
		Disk:   session.Disk{Getwd: func() (string, error) { return b.dir, nil }, FS: folder.New},
		Notify: func(chan<- os.Signal) func() { return func() {} }, IgnoreSIGPIPE: func() {},
		Host: "here", User: "ana", PID: 1, IsAlive: func(int) bool { return true },
		IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 },
	})
	if err != nil {
		b.t.Error(err)
		return 1, "", ""
	}
	code = (&program{s}).run(context.Background())
	return code, stdout.String(), stderr.String()
}

// load loads the world that sluice sim --from builds.
func (b *shapeBench) load() bool {
	code, world, log := b.sluice("sim", "--from", "files", "--print-world")
	if code != 0 {
		b.t.Errorf("sim --from: exit %d\n%s", code, log)
		return false
	}
	if err := b.sim.Load("world", []byte(world)); err != nil {
		b.t.Error(err)
		return false
	}
	return true
}

// deploy deploys the files and compares AWS with them.
func (b *shapeBench) deploy() {
	previous := b.describe()
	code, out, log := b.sluice("plan", "files", "--region", "us-east-1")
	if code != 0 || !strings.Contains(out, ":previous") || strings.Contains(out, noChange) {
		b.t.Errorf("the first plan: exit %d\n%s%s", code, out, log)
	}
	if code, out, log = b.sluice("deploy", "files", "--region", "us-east-1"); code != 0 {
		b.t.Errorf("deploy: exit %d\n%s%s", code, out, log)
		return
	}
	s := b.awaitSteady()
	if s.DesiredCount != previous.DesiredCount || s.RunningCount != s.DesiredCount || s.PendingCount != 0 {
		b.t.Errorf("%d of %d tasks run, before the deployment %d", s.RunningCount, s.DesiredCount, previous.DesiredCount)
	}
	b.compareRevision(primaryRevision(s), primaryRevision(previous))
	b.compareService(s)
	b.expectNoChange("files")
	for _, format := range []string{"sluice", "ecspresso", "ecspresso --jsonnet"} {
		dir := strings.ReplaceAll(format, " ", "")
		args := append([]string{"init", dir, "--cluster", "prod", "--service", *s.ServiceName, "--format"},
			strings.Fields(format)...)
		if code, out, log = b.sluice(args...); code != 0 {
			b.t.Errorf("init --format %s: exit %d\n%s%s", format, code, out, log)
			return
		}
		b.expectNoChange(dir)
	}
}

func (b *shapeBench) expectNoChange(dir string) {
	for _, command := range []string{"plan", "diff"} {
		if code, out, log := b.sluice(command, dir, "--region", "us-east-1"); code != 0 || !strings.Contains(out, noChange) {
			b.t.Errorf("%s %s: exit %d\n%s%s", command, dir, code, out, log)
		}
	}
}

// describe returns the service as AWS describes it.
func (b *shapeBench) describe() ecstypes.Service {
	out, err := awsecs.NewFromConfig(b.sim.Config()).DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"), Services: []string{b.service["serviceName"].(string)},
			Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}})
	if err != nil || len(out.Services) != 1 {
		b.t.Errorf("%v %+v", err, out)
		return ecstypes.Service{}
	}
	return out.Services[0]
}

// awaitSteady describes the service after its other tasks have stopped: CodeDeploy terminates them
// after the end of the deployment.
func (b *shapeBench) awaitSteady() ecstypes.Service {
	s := b.describe()
	for end := b.clock.Now().Add(10 * time.Minute); s.RunningCount != s.DesiredCount && b.clock.Now().Before(end); {
		if err := b.clock.Sleep(context.Background(), 10*time.Second); err != nil {
			b.t.Error(err)
			break
		}
		s = b.describe()
	}
	return s
}

// primaryRevision returns the task definition of the PRIMARY deployment or task set.
func primaryRevision(s ecstypes.Service) string {
	for _, d := range s.Deployments {
		if aws.ToString(d.Status) == "PRIMARY" {
			return *d.TaskDefinition
		}
	}
	for _, set := range s.TaskSets {
		if aws.ToString(set.Status) == "PRIMARY" {
			return *set.TaskDefinition
		}
	}
	return ""
}

// compareRevision compares the images of the revision that serves with those of the file.
func (b *shapeBench) compareRevision(arn, previous string) {
	if arn == previous {
		b.t.Errorf("%q still serves", arn)
	}
	out, err := awsecs.NewFromConfig(b.sim.Config()).DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: &arn})
	if err != nil {
		b.t.Error(err)
		return
	}
	var images []string
	for _, c := range out.TaskDefinition.ContainerDefinitions {
		images = append(images, *c.Image)
	}
	if fmt.Sprint(images) != fmt.Sprint(b.images) {
		b.t.Errorf("the images are %v, in the file %v", images, b.images)
	}
}

// compareService compares each member of the service definition with what AWS describes of the
// service, its PRIMARY deployment or its PRIMARY task set.
func (b *shapeBench) compareService(s ecstypes.Service) {
	places := []any{s}
	for _, d := range s.Deployments {
		places = append(places, d)
	}
	for _, set := range s.TaskSets {
		places = append(places, set)
	}
	names := map[string]string{"cluster": "clusterarn", "role": "rolearn"}
	for key, want := range b.service {
		name := key
		if names[key] != "" {
			name = names[key]
		}
		var have []any
		for _, place := range places {
			if v := memberOf(b.t, place, name); v != nil {
				have = append(have, withoutRecord(v))
			}
		}
		if !anyContains(have, want) {
			b.t.Errorf("%s: AWS has %s, the file %s", key, inJSON(have), inJSON(want))
		}
	}
}

// withoutRecord returns a list of tags without the record that sluice keeps of them.
func withoutRecord(list any) any {
	tags, ok := list.([]any)
	if !ok {
		return list
	}
	return slices.DeleteFunc(tags, func(x any) bool {
		tag, _ := x.(map[string]any)
		return tag["Key"] == "sluice:tags"
	})
}

// memberOf returns a member of a value of the SDK, whose names are compared without their case.
func memberOf(t *testing.T, value any, name string) any {
	var all map[string]any
	if err := json.Unmarshal([]byte(inJSON(value)), &all); err != nil {
		t.Error(err)
	}
	for key, v := range all {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

func anyContains(have []any, want any) bool {
	for _, h := range have {
		if contains(h, want) {
			return true
		}
	}
	return false
}

// contains reports whether a described value has all that a file gives. Names of resources are as good
// as their ARNs, and a platform version that AWS chose is as good as LATEST.
func contains(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		for key, w := range want {
			found := false
			for k, v := range h {
				found = found || strings.EqualFold(k, key) && contains(v, w)
			}
			if !found && w != false { // the SDK has no false
				return false
			}
		}
		return true
	case []any:
		h, _ := have.([]any)
		for _, w := range want {
			if !anyContains(h, w) {
				return false
			}
		}
		return len(h) == len(want)
	case string:
		h, _ := have.(string)
		return h == want || strings.HasSuffix(h, "/"+want) || want == "LATEST" && h != ""
	}
	return have == want
}

func inJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
