package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// applications writes a folder for each name, and a world with their rolling services at v1.
func applications(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: applications name...")
	}
	ts.Check(writeApplications(ts.MkAbs("."), args))
}

const worldHead = `account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0]
images:
  sim/web:broken: {crash-after: 3s, exit: 1, healthy-after: 1h}
clusters: [prod]
services:
`

func writeApplications(dir string, names []string) error {
	files := map[string]string{"world.yaml": worldHead}
	for _, folder := range names {
		n := path.Base(folder)
		files["world.yaml"] += fmt.Sprintf(
			"  - {name: %s, cluster: prod, controller: ECS, count: 2, breaker: true, image: sim/web:v1}\n", n)
		files[folder+"/sluice.yaml"] = "name: " + n + "\nregion: us-east-1\ncluster: prod\ninput:\n" +
			"  taskDefinitionFile: taskdef.yaml\n  serviceDefinitionFile: servicedef.yaml\n"
		files[folder+"/servicedef.yaml"] = "serviceName: " + n + "\nlaunchType: FARGATE\n" +
			"networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}}\n"
		files[folder+"/taskdef.yaml"] = "family: " + n + "\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\n" +
			"cpu: \"256\"\nmemory: \"512\"\ncontainerDefinitions: [{name: app, image: \"sim/web:v2\", essential: true}]\n"
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// reset restores the world of the local AWS.
func reset(ts *testscript.TestScript, neg bool, args []string) { ts.Check(theSim(ts).Reset()) }

// killPoints are the writes of one process that deploys three applications: each makes four.
var killPoints = []string{"before #1", "after #3", "before #5", "after #6", "before #8", "after #9", "after #11"}

// TestSeveralKilledAndResumed kills a process that deploys three applications at once. A resume of
// each deployment that it has recorded, and a deploy of all, end as if it had not been killed.
func TestSeveralKilledAndResumed(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	for _, at := range killPoints {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			m := newSeveralMachine(t)
			if m.run(t, at, "deploy", "web", "api", "worker"); m.kills != 1 {
				t.Fatalf("killed %d times\n%s", m.kills, &m.said)
			}
			for _, d := range m.openDeployments(t) {
				m.run(t, "never #0", "resume", d.Service)
			}
			m.run(t, "never #0", "deploy", "web", "api", "worker")
			if open := m.openDeployments(t); len(open) > 0 {
				t.Errorf("not ended: %+v\n%s", open, &m.said)
			}
			m.checkEnd(t)
		})
	}
}

// severalMachine is a local AWS and a folder with three applications.
type severalMachine struct {
	dir   string
	sim   *awssim.Sim
	at    *awssim.Listening
	kills int
	said  strings.Builder
}

func newSeveralMachine(t *testing.T) *severalMachine {
	m := &severalMachine{dir: t.TempDir()}
	failOn(t, writeApplications(m.dir, []string{"web", "api", "worker"}))
	world, err := os.ReadFile(filepath.Join(m.dir, "world.yaml"))
	failOn(t, err)
	m.sim, err = awssim.New(awssim.Options{Clock: clock.Scaled(speed), Seed: 1, Speed: speed, Strict: true})
	failOn(t, err)
	failOn(t, m.sim.Load("world.yaml", world))
	m.at, err = m.sim.Listen(context.Background(), "127.0.0.1:0")
	failOn(t, err)
	t.Cleanup(m.at.Close)
	return m
}

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *severalMachine) journal() string { return filepath.Join(m.dir, "journal.sqlite") }

// run runs sluice to its end, which may be a kill.
func (m *severalMachine) run(t *testing.T, kill string, args ...string) {
	t.Helper()
	cmd := exec.Command("sluice", append(args, "--state", m.journal())...)
	cmd.Dir = m.dir
	cmd.Env = append(machine(), killAt+"="+kill, "AWS_ENDPOINT_URL="+m.at.URL(),
		"AWS_ACCESS_KEY_ID=123456789012", "AWS_SECRET_ACCESS_KEY=sim", "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+m.dir+"/none",
		"AWS_SHARED_CREDENTIALS_FILE="+m.dir+"/none", fmt.Sprintf("SLUICE_SPEED=%d", speed))
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&m.said, "$ sluice %s\n%s%v\n", strings.Join(args, " "), out, err)
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if !cmd.ProcessState.Exited() {
		m.kills++
	}
}

func (m *severalMachine) openDeployments(t *testing.T) []journal.Deployment {
	t.Helper()
	j, err := journal.Open(m.journal(), clock.Real())
	failOn(t, err)
	defer j.Close()
	all, err := j.Deployments(t.Context(), journal.Filter{Open: true})
	failOn(t, err)
	return all
}

// checkEnd fails if a service does not run its second revision, was deployed twice, or is claimed.
func (m *severalMachine) checkEnd(t *testing.T) {
	t.Helper()
	cluster := "prod"
	api := awsecs.NewFromConfig(m.sim.Config())
	for _, name := range []string{"web", "api", "worker"} {
		out, err := api.DescribeServices(t.Context(), &awsecs.DescribeServicesInput{Cluster: &cluster,
			Services: []string{name}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}})
		failOn(t, err)
		list, err := api.ListServiceDeployments(t.Context(), &awsecs.ListServiceDeploymentsInput{Cluster: &cluster,
			Service: &name})
		failOn(t, err)
		s := out.Services[0]
		if !strings.HasSuffix(*s.TaskDefinition, "/"+name+":2") || len(s.Tags) > 0 || s.RunningCount != 2 ||
			len(list.ServiceDeployments) != 2 {
			t.Errorf("%s: %s, %d tasks, %d service deployments, tags %v\n%s", name, *s.TaskDefinition, s.RunningCount,
				len(list.ServiceDeployments), s.Tags, &m.said)
		}
	}
}
