package catalogue

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// goodVersion is the scenario without any fault: it must succeed.
const goodVersion = "good"

// Scenario is one event that may happen to a deployment.
type Scenario struct {
	Name    string // "crash-loop"
	Summary string // what happens, in a few words
	// LosesRequests: requests are lost whatever a deployment does; it must still
	// end safely.
	LosesRequests bool
	change        func(c *rehearse.Case, stages int)
	condition     func(*appfile.Application) bool // applications to which it can happen; nil: all
}

// IsGood reports whether nothing happens in the scenario: its deployment must succeed.
func (s Scenario) IsGood() bool { return s.Name == goodVersion }

// AppliesTo reports whether the scenario can happen to an application.
func (s Scenario) AppliesTo(app *appfile.Application) bool {
	return s.condition == nil || s.condition(app)
}

// Scenarios returns the scenarios that a pipeline is rehearsed with, in the order of the table.
func Scenarios() []Scenario {
	return slices.Concat(versionScenarios(), awsScenarios(), processScenarios(), peopleScenarios(), stepScenarios(), gateScenarios())
}

// gateScenarios are about what the gates of a pipeline see.
func gateScenarios() []Scenario {
	return []Scenario{
		{"slow-leak", "the new version fails one more percent of its requests every minute", true,
			setVersion("errors-grow=1%/m"), countsRequests},
		{"both-fail", "both versions fail one request in fifty", true, func(c *rehearse.Case, _ int) {
			c.Old, c.New = "errors=2%", "errors=2%"
		}, countsRequests},
		{"clumped-failures", "both versions fail all requests for two seconds every ten minutes", true,
			func(c *rehearse.Case, _ int) { c.Old, c.New = "error-bursts=2s/10m", "error-bursts=2s/10m" }, countsRequests},
		{"few-requests", "the service gets one request a second", false, func(c *rehearse.Case, _ int) { c.World.Rate = 1 },
			countsRequests},
	}
}

// countsRequests reports whether a gate of the application counts requests.
func countsRequests(app *appfile.Application) bool {
	return slices.ContainsFunc(app.AllGates(), appfile.Gate.Counts)
}

// versionScenarios are about how the new version behaves.
func versionScenarios() []Scenario {
	return []Scenario{
		{goodVersion, "the new version is good", false, setVersion(""), nil},
		{"slow-requests", "requests last 1.5 s, on both versions", false,
			func(c *rehearse.Case, _ int) { c.World.Lasts = max(slowRequest, c.World.Lasts) }, nil},
		{"slow-start", "tasks take two minutes longer to start", false, addFaults("slow-start SERVICE by=120s"), nil},
		{"slow-boot", "the new version answers 503 for its first 20 s", false, setVersion("healthy-after=20s"), nil},
		{"crash-loop", "the new version exits 2 s after its start", false,
			setVersion("healthy-after=1h&crash-after=2s&exit=1"), nil},
		{"never-healthy", "the new version fails its health check: a wrong path, a missing setting", false,
			setVersion("never-healthy=true"), nil},
		{"no-image", "the new version's image cannot be pulled", false, setVersion("noboot=true"), nil},
		{"no-secret", "a secret of the new version cannot be read", false, setVersion("no-secret=true"), nil},
		{"unhealthy-after-30s", "the new version is healthy, then fails its health check", true,
			setVersion("unhealthy-after=30s"), nil},
		{"crash-after-90s", "the new version is healthy, then exits", true, setVersion("crash-after=90s&exit=1"), nil},
		{"out-of-memory", "the new version runs out of memory a minute after its start", true,
			setVersion("oom-after=60s"),
			nil},
		{"errors", "the new version answers one request in twenty with 500", true, setVersion("errors=5%"), nil},
	}
}

// awsScenarios are about faults of AWS and of its capacity.
func awsScenarios() []Scenario {
	return []Scenario{
		{"task-lost", "a serving task crashes during the deployment", true,
			addFaults("task-crash SERVICE count=1 exit=137 after=60s"), nil},
		{"zone-lost", "an Availability Zone fails for ten minutes", true, addFaults("zone-lost ZONE after=60s for=10m"),
			nil},
		{spotInterruption, "a task on Fargate Spot is interrupted during the deployment", false,
			addFaults("spot-interruption SERVICE count=1 after=60s"), runsOnSpot},
		{"no-capacity", "no task can be placed for five minutes", false,
			addFaults("no-capacity CLUSTER after=5s for=5m"),
			nil},
		{"no-capacity-for-good", "no task can be placed for six hours", false,
			addFaults("no-capacity CLUSTER after=5s for=6h"), nil},
		{"throttling", "AWS throttles three calls in ten", false, addFaults("throttle *:* p=0.3"), nil},
		{"server-errors", "AWS returns 500 to one call in ten", false, addFaults("5xx *:* p=0.1"), nil},
		{"lost-replies", "one response in ten is lost after AWS has acted", false, addFaults("lost-reply *:* p=0.1"),
			nil},
		{"stale-reads", "AWS's responses are four seconds old", false,
			addFaults("stale ecs:* by=4s p=0.5", "stale elasticloadbalancing:DescribeTargetHealth by=4s p=0.5"), nil},
		{"slow-calls", "every call takes a second", false, addFaults("latency *:* by=1s"), nil},
		{"credentials-expire", "the credentials expire and are renewed a quarter of an hour later", false,
			addFaults("expired-credentials after=60s for=15m"), nil},
	}
}

const spotInterruption = "spot-interruption"

// runsOnSpot reports whether tasks of the application's service may run on Fargate Spot.
func runsOnSpot(app *appfile.Application) bool {
	return app.Service != nil && slices.Contains(shape.CapacityOf(app.Task, app.Service).Providers, "FARGATE_SPOT")
}

// processScenarios are about the process that runs sluice.
func processScenarios() []Scenario {
	return []Scenario{
		{"killed", "sluice is killed after a write, before it gets the response", false,
			setKills(rehearse.Kill{N: 4, After: true}), nil},
		{"killed-thrice", "sluice is killed three times", false,
			setKills(rehearse.Kill{N: 3}, rehearse.Kill{Row: true, N: 20, After: true},
				rehearse.Kill{N: 2, After: true}), nil},
		{"disk-full", "the journal's disk is full for a while", false,
			func(c *rehearse.Case, _ int) { c.FullDisk = rehearse.FullDisk{Row: 30, For: 3} }, nil},
	}
}

// peopleScenarios are about other actors.
func peopleScenarios() []Scenario {
	return []Scenario{
		{"scale-in", "a person halves the desired count during the deployment", false, func(c *rehearse.Case, _ int) {
			c.Interventions = []rehearse.Intervention{{At: 45 * time.Second,
				Does: fmt.Sprintf("%s %d", rehearse.SetDesiredCount,
					max(1, c.World.Tasks/2))}}
		}, nil},
		{"scale-out", "a person doubles the desired count during the deployment", false, func(c *rehearse.Case, _ int) {
			c.Interventions = []rehearse.Intervention{{At: 45 * time.Second,
				Does: fmt.Sprintf("%s %d", rehearse.SetDesiredCount,
					2*c.World.Tasks)}}
		}, nil},
		{"auto-scale-in", "auto scaling scales in during the deployment", false, func(c *rehearse.Case, _ int) {
			c.World.Scaling = shape.Scaling{Min: max(1, c.World.Tasks/2), Max: 2 * c.World.Tasks, Load: 30,
				Since: 14 * time.Minute}
		}, nil},
		{"rule-edited", "Terraform restores the listener rule during the deployment", false,
			func(c *rehearse.Case, n int) {
				if c.World.Canary.ARN != "" && !c.World.AlternatesGroups() {
					c.Interventions = []rehearse.Intervention{{Stage: halfOf(n), At: 5 * time.Second,
						Does: rehearse.EditRule + " 100 0"}}
				}
			}, nil},
		{"rollback-midway", "a person rolls back after half of the stages", false,
			func(c *rehearse.Case, n int) { c.Interventions = rollBackMidway(c, n) }, nil},
		{"rollback-at-the-end", "a person rolls back after the last stage", false,
			func(c *rehearse.Case, n int) {
				c.Interventions = []rehearse.Intervention{{Stage: max(n, 1),
					Does: rehearse.Rollback}}
			}, nil},
		{"two-at-once", "a second sluice on another machine deploys the same service", false,
			interveneAt(30*time.Second, rehearse.SecondSluice), nil},
		{"claim-taken", "another deployment claims the service", false, interveneAt(60*time.Second, rehearse.TakeClaim),
			nil},
		{"service-deleted", "a person deletes the service", true, interveneAt(60*time.Second, rehearse.DeleteService),
			nil},
	}
}

// stepScenarios are about the tasks before and after the stages.
func stepScenarios() []Scenario {
	return []Scenario{
		{"step-before-fails", "the first task before the stages exits with 3", false, failStep(rehearse.StepBefore),
			func(app *appfile.Application) bool { return len(app.Before) > 0 }},
		{"step-after-fails", "the first task after the stages exits with 3", false, failStep(rehearse.StepAfter),
			func(app *appfile.Application) bool { return len(app.After) > 0 }},
	}
}

func setVersion(options string) func(*rehearse.Case, int) {
	return func(c *rehearse.Case, _ int) { c.New = options }
}

// addFaults replaces SERVICE, CLUSTER and ZONE in fault lines by names of the world.
func addFaults(lines ...string) func(*rehearse.Case, int) {
	return func(c *rehearse.Case, _ int) {
		for _, l := range lines {
			c.Faults = append(c.Faults, strings.NewReplacer("SERVICE", c.World.Service, "CLUSTER", c.World.Cluster,
				"ZONE", c.World.Region+"a").Replace(l))
		}
	}
}

func setKills(all ...rehearse.Kill) func(*rehearse.Case, int) {
	return func(c *rehearse.Case, _ int) { c.Kills = all }
}

func interveneAt(d time.Duration, does string) func(*rehearse.Case, int) {
	return func(c *rehearse.Case, _ int) { c.Interventions = []rehearse.Intervention{{At: d, Does: does}} }
}

func failStep(side string) func(*rehearse.Case, int) {
	return func(c *rehearse.Case, _ int) { c.FailingStep = side }
}

func halfOf(stages int) int { return max(1, stages/2) }

func rollBackMidway(c *rehearse.Case, stages int) []rehearse.Intervention {
	if c.World.UsesCodeDeploy() { // it has one stage, which consists of CodeDeploy's events
		return []rehearse.Intervention{{Event: "AllowTraffic", Does: rehearse.Rollback}}
	}
	if c.World.Strategy.Kind != "" { // it has one stage too, which consists of ECS's
		return []rehearse.Intervention{{Event: "PRODUCTION_TRAFFIC_SHIFT", Does: rehearse.Rollback}}
	}
	return []rehearse.Intervention{{Stage: halfOf(stages), Does: rehearse.Rollback}}
}

// Apply returns the case of the scenario, made from a base case.
func (s Scenario) Apply(base rehearse.Case, stages int) rehearse.Case {
	s.change(&base, stages)
	return base
}

// HasEffect reports whether the scenario changes the case. For example, it cannot edit a rule if no
// rule forwards to the target groups.
func (s Scenario) HasEffect(base rehearse.Case, stages int) bool {
	base.Files, base.From = nil, nil
	return s.Name == goodVersion || !reflect.DeepEqual(s.Apply(base, stages), base)
}

// Row is the result of a scenario, the worst of its seeds.
type Row struct {
	Scenario     string         `json:"scenario"`
	Summary      string         `json:"says"`
	Outcome      sluice.Outcome `json:"outcome"`
	Cause        string         `json:"cause,omitempty"`
	Requests     float64        `json:"requests"`
	Failed       float64        `json:"failed"`
	WorstShare   float64        `json:"worstShare"`            // of the new version, 0 to 1
	TimeToSafety time.Duration  `json:"timeToSafety"`          // nanoseconds
	Took         time.Duration  `json:"took"`                  // nanoseconds
	Safe         bool           `json:"safe"`                  // it ended as promised
	Flaws        []string       `json:"violations,omitempty"`  // why it is not safe
	Suggestions  []string       `json:"couldBetter,omitempty"` // suggestions for the application
	Seed         uint64         `json:"seed"`                  // seed of this result
	Losses       []string       `json:"losses,omitempty"`
}

// RowOf judges a result.
func (s Scenario) RowOf(c rehearse.Case, r rehearse.Result) Row {
	row := Row{Scenario: s.Name, Summary: s.Summary, Outcome: r.Outcome, Cause: r.Cause, Requests: r.Requests,
		Failed: r.Failed, WorstShare: r.WorstShare,
		TimeToSafety: r.TimeToSafety, Took: r.Took, Flaws: r.Violations, Seed: c.Seed, Losses: r.Losses}
	switch r.Outcome {
	case sluice.Succeeded, sluice.RolledBack:
	case sluice.Superseded, sluice.Gone, sluice.Failed:
		// Reported, and completed by a rollback in the rehearsal itself.
	case "":
		row.Flaws = append(row.Flaws, "the application cannot be deployed: "+r.Cause)
	default:
		row.Flaws = append(row.Flaws, "the deployment ended in between: "+string(r.Outcome))
	}
	if s.LosesRequests && r.Outcome == sluice.Succeeded && failsLater(c) {
		flaw := "the deployment succeeded with a version that fails later"
		if !onlyConnects(c) { // a longer wait would not detect it
			flaw += ": " + detectionAdvice(c) + "; or set bake to the time in which your tasks would fail, such as bake: 2m"
		}
		row.Flaws = append(row.Flaws, flaw)
	}
	row.Flaws = append(row.Flaws, s.whyNotRehearsed(c, r)...)
	if r.Failed > 1e-6 && !s.LosesRequests && !c.MayLoseRequests() && len(r.Violations) == 0 {
		row.Flaws = append(row.Flaws, "requests were lost")
	}
	row.Safe = len(row.Flaws) == 0
	row.Suggestions = s.suggestions(c, r)
	return row
}

// whyNotRehearsed returns why a result shows no property of the application. Either the deployment
// ended before AWS created a task set for it, or a good version ended badly.
func (s Scenario) whyNotRehearsed(c rehearse.Case, r rehearse.Result) []string {
	asked := r.Acted || c.FailingStep == rehearse.StepBefore // the scenario itself ends the deployment early
	switch {
	case r.Outcome == "":
		return nil // reported already
	case !r.Started && !asked:
		return []string{fmt.Sprintf("the rehearsal has no result: the deployment did not start (%s): %s", r.Outcome,
			r.Cause)}
	case s.Name == goodVersion && r.Outcome != sluice.Succeeded:
		return []string{fmt.Sprintf("a good version did not succeed (%s): %s", r.Outcome, r.Cause)}
	}
	return nil
}

// cutOffTime returns how long requests last if the deregistration delay cuts them off, otherwise 0.
func cutOffTime(c rehearse.Case) time.Duration {
	if c.World.Primary.ARN == "" || c.World.Lasts <= c.World.Primary.Drain {
		return 0
	}
	return c.World.Lasts
}

// IsWorse reports whether a is the row to show of the two.
func (a Row) IsWorse(b Row) bool {
	switch {
	case a.Safe != b.Safe:
		return !a.Safe
	case a.Failed != b.Failed:
		return a.Failed > b.Failed
	}
	return a.TimeToSafety > b.TimeToSafety
}
