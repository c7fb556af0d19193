package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/policy"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// grants is one deployment of an example, with its policy and what it asked IAM for.
type grants struct {
	t         *testing.T
	files     fs.FS
	file      string
	world     []byte
	edit      func(string) string // of every file
	tasks     *int                // --tasks
	amid      bool                // a person asks for a rollback as soon as ECS was asked for the deployment
	back      int                 // a person asks for a rollback when so many stages have ended; 0: nobody does
	after     bool                // a rollback of the deployment that succeeded
	scale     appfile.Scaling
	policy    policy.Document
	stages    int
	service   string
	allows    bool              // onUnhealthyRoute: allow
	seldom    map[string]string // writes that no course here makes, with when they are made
	requested []requestedCall   // without repetitions
	ended     engine.RunResult
	id        string
}

// requestedCall is an action on a resource.
type requestedCall struct{ action, resource string }

// play deploys, and rolls back where that is asked for.
func (g *grants) play() {
	// The world begins after real now: the SDK compares credentials with that.
	v := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	v.Run(func() {
		if err := g.run(v); err != nil {
			g.t.Fatal(err)
		}
	})
}

func (g *grants) run(v *clock.Virtual) error {
	ctx := context.Background()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true})
	if err != nil {
		return err
	}
	if err := sim.Load("world.yaml", g.world); err != nil {
		return err
	}
	a, err := account.Open(ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
		EndpointURL: awssim.Endpoint,
		HTTPClient:  sim.HTTPClient(), APIOptions: append(sim.APIOptions(), g.attach), Clock: v})
	if err != nil {
		return err
	}
	j, err := journal.Open(journal.Memory, v)
	if err != nil {
		return err
	}
	defer j.Close()
	app, err := appfile.Load(changedFiles{g.files, func(b []byte) []byte { return []byte(g.edit(string(b))) }}, g.file,
		nil)
	if err != nil {
		return err
	}
	app.Scaling = app.Scaling.With(g.scale)
	if g.allows {
		app.OnUnhealthyRoute = sluice.AllowRoute
	}
	live, err := survey.ReadInputs(ctx, a, v, app)
	if err != nil {
		return err
	}
	p, err := mode.Make(app, live, mode.Options{Scaling: g.scale, Tasks: g.tasks})
	if err != nil {
		return err
	}
	if g.policy, err = policy.ForPlan(p, live); err != nil {
		return err
	}
	g.stages, g.service = len(p.Stages), p.Service
	e := &engine.Engine{Journal: j, Account: a, Clock: v, Owner: "test/1", NewID: func() string {
		return plan.IDPrefix +
			"1"
	}}
	e.OnEvent = func(x sluice.Envelope) { g.watch(e, x) }
	if g.id, err = e.Start(ctx, p, engine.TriggerManual); err != nil {
		return err
	}
	if g.ended, err = e.Run(ctx, g.id, engine.Options{}); err != nil || !g.after {
		return err
	}
	if g.ended.Outcome != sluice.Succeeded {
		return fmt.Errorf("nothing to roll back: %s: %s", g.ended.Outcome, g.ended.Cause)
	}
	if err := errors.Join(e.Reopen(ctx, g.id), e.SendCommand(ctx, g.id, journal.Rollback, 0, "ann")); err != nil {
		return err
	}
	g.ended, err = e.Run(ctx, g.id, engine.Options{})
	return err
}

// watch approves, and asks for the rollback.
func (g *grants) watch(e *engine.Engine, x sluice.Envelope) {
	var err error
	switch ev := x.Open().(type) {
	case sluice.ApprovalAwaited:
		err = e.SendCommand(context.Background(), g.id, journal.Approve, ev.Index, "ann")
	case sluice.Wrote:
		if g.amid && (ev.Operation == "ecs:UpdateService" || ev.Operation == "ecs:CreateService") &&
			strings.HasSuffix(ev.Resource, "/"+g.service) {
			g.amid = false
			err = e.SendCommand(context.Background(), g.id, journal.Rollback, 0, "ann")
		}
	case sluice.StageEnded:
		if g.back > 0 && ev.Index+1 == g.back {
			err = e.SendCommand(context.Background(), g.id, journal.Rollback, 0, "ann")
		}
	}
	if err != nil {
		g.t.Error(err)
	}
}

// attach notes what each call asks IAM for.
func (g *grants) attach(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Asked",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			asks := asksFor(in.Parameters)
			if len(asks) == 1 && strings.HasPrefix(asks[0].action, ":") { // a signed read, which has no type of the SDK
				asks[0].action = strings.ToLower(middleware.GetServiceID(ctx)) + ":" + middleware.GetOperationName(ctx)
			}
			for _, a := range asks {
				if !slices.Contains(g.requested, a) {
					g.requested = append(g.requested, a)
				}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
}

// withoutPause removes the hook of examples/native at which ECS waits for a person.
var withoutPause = strings.NewReplacer("  lifecycleHooks:\n    - targetType: PAUSE\n"+
	"      lifecycleStages: [PRE_PRODUCTION_TRAFFIC_SHIFT]\n", "", "        lifecycleHooks:\n          - targetType: PAUSE\n"+
	"            lifecycleStages: [PRE_PRODUCTION_TRAFFIC_SHIFT]\n", "").Replace

// seldomOf are what the policy of an example allows although no course makes it, and why.
var seldomOf = map[string]map[string]string{
	"native": {"iam:PassRole": "if the load balancers of the file change, UpdateService passes ECS's role"},
}

// examples are the folders of applications, with the world that each expects. That of environments is left out: its
// plan depends on flags.
func examples(t *testing.T) map[string]string {
	t.Helper()
	const root = "../../examples"
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); err != nil || name != "sluice.yaml" && name != "app.pipecd.yaml" ||
			filepath.Base(filepath.Dir(path)) == "environments" {
			return err
		}
		world := filepath.Join(root, "canary", "world.yaml")
		for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "world.yaml")); err == nil {
				world = filepath.Join(dir, "world.yaml")
				break
			}
		}
		found[path] = world
		return nil
	})
	if err != nil || len(found) < 12 {
		t.Fatal(found, err)
	}
	return found
}

// crashing gives the new version an exit after two seconds.
func crashing(s string) string {
	return strings.NewReplacer("image: sim/web:v2", "image: sim/web:v2?crash-after=2s&exit=3", "image: shop/api:v2",
		"image: sim/api:v2?crash-after=2s&exit=3",
		"image: sim/report:v1", "image: sim/report:broken").Replace(s)
}

// TestPolicyIsExactlyWhatIsAsked deploys every example and rolls it back, from each
// stage, after a success and after a crash. The policy of the plan must allow every
// call and allow no write that a deployment cannot make.
func TestPolicyIsExactlyWhatIsAsked(t *testing.T) {
	for file, world := range examples(t) {
		name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../../examples/")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(world)
			if err != nil {
				t.Fatal(err)
			}
			holdPolicy(t, grants{files: os.DirFS(filepath.Dir(file)), file: filepath.Base(file),
				world: []byte(withoutPause(string(data))), edit: withoutPause, seldom: seldomOf[name]})
		})
	}
}

// withTags adds tags to what is made, roles, and the end of old task definitions.
var withTags = strings.NewReplacer("serviceName: ", "tags: [{key: team, value: web}]\nserviceName: ", "family: web\n",
	"family: web\ntags: [{key: team, value: web}]\ntaskRoleArn: web-task\n",
	"  taskDefinitionFile: taskdef.yaml", "  keepTaskDefinitions: 2\n  taskDefinitionFile: taskdef.yaml").Replace

// TestPolicyOfWhatExamplesLack does the same for what no example has.
func TestPolicyOfWhatExamplesLack(t *testing.T) {
	scaled := func(world string) string {
		return world + "\nscalableTargets: [{service: web, cluster: prod, min: 2, max: 8}]\n"
	}
	alone := func(world string) string { // without the service
		before, rest, _ := strings.Cut(world, "\nservices:")
		_, after, _ := strings.Cut(rest, "\n\n")
		return before + "\n" + after
	}
	same := func(s string) string { return s }
	for name, c := range map[string]struct {
		of          string
		edit, world func(string) string
		scale       appfile.Scaling
		seldom      map[string]string
	}{
		"tags and old definitions of task sets": {"quicksync", withTags, same, appfile.Scaling{},
			map[string]string{"ecs:DeregisterTaskDefinition": "if there are more of ours than are kept"}},
		"tags and old definitions, rolling": {"rolling", withTags, same, appfile.Scaling{},
			map[string]string{"ecs:DeregisterTaskDefinition": "if there are more of ours than are kept"}},
		"auto scaling of task sets": {"quicksync", same, scaled, appfile.Scaling{Suspend: true}, nil},
		"auto scaling, rolling":     {"rolling", same, scaled, appfile.Scaling{Suspend: true}, nil},
		"auto scaling, CodeDeploy":  {"codedeploy", same, same, appfile.Scaling{Suspend: true}, nil},
		"a task with tags and roles of its own": {"job", func(s string) string {
			return strings.Replace(s, "    count: 1",
				"    count: 1\n    tags: [{key: team, value: web}]\n    overrides: {taskRoleArn: "+
					"arn:aws:iam::123456789012:role/other}", 1)
		}, same, appfile.Scaling{}, nil},
		"first deployment of task sets": {"quicksync", same, alone, appfile.Scaling{},
			map[string]string{"ecs:UpdateService": "if it was killed after creating the service, and others " +
				"changed that"}},
		"first deployment, rolling": {"rolling", same, alone, appfile.Scaling{},
			map[string]string{"ecs:UpdateService": "if it was killed after creating the service, and others " +
				"changed that"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("../../examples", c.of)
			world, err := os.ReadFile(examples(t)[filepath.Join(dir, "sluice.yaml")])
			if err != nil {
				t.Fatal(err)
			}
			holdPolicy(t, grants{files: os.DirFS(dir), file: "sluice.yaml", world: []byte(c.world(string(world))),
				edit: c.edit, scale: c.scale, seldom: c.seldom})
		})
	}
}

// holdPolicy plays all courses of a deployment and compares.
func holdPolicy(t *testing.T, base grants) {
	t.Helper()
	made := map[requestedCall]bool{}
	play := func(course string, change func(*grants)) *grants {
		g := base
		g.t = t
		change(&g)
		g.play()
		for _, a := range g.requested {
			made[a] = true
			if !g.policy.Allows(a.action, a.resource) {
				t.Errorf("%s: the policy does not allow %s on %s", course, a.action, a.resource)
			}
		}
		t.Logf("%s: %s %s", course, g.ended.Outcome, g.ended.Cause)
		return &g
	}
	whole := play("deployed", func(*grants) {})
	if whole.ended.Outcome != sluice.Succeeded {
		t.Fatalf("%s: %s", whole.ended.Outcome, whole.ended.Cause)
	}
	play("crashed", func(g *grants) { g.edit = func(s string) string { return crashing(base.edit(s)) } })
	if !strings.HasPrefix(whole.service, plan.GroupPrefix) {
		play("with a task more", func(g *grants) { g.tasks = aws.Int(5) })
		play("rolled back amid it", func(g *grants) { g.amid = true })
		play("with requests for the canary", func(g *grants) {
			g.allows = true
			g.world = bytes.ReplaceAll(g.world, []byte("forward: {web-primary: 100, web-canary: 0}"),
				[]byte("forward: {web-primary: 90, web-canary: 10}"))
		})
		play("rolled back after success", func(g *grants) { g.after = true })
		for n := 1; n < whole.stages; n++ {
			play(fmt.Sprintf("rolled back after stage %d", n), func(g *grants) { g.back = n })
		}
	}
	neverMade(t, whole, made)
}

// neverMade finds writes of a policy that no course made.
func neverMade(t *testing.T, g *grants, made map[requestedCall]bool) {
	t.Helper()
	for _, s := range g.policy.Statement {
		for _, action := range s.Action {
			if !account.IsWrite(action) {
				continue
			}
			for _, resource := range s.Resource {
				one := policy.Document{Statement: []policy.Statement{{Action: []string{action},
					Resource: []string{resource}}}}
				used := false
				for a := range made {
					used = used || one.Allows(a.action, a.resource)
				}
				if !used && g.seldom[action] == "" {
					t.Errorf("no course makes %s on %s, which %s allows", action, resource, s.Sid)
				}
			}
		}
	}
}

// changedFiles is a folder whose files pass through edit when they are read.
type changedFiles struct {
	fs.FS
	edit func([]byte) []byte
}

// ReadFile implements [fs.ReadFileFS].
func (c changedFiles) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(c.FS, name)
	return c.edit(data), err
}
