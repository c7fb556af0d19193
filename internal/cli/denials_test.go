package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
	rehearsals "github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/simtest"
)

var (
	everyDenial = flag.Bool("denials", false, "deny and break every write of every flow, not a sample of them")
	denialsOf   = flag.String("denied", "", "a regular expression: other denials are passed over")
)

// deniedFlows are the deployments whose writes are denied and broken.
var deniedFlows = []string{"canary", "canary, rolled back after stage 2", "canary, rolled back after stage 5",
	"canary that suspends auto scaling",
	"rolling", "rolling, rolled back on request", "rolling that suspends auto scaling", "canary service: canary",
	"canary service: canary, rolled back after stage 4",
	"canary that crashes", "rolling, rolled back by sluice", "canary by name that crashes",
	"CodeDeploy, rolled back by sluice",
	"canary by name", "canary by name, rolled back after stage 2", "canary service: canary by name",
	"canary service: canary by name, rolled back after stage 2",
	"CodeDeploy, a share first", "CodeDeploy, rolled back on request",
	"CodeDeploy that suspends auto scaling, rolled back on request"}

// denialKinds are what AWS answers to a write; the line ends with how many of the same
// pass first.
var denialKinds = []string{"denied %s times=1", "denied %s", "invalid %s times=1", "invalid %s", "5xx %s"}

// In the ordinary tests one of so many flows is played, and one of so many of its points.
const (
	sampledFlows   = 5
	sampledDenials = 13
)

// denialWays are how each denial is followed: by the first, the second and the third of
// the commands that are printed, and on another machine.
const denialWays = 4

// denialCommands are how many commands a run may take to its end.
const denialCommands = 6

// Each write of a deployment is denied, refused and left without an answer, once and
// for good, one after the other. Every run ends well, or prints what to do next; once
// the fault is over, the commands that are printed bring it to a clean end.
func TestEachWriteDeniedInTurn(t *testing.T) {
	noMachine(t)
	only := regexp.MustCompile(*denialsOf)
	var played, failed, advised int
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, d := range denials(t) {
		if !only.MatchString(d.name + ": " + d.line) {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			wrong := d.play() // d is a copy of its own: the list keeps no world alive
			mu.Lock()
			defer mu.Unlock()
			played++
			if len(d.commands) > 1 {
				advised++
			}
			if len(wrong) > 0 {
				failed++
				t.Errorf("%s, %q: %s\n%s", d.name, d.line, strings.Join(wrong, "; "), d.printed.String())
			}
		})
	}
	all.Wait()
	t.Logf("%d writes denied or broken: %d clean ends, %d of them by the commands that were printed", played,
		played-failed, advised)
}

// Denials that once led to an end without a way out, or to one that was not told.
func TestDenialsWithoutAWayToFinish(t *testing.T) {
	noMachine(t)
	for _, c := range []struct {
		flow, line string
		lost       bool
	}{
		// failed, and nothing was said
		{flow: "canary, rolled back after stage 2", line: "invalid ecs:DeleteTaskSet"},
		// the claim stayed
		{flow: "rolling", line: "denied ecs:UntagResource"},
		// not what to allow
		{flow: "rolling that suspends auto scaling",
			line: "denied application-autoscaling:RegisterScalableTarget skip=1"},
		// back again from what was back
		{flow: "rolling, rolled back by sluice", line: "denied ecs:UntagResource"},
		// what the files ask for serves: nothing to do
		{flow: "rolling, rolled back on request", line: "invalid ecs:UpdateService skip=1", lost: true},
		// adopted, over a version that crashes
		{flow: "rolling, rolled back by sluice", line: "denied ecs:StopServiceDeployment", lost: true},
		// the task set of others stayed
		{flow: "canary by name", line: "invalid ecs:UpdateTaskSet", lost: true},
	} {
		d := &denial{name: c.flow, flow: flowCalled(t, c.flow).Case, line: c.line, lost: c.lost}
		if wrong := d.play(); len(wrong) > 0 {
			t.Errorf("%s, %q: %s\n%s", d.name, d.line, strings.Join(wrong, "; "), d.printed.String())
		}
	}
}

// noMachine keeps what this machine says of AWS away.
func noMachine(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_REGION", "us-east-1")
	for _, key := range []string{"AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL"} {
		t.Setenv(key, "")
	}
	for _, key := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(key, filepath.Join(t.TempDir(), "none"))
	}
}

// denials are those that this run plays: all, or a sample that SLUICE_SEED_START
// chooses.
func denials(t *testing.T) (all []denial) {
	t.Helper()
	start, _ := strconv.ParseUint(os.Getenv("SLUICE_SEED_START"), 10, 64)
	n := int(start / 1000 % (sampledFlows * sampledDenials))
	for i, name := range deniedFlows {
		if !*everyDenial && (i+n)%sampledFlows != 0 {
			continue
		}
		f := flowCalled(t, name)
		unbroken := &denial{name: f.Name, flow: f.Case}
		if wrong := unbroken.play(); len(wrong) > 0 {
			t.Fatalf("%s: %s\n%s", f.Name, strings.Join(wrong, "; "), unbroken.printed.String())
		}
		for _, line := range denialLines(unbroken.writes) {
			for way := range denialWays {
				if n++; *everyDenial || n%(denialWays*sampledDenials) == 0 {
					all = append(all, denial{name: f.Name, flow: f.Case, line: line, turn: way,
						lost: way == denialWays-1})
				}
			}
		}
	}
	return all
}

func flowCalled(t *testing.T, name string) simtest.Flow {
	t.Helper()
	all := simtest.Flows()
	i := slices.IndexFunc(all, func(f simtest.Flow) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no flow %q", name)
	}
	return all[i]
}

// denialLines are the faults of a deployment that makes these writes.
func denialLines(writes []string) (all []string) {
	made := map[string]int{}
	for _, w := range writes {
		skip := ""
		if n := made[w]; n > 0 {
			skip = fmt.Sprintf(" skip=%d", n)
		}
		made[w]++
		for _, kind := range denialKinds {
			all = append(all, fmt.Sprintf(kind, w)+skip)
		}
	}
	return all
}

// denial is one run of the command line, and of the commands that it prints.
type denial struct {
	name string
	flow rehearsals.Case
	line string // the fault; empty: none
	turn int    // which of several commands is followed
	lost bool   // the journal is, after the first command

	removes bool // the application file says so by now

	ground        *simtest.SimEnv
	clock         *clock.Virtual
	dir           string // of the journal
	commandsGiven int    // stages whose end the world knows
	printed       strings.Builder
	commands      [][]string
	writes        []string // of the whole deployment
	wrong         []string
}

func (d *denial) play() []string {
	var err error
	memory := "/dev/shm" // where that is not, the disk will do
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	if d.dir, err = os.MkdirTemp(memory, "sluice-denied"); err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(d.dir)
	d.clock = clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	d.clock.Run(func() {
		if err := d.deploy(); err != nil {
			d.wrong = append(d.wrong, err.Error())
		}
	})
	return d.wrong
}

func (d *denial) deploy() (err error) {
	if d.ground, err = simtest.NewSimEnv(d.flow, d.clock); err != nil {
		return err
	}
	if d.line != "" {
		if err := d.ground.Inject(d.line); err != nil {
			return err
		}
	}
	next := []string{"deploy"}
	for range denialCommands {
		code, printed := d.sluice(next)
		if strings.Contains(printed, "has a defect") {
			return errors.New("it panicked")
		}
		ended, err := d.deployment()
		if err != nil {
			return err
		}
		if strings.Contains(printed, "Or set "+removal) && !d.removes {
			d.removes = true // as it says; then the same again
			continue
		}
		offered := commandsIn(printed)
		if d.lost && ended.ID == "" && code == sluice.ExitDone && len(offered) == 0 {
			ended.Outcome = sluice.Succeeded // nothing was left to do
		}
		if len(offered) == 0 && (ended.Outcome == sluice.Succeeded || ended.Outcome == sluice.RolledBack) {
			return d.judge(ended)
		}
		if len(offered) == 0 {
			return fmt.Errorf("exit %d, %s %s: it prints no command that goes on", code, ended.State, ended.Outcome)
		}
		if err := d.allow(printed); err != nil {
			return err
		}
		next = offered[d.turn%len(offered)]
		if next[0] != "resume" {
			d.ground.NoteCommand(rehearsals.Rollback)
		}
		if d.lost && len(d.commands) == 1 {
			if err := d.loseJournal(); err != nil {
				return err
			}
			next = []string{"deploy"}
		}
	}
	return errors.New("the printed commands lead to no end")
}

// allow ends the fault: what the output asks to be allowed must be what is denied.
func (d *denial) allow(printed string) error {
	for _, m := range allowed.FindAllStringSubmatch(printed, -1) {
		if !strings.HasPrefix(d.line, "denied "+m[1]) {
			return fmt.Errorf("%s is to be allowed, and that was not denied", m[1])
		}
	}
	if d.line != "" && strings.HasPrefix(d.line, "denied") && len(d.commands) == 1 && !allowed.MatchString(printed) {
		return errors.New("it does not say what is to be allowed")
	}
	d.ground.ClearFaults()
	return nil
}

var (
	allowed = regexp.MustCompile(`allow (\S+:\S+) in the IAM policy`)
	command = regexp.MustCompile(`\bsluice (deploy|resume|rollback|abort|approve|wait)\b((?: (?:slc-\w+|--(?:cluster|service|to|deployment) [\w/:.-]*\w|--[a-z-]*[a-z]))*)`)
)

// commandsIn are the commands on the lines that say what is next, in their own words.
// One that only waits is followed if there is no other.
func commandsIn(printed string) (all [][]string) {
	for _, line := range strings.Split(printed, "\n") {
		if !strings.HasPrefix(line, "next: ") {
			continue
		}
		for _, m := range command.FindAllStringSubmatch(line, -1) {
			all = append(all, append([]string{m[1]}, strings.Fields(m[2])...))
		}
	}
	waits := func(c []string) bool { return c[0] == "wait" }
	if others := slices.DeleteFunc(slices.Clone(all), waits); len(others) > 0 {
		return others
	}
	return all
}

// loseJournal puts an empty journal in the place of the one that there was. What people asked of
// its deployment they do not ask of the next one: what was before, nobody knows any more.
func (d *denial) loseJournal() error {
	d.commandsGiven = math.MaxInt
	all, err := filepath.Glob(filepath.Join(d.dir, "journal.sqlite*"))
	for _, file := range all {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// judge holds the end against the promises.
func (d *denial) judge(ended journal.Deployment) error {
	if struck := d.ground.ClearFaults(); !struck && d.line != "" && len(d.commands) == 1 {
		return errors.New("the fault struck no call")
	}
	if ended.Outcome == sluice.Succeeded && slices.Contains(d.commands[len(d.commands)-1], "rollback") {
		ended.Outcome, ended.Cause = sluice.RolledBack, "by a deployment of its own"
	}
	r := d.ground.Judge(ended.Outcome, ended.Cause)
	fmt.Fprintf(&d.printed, "%s\n", r.State)
	if len(r.Violations) > 0 {
		return errors.New(strings.Join(r.Violations, "; "))
	}
	return nil
}

// sluice runs the command line once, as a process of its own would.
func (d *denial) sluice(args []string) (code int, printed string) {
	d.commands = append(d.commands, args)
	var out bytes.Buffer
	s, err := session.New(d.env(&out, args))
	if err != nil {
		return sluice.ExitUsage, err.Error()
	}
	code = (&program{s}).run(context.Background())
	fmt.Fprintf(&d.printed, "$ sluice %s\n%sexit %d\n", strings.Join(args, " "), out.String(), code)
	return code, out.String()
}

func (d *denial) env(out io.Writer, args []string) session.Env {
	cfg, pid := d.ground.Sim().Config(), 1000+len(d.commands)
	return session.Env{
		Args: args, In: strings.NewReader(""), Out: out, Err: out, Getenv: func(string) string { return "" },
		Clock: d.clock, Rand: newChance(uint64(pid)), HTTPClient: cfg.HTTPClient, APIOptions: cfg.APIOptions,
		Credentials: cfg.Credentials,
		OpenJournal: d.open, StateDir: d.dir,
		Disk: session.Disk{Getwd: func() (string, error) { return "/application", nil },
			FS: func(dir string) fs.FS {
				if dir == d.dir {
					return folder.New(dir)
				}
				return d.application()
			}},
		Host: "here", User: "somebody", PID: pid, IsAlive: func(p int) bool { return p == pid },
		IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 },
	}
}

// removal is what the application file says so that a task set of others is removed.
const removal = "onOtherTargets: remove"

func (d *denial) application() fs.FS {
	files := simtest.Application(d.flow).(fstest.MapFS)
	if d.removes {
		app := files["sluice.yaml"]
		app.Data = append(app.Data, []byte("\n"+removal+"\n")...)
	}
	return files
}

// chance gives the same bytes each time.
type chance struct{ *rand.ChaCha8 }

func newChance(n uint64) io.Reader { return chance{rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})} }

// open opens the journal. The world is told of each stage that is done, and people ask
// what they ask then.
func (d *denial) open(path string, c clock.Clock) (*journal.Journal, error) {
	j, err := journal.Open(path, c)
	if err == nil {
		j.WrapWrites(func(op string, write func() error) error {
			if !strings.HasPrefix(op, "record the end of stage") {
				return write()
			}
			return errors.Join(write(), d.giveCommands(j))
		})
	}
	return j, err
}

func (d *denial) giveCommands(j *journal.Journal) error {
	ctx := context.Background()
	all, err := j.Deployments(ctx, journal.Filter{Limit: 1})
	if err != nil || len(all) == 0 {
		return err
	}
	stages, err := j.Stages(ctx, all[0].ID)
	if err != nil {
		return err
	}
	done := len(stages)
	if i := slices.IndexFunc(stages, func(s journal.Stage) bool { return s.Status != journal.StageDone }); i >= 0 {
		done = i
	}
	for d.commandsGiven < done {
		d.commandsGiven++
		for _, does := range d.ground.StageEnded(d.commandsGiven) {
			if _, err := j.AddCommand(ctx, journal.Command{Deployment: all[0].ID, Kind: does,
				By: "somebody"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// deployment is the newest of the journal, and notes what it wrote.
func (d *denial) deployment() (last journal.Deployment, err error) {
	ctx := context.Background()
	j, err := journal.Open(filepath.Join(d.dir, "journal.sqlite"), d.clock)
	if err != nil {
		return last, err
	}
	defer j.Close()
	all, err := j.Deployments(ctx, journal.Filter{})
	if err != nil || len(all) == 0 {
		return last, err
	}
	events, err := j.Events(ctx, all[0].ID, 0, 0)
	d.writes = nil
	for _, e := range events {
		if w, ok := e.Open().(sluice.Writing); ok {
			d.writes = append(d.writes, w.Operation)
		}
	}
	return all[0], err
}
