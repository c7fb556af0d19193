package rehearse

import (
	"cmp"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing/fstest"
	"time"
)

// Case is one rehearsal, whole.
type Case struct {
	Says  []string // what it is about, a sentence per line
	Seed  uint64   // of every draw of the world
	World World
	Old   string // how the version that serves behaves, as options of an image: "latency=1s"
	New   string // how the new one does
	// Pipeline has a stage per line: "ECS_CANARY_ROLLOUT scale=50". None is quick
	// sync, or the rolling update of a service with controller ECS.
	Pipeline []string
	Breaker  bool          // a rolling service has ECS's circuit breaker with rollback
	Deadline time.Duration // progressDeadline
	Faults   []string      // lines of awssim/fault, from the start of the deployment
	Hands    []Hand        // people, and others
	Kills    []Kill        // one process of sluice after the other
	Full     Full
	Codec    bool // through the wire's codec

	// Files and File are the user's own application, in the place of Pipeline.
	Files fs.FS
	File  string
	// Options of the plan.
	QuickSync bool
}

// Hand is what somebody does meanwhile: at a time after the start, or as soon as a
// stage has ended.
type Hand struct {
	At    time.Duration
	Stage int // counted from 1; 0: by time
	Does  string
}

// What a [Hand] may do; words after these are its arguments.
const (
	Rollback      = "rollback"       // a person asks for it
	Abort         = "abort"          // likewise
	Pause         = "pause"          // likewise; resumed a minute later
	EditRule      = "edit-rule"      // <primary> <canary>: somebody sets the first rule's weights
	Scale         = "scale"          // <n>: somebody sets the desired count
	DeleteService = "delete-service" // somebody does
	TakeClaim     = "take-claim"     // another deployment puts its claim on the service
	Second        = "second"         // a second sluice, with a journal of its own, deploys the same
	Update        = "update"         // somebody updates the service (rolling: to the old revision)
)

// String is the case as text; [Parse] reads it back. A case with a user's own
// files has none.
func (c Case) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, s := range c.Says {
		line("# %s", s)
	}
	line("seed %d", c.Seed)
	line("world %s", c.World.words())
	if c.Old != "" {
		line("old %s", c.Old)
	}
	if c.New != "" {
		line("new %s", c.New)
	}
	if c.Breaker {
		line("breaker")
	}
	if c.Deadline != 0 {
		line("deadline %s", c.Deadline)
	}
	if c.Codec {
		line("codec")
	}
	for _, s := range c.Pipeline {
		line("stage %s", s)
	}
	for _, f := range c.Faults {
		line("fault %s", f)
	}
	for _, h := range c.Hands {
		line("%s", h)
	}
	for _, k := range c.Kills {
		line("%s", k)
	}
	if c.Full.Row > 0 {
		line("full row=%d for=%d", c.Full.Row, c.Full.For)
	}
	return b.String()
}

func (h Hand) String() string {
	if h.Stage > 0 {
		return fmt.Sprintf("after-stage %d %s", h.Stage, h.Does)
	}
	return fmt.Sprintf("at %s %s", h.At, h.Does)
}

func (k Kill) String() string {
	when, what := "before", "write"
	if k.After {
		when = "after"
	}
	if k.Row {
		what = "row"
	}
	return fmt.Sprintf("kill %s %s %d", when, what, k.N)
}

// words are the traits of a drawn world.
func (w World) words() string {
	r := w.Listeners[0].Rules[0]
	return fmt.Sprintf("controller=%s tasks=%d zones=%d interval=%s healthy=%d unhealthy=%d drain=%s rules=%d weight=%d/%d alone=%t sticky=%s grace=%s nodes=%s others=%t",
		w.Controller, w.Tasks, len(w.Subnets), w.Primary.Interval, w.Primary.Healthy, w.Primary.Unhealthy, w.Primary.Drain,
		len(w.Listeners[0].Rules), r.Primary, r.Canary, r.Alone, r.Sticky, w.Grace, w.Nodes, w.Others)
}

// set applies one trait.
func (w *World) set(name, value string) (err error) {
	duration := func() (d time.Duration) { d, err = time.ParseDuration(value); return d }
	number := func() (n int) { n, err = strconv.Atoi(value); return n }
	switch name {
	case "controller":
		w.Controller = value
	case "tasks":
		w.Tasks = number()
	case "zones":
		w.Subnets = subnets(number())
	case "interval":
		d := duration()
		w.Primary.Interval, w.Canary.Interval = d, d
	case "healthy":
		n := number()
		w.Primary.Healthy, w.Canary.Healthy = n, n
	case "unhealthy":
		n := number()
		w.Primary.Unhealthy, w.Canary.Unhealthy = n, n
	case "drain":
		d := duration()
		w.Primary.Drain, w.Canary.Drain = d, d
	case "rules":
		w.spread(number())
	case "weight":
		_, err = fmt.Sscanf(value, "%d/%d", &w.Listeners[0].Rules[0].Primary, &w.Listeners[0].Rules[0].Canary)
	case "alone":
		w.Listeners[0].Rules[0].Alone = value == "true"
	case "sticky":
		w.Listeners[0].Rules[0].Sticky = duration()
	case "grace":
		w.Grace = duration()
	case "nodes":
		w.Nodes = duration()
	case "others":
		w.Others = value == "true"
	default:
		err = fmt.Errorf("a world has no %q", name)
	}
	return err
}

// spread gives the listener n rules: the default one, and others with a path.
func (w *World) spread(n int) {
	w.Listeners[0].Rules = w.Listeners[0].Rules[:1]
	for i := 1; i < n; i++ {
		w.Listeners[0].Rules = append(w.Listeners[0].Rules, Rule{Priority: i * 10, Path: fmt.Sprintf("/part%d", i), Primary: 100})
	}
}

// Parse reads a case; errors begin with the line's number.
func Parse(text string) (Case, error) {
	c := Case{World: Plain()}
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := c.line(word, strings.TrimSpace(rest)); err != nil {
			return c, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return c, nil
}

func (c *Case) line(word, rest string) (err error) {
	switch word {
	case "":
	case "#":
		c.Says = append(c.Says, rest)
	case "seed":
		c.Seed, err = strconv.ParseUint(rest, 10, 64)
	case "world":
		return c.traits(rest)
	case "old":
		c.Old = rest
	case "new":
		c.New = rest
	case "breaker":
		c.Breaker = true
	case "codec":
		c.Codec = true
	case "deadline":
		c.Deadline, err = time.ParseDuration(rest)
	case "stage":
		c.Pipeline = append(c.Pipeline, rest)
	case "fault":
		c.Faults = append(c.Faults, rest)
	case "at", "after-stage":
		return c.hand(word, rest)
	case "kill":
		return c.killAt(rest)
	case "full":
		_, err = fmt.Sscanf(rest, "row=%d for=%d", &c.Full.Row, &c.Full.For)
	default:
		err = fmt.Errorf("%q is no word of a case", word)
	}
	return err
}

func (c *Case) traits(rest string) error {
	for _, w := range strings.Fields(rest) {
		name, value, _ := strings.Cut(w, "=")
		if err := c.World.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *Case) hand(word, rest string) (err error) {
	when, does, _ := strings.Cut(rest, " ")
	h := Hand{Does: does}
	if word == "at" {
		h.At, err = time.ParseDuration(when)
	} else {
		h.Stage, err = strconv.Atoi(when)
	}
	c.Hands = append(c.Hands, h)
	return err
}

func (c *Case) killAt(rest string) error {
	var when, what string
	var n int
	if _, err := fmt.Sscanf(rest, "%s %s %d", &when, &what, &n); err != nil {
		return err
	}
	c.Kills = append(c.Kills, Kill{Row: what == "row", N: n, After: when == "after"})
	return nil
}

// secret stands in the environment of drawn applications; no event and no row may
// hold it (P6).
const secret = "s3cr3t-of-the-environment"

// files are the application of a drawn case.
func (c Case) files() fs.FS {
	w := c.World
	text := func(format string, args ...any) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(fmt.Sprintf(format, args...))}
	}
	app := fmt.Sprintf("name: %s\nregion: %s\ncluster: %s\nprogressDeadline: %s\ninput:\n  taskDefinitionFile: taskdef.yaml\n  serviceDefinitionFile: servicedef.yaml\n",
		w.Service, w.Region, w.Cluster, cmp.Or(c.Deadline, 10*time.Minute))
	service := fmt.Sprintf("serviceName: %s\ncluster: %s\nlaunchType: FARGATE\nnetworkConfiguration: {awsvpcConfiguration: {subnets: [%s]}}\n",
		w.Service, w.Cluster, strings.Join(w.Subnets, ", "))
	if w.Controller == "EXTERNAL" {
		app += "  targetGroups:\n"
		for _, g := range []struct {
			name string
			Group
		}{{"primary", w.Primary}, {"canary", w.Canary}} {
			app += fmt.Sprintf("    %s: {targetGroupArn: %q, containerName: web, containerPort: %d}\n", g.name, g.ARN, w.Port)
		}
		service += "deploymentController: {type: EXTERNAL}\n"
	} else {
		service += fmt.Sprintf("loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: %d}]\n", w.Primary.ARN, w.Port)
		service += fmt.Sprintf("deploymentConfiguration: {deploymentCircuitBreaker: {enable: %t, rollback: %t}}\n", c.Breaker, c.Breaker)
	}
	if w.Grace > 0 {
		service += fmt.Sprintf("healthCheckGracePeriodSeconds: %d\n", int(w.Grace.Seconds()))
	}
	if len(c.Pipeline) > 0 {
		app += "pipeline:\n  stages:\n"
		for _, s := range c.Pipeline {
			app += "    - " + stageYAML(s) + "\n"
		}
	}
	return fstest.MapFS{
		"sluice.yaml":     text("%s", app),
		"servicedef.yaml": text("%s", service),
		"taskdef.yaml": text("family: web\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: 512\ncontainerDefinitions:\n  - name: web\n    image: %s\n"+
			"    portMappings: [{containerPort: %d}]\n    environment: [{name: PASSWORD, value: %s}]\n", newImage, w.Port, secret),
	}
}

// Images of drawn applications; what they do stands in the catalogue of the world.
const (
	oldImage = "sim/rehearsal:old"
	newImage = "sim/rehearsal:new"
)

// stageYAML turns "ECS_CANARY_ROLLOUT scale=50" into a stage of the file.
func stageYAML(s string) string {
	words := strings.Fields(s)
	var with []string
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		with = append(with, k+": "+v)
	}
	if len(with) == 0 {
		return "{name: " + words[0] + "}"
	}
	return "{name: " + words[0] + ", with: {" + strings.Join(with, ", ") + "}}"
}
