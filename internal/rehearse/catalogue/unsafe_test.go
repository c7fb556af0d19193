package catalogue_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
	"github.com/sluice-ecs/sluice/internal/rehearse/simtest"
)

// flawed is a configuration that should not go to production, and what says so: a
// line of advice, or a scenario that is not safe or has advice of its own.
type flawed struct {
	name   string
	change func(c *rehearse.Case, files fstest.MapFS)
	says   string // in what is told
	in     string // the scenario that shows it; "": advice that needs none
}

func edit(file, old, new string) func(*rehearse.Case, fstest.MapFS) {
	return func(_ *rehearse.Case, files fstest.MapFS) {
		files[file] = &fstest.MapFile{Data: []byte(strings.Replace(string(files[file].Data), old, new, 1))}
	}
}

// network puts the service behind a Network Load Balancer with AWS's default health check.
func network(c *rehearse.Case) {
	c.World.Listeners = slices.Clone(c.World.Listeners)
	c.World.SetNetworkBalancer(true)
	c.World.Primary.TCP, c.World.Canary.TCP = true, true
}

func rolling(c *rehearse.Case, files fstest.MapFS) {
	c.Pipeline, c.World.Controller = nil, "ECS"
	maps.Copy(files, simtest.Application(*c).(fstest.MapFS))
}

var unsafeOnes = []flawed{
	{"a drain of 0 and requests that last", func(c *rehearse.Case, _ fstest.MapFS) {
		c.World.Primary.Drain,
			c.World.Canary.Drain = 0, 0
	}, "cuts off requests", "slow-requests"},
	{"a drain of 0", func(c *rehearse.Case, _ fstest.MapFS) { c.World.Primary.Drain, c.World.Canary.Drain = 0, 0 },
		"its requests in flight are cut off", ""},
	{"a drain of five minutes", func(c *rehearse.Case, _ fstest.MapFS) { c.World.Primary.Drain = 5 * time.Minute },
		"with deregistration delay 5m, step 4 ECS_PRIMARY_ROLLOUT takes", ""},
	{
		"one task",
		func(c *rehearse.Case, _ fstest.MapFS) { c.World.Tasks = 1 },
		"requests fail until ECS has replaced",
		"",
	},
	{
		"one zone",
		func(c *rehearse.Case, _ fstest.MapFS) { c.World.Subnets = shape.SubnetIDs(1) },
		"one Availability Zone",
		"",
	},
	{
		"health checks that are seldom",
		func(c *rehearse.Case, _ fstest.MapFS) { c.World.Primary.Interval = 30 * time.Second },
		"if a task hangs, it gets requests for another 1m, until 2 health checks 30s apart",
		"",
	},
	{"a health check's timeout as long as its interval",
		func(c *rehearse.Case, _ fstest.MapFS) { c.World.Primary.Timeout = 5 * time.Second },
		"is not shorter than its interval",
		""},
	{"a progress deadline shorter than a start", edit("sluice.yaml", "progressDeadline: 10m0s",
		"progressDeadline: 20s"), "progressDeadline 20s is shorter", ""},
	{"a progress deadline shorter than a slow start", edit("sluice.yaml", "progressDeadline: 10m0s",
		"progressDeadline: 100s"), "raise progressDeadline", "slow-start"},
	{"no pipeline", func(c *rehearse.Case, files fstest.MapFS) {
		text, _, _ := strings.Cut(string(files["sluice.yaml"].Data), "pipeline:")
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}, "all requests are sent to the new version immediately", ""},
	{"a pipeline that leaves its canary", edit("sluice.yaml", "    - {name: ECS_CANARY_CLEAN}\n", ""),
		"does not delete the canary", ""},
	{
		"a pipeline that looks at nothing",
		func(*rehearse.Case, fstest.MapFS) {},
		"a WAIT of some minutes",
		"unhealthy-after-30s",
	},
	{"no rollback", edit("sluice.yaml", "name: web\n", "name: web\nplanner: {autoRollback: false}\n"),
		"autoRollback is off", ""},
	{"no bake time", func(c *rehearse.Case, files fstest.MapFS) {
		c.Pipeline = nil
		maps.Copy(files, simtest.Application(*c).(fstest.MapFS))
	}, "such as bake: 2m", "crash-after-90s"},
	{"nothing need be healthy", func(c *rehearse.Case, files fstest.MapFS) {
		c.Pipeline, c.World.Controller, c.World.Percents = nil, "ECS", shape.Percents{Least: 0, Most: 100}
		maps.Copy(files, simtest.Application(*c).(fstest.MapFS))
	}, "requests failed", "good"},
	{"a health check that connects", func(c *rehearse.Case, _ fstest.MapFS) { network(c) },
		"set an HTTP health check on the target groups, if the task has a health page", ""},
	{"a health check that connects to a version that answers 503", func(c *rehearse.Case, _ fstest.MapFS) { network(c) },
		"or add a gate to the pipeline, such as ANALYSIS with https", "never-healthy"},
	{"a health check that connects to a version that fails later", func(c *rehearse.Case, _ fstest.MapFS) { network(c) },
		"or add a gate to the pipeline, such as ANALYSIS with https", "unhealthy-after-30s"},
	{"a short drain behind a Network Load Balancer", func(c *rehearse.Case, files fstest.MapFS) {
		rolling(c, files)
		network(c)
	}, "a stopping task for longer: set it to 2m or more", "good"},
	{"a short drain behind a Network Load Balancer, always", func(c *rehearse.Case, _ fstest.MapFS) { network(c) },
		"deregistration delay 20s: nodes of a Network Load Balancer", ""},
	{"a health check path that is wrong", func(*rehearse.Case, fstest.MapFS) {}, "health checks in", "never-healthy"},
}

// Configurations that lose requests or time are told, in every run.
func TestUnsafeConfigurationsAreTold(t *testing.T) {
	for _, u := range unsafeOnes {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			base := rehearse.Case{World: simtest.PlainWorld(), Pipeline: simtest.CanaryPipeline()}
			files := simtest.Application(base).(fstest.MapFS)
			u.change(&base, files)
			base.Files, base.File = fs.FS(files), "sluice.yaml"
			app, err := appfile.Load(files, "sluice.yaml", nil)
			if err != nil {
				t.Fatal(err)
			}
			told := strings.Join(append(shape.Advice(base.World, app), catalogue.MeasureDrain(base)...), "\n")
			if s := scenario(u.in); s != nil {
				c := s.Apply(base, len(app.Pipeline))
				row := s.RowOf(c, rehearse.Run(c))
				told = fmt.Sprintf("%v\n%v\n%s", row.Suggestions, row.Flaws, row.Cause)
			}
			if !strings.Contains(told, u.says) {
				t.Errorf("it does not say %q:\n%s", u.says, told)
			}
		})
	}
}

func scenario(name string) *catalogue.Scenario {
	for _, s := range catalogue.Scenarios() {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

// A sound configuration is safe in every scenario.
func TestSoundConfigurationIsSafeInEveryScenario(t *testing.T) {
	for name, pipeline := range map[string][]string{"canary": simtest.CanaryPipeline(),
		"blue/green": simtest.BlueGreenPipeline(),
		"quick sync": nil} {
		base := rehearse.Case{World: simtest.PlainWorld(), Pipeline: pipeline}
		files := simtest.Application(base).(fstest.MapFS)
		edit("sluice.yaml", "name: web\n", "name: web\nbake: 2m\n")(&base, files) // see "no bake time"
		base.Files, base.File = fs.FS(files), "sluice.yaml"
		for _, s := range catalogue.Scenarios() {
			if !s.AppliesTo(&appfile.Application{}) {
				continue // see TestStepsThatFail
			}
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				c := s.Apply(base, max(1, len(pipeline)))
				r := rehearse.Run(c)
				if row := s.RowOf(c, r); !row.Safe {
					t.Errorf("%s: %s; %v\n%s", row.Outcome, row.Cause, row.Flaws, r.Log)
				}
			})
		}
	}
}

// A step of the user's own that fails: before the stages nothing of the service is
// changed, after them what the file says follows.
func TestStepsThatFail(t *testing.T) {
	for name, want := range map[string]struct {
		after   string
		outcome sluice.Outcome
		share   float64 // the highest of the new version
	}{
		"step-before-fails":            {"crash-after=20s&exit=0", sluice.Failed, 0},
		"step-after-fails":             {"crash-after=20s&exit=0", sluice.Failed, 1},
		"step-after-fails, rolls back": {"rollback&" + "crash-after=20s&exit=0", sluice.RolledBack, 1},
	} {
		base := rehearse.Case{World: simtest.PlainWorld(), Before: "crash-after=20s&exit=0", After: want.after}
		base.Files, base.File = simtest.Application(base), "sluice.yaml"
		base.Before, base.After = "", ""
		which, _, _ := strings.Cut(name, ",")
		s := scenario(which)
		c := s.Apply(base, 1)
		r := rehearse.Run(c)
		row := s.RowOf(c, r)
		if !row.Safe || row.Outcome != want.outcome || row.WorstShare != want.share ||
			!strings.Contains(row.Cause, "exited with 3") {
			t.Errorf("%s: %s; %s; the new version had %g; %v\n%s", name, row.Outcome, row.Cause, row.WorstShare,
				row.Flaws, r.Log)
		}
	}
}

// An HTTP health check detects what a check that connects does not, and then the advice is not given.
func TestHTTPChecksBehindANetworkLoadBalancer(t *testing.T) {
	for _, name := range []string{"good", "never-healthy", "slow-boot", "unhealthy-after-30s"} {
		base := rehearse.Case{World: simtest.PlainWorld(), Pipeline: simtest.CanaryPipeline()}
		network(&base)
		base.World.Primary.TCP, base.World.Canary.TCP = false, false
		base.World.Primary.Drain, base.World.Canary.Drain = 2*time.Minute, 2*time.Minute
		base.Files, base.File = simtest.Application(base), "sluice.yaml"
		app, err := appfile.Load(base.Files, "sluice.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		s := scenario(name)
		c := s.Apply(base, len(app.Pipeline))
		r := rehearse.Run(c)
		row := s.RowOf(c, r)
		told := fmt.Sprint(row.Suggestions, row.Flaws, shape.Advice(base.World, app))
		if !row.Safe || strings.Contains(told, "connects (TCP)") || strings.Contains(told, "stopping task for longer") {
			t.Errorf("%s: safe %v, %s\n%s", name, row.Safe, told, r.Log)
		}
	}
}
