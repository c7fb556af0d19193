package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/simtest"
)

var everyKill = flag.Bool("kills", false, "kill at every write of every flow, not at a sample of them")

var ofFlows = flag.String("flows", "", "regular expression of the flows' names")

// atOnce is how many deployments run beside each other: they mostly wait.
const atOnce = 8

// sampledWrites are the writes of the first flow at which it is killed in every
// run of the tests: the claim, the task set, the weights, the delete.
var sampledWrites = []int{1, 3, 5, 8}

// TestKilledForReal deploys with the command line in a process of its own, against
// a world in another one, and ends it with SIGKILL before and after its writes. A
// third process resumes. The end is that of the deployment that nobody killed, no
// request is lost, nothing is made twice.
func TestKilledForReal(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	flows := simtest.Flows()
	if !*everyKill {
		flows = flows[:1]
	}
	flows = slices.DeleteFunc(flows,
		func(f simtest.Flow) bool { return !regexp.MustCompile(*ofFlows).MatchString(f.Name) })
	var all sync.WaitGroup
	var mu sync.Mutex
	slots, points := make(chan struct{}, atOnce), 0
	for _, flow := range flows {
		all.Go(func() {
			kills := killedAtEachWrite(t, slots, flow)
			mu.Lock()
			points += kills
			mu.Unlock()
		})
	}
	all.Wait()
	t.Logf("%d kill points", points)
}

// maxPlays is how often a kill point is tried. The processes run in real time: a deployment that needs
// one write less than the one before ends without reaching its last point.
const maxPlays = 5

func killedAtEachWrite(t *testing.T, slots chan struct{}, flow simtest.Flow) (points int) {
	played := func(kill string) attempt {
		slots <- struct{}{}
		defer func() { <-slots }()
		return play(t.Context(), flow.Case, kill)
	}
	unbroken := played("never #0")
	if unbroken.err != nil || len(unbroken.Violations) > 0 {
		t.Errorf("%s, not killed: %v %v\n%s", flow.Name, unbroken.err, unbroken.Violations, unbroken.said)
		return 0
	}
	var all sync.WaitGroup
	for _, n := range writesOf(unbroken) {
		for _, when := range []string{"before", "after"} {
			points++
			all.Go(func() {
				kill := fmt.Sprintf("%s #%d", when, n)
				r := played(kill)
				for tries := 1; r.err == nil && r.kills == 0 && tries < maxPlays; tries++ {
					r = played(kill)
				}
				if r.err != nil || len(r.Violations) > 0 || r.Outcome != unbroken.Outcome ||
					r.State != unbroken.State || r.Failed != unbroken.Failed || r.kills != 1 {
					t.Errorf("%s, killed %d times, %s: %v; %s: %s; %s; %.1f failed; %v\nnot killed: %s: %s; %.1f "+
						"failed\n%s", flow.Name, r.kills, kill, r.err, r.Outcome, r.Cause,
						r.State, r.Failed, r.Violations, unbroken.Outcome, unbroken.State, unbroken.Failed, r.said)
				}
			})
		}
	}
	all.Wait()
	return points
}

func writesOf(unbroken attempt) (all []int) {
	if !*everyKill {
		return sampledWrites
	}
	for n := range unbroken.wrote {
		all = append(all, n+1)
	}
	return all
}

// attempt is what came of a deployment by processes.
type attempt struct {
	rehearse.Result
	kills int
	wrote int // of the first process
	said  string
	err   error
}

// play deploys a case, killed once, resumed until it ends.
func play(ctx context.Context, c rehearse.Case, kill string) (a attempt) {
	dir, err := os.MkdirTemp("", "sluice-kill")
	if err != nil {
		return attempt{err: err}
	}
	defer os.RemoveAll(dir)
	g, err := startGround(ctx, c)
	if err != nil {
		return attempt{err: err}
	}
	defer g.stop()
	if a.err = os.CopyFS(dir, simtest.Application(c)); a.err != nil {
		return a
	}
	s := &sluices{dir: dir, ground: g.at, counted: filepath.Join(dir, "writes")}
	gone, people := s.people(ctx, c)
	defer people.Wait()
	defer close(gone)
	a.err = s.run(ctx, kill, "deploy")
	d, err := s.deployment(ctx)
	for n := 0; a.err == nil && err == nil && d.State != journal.Ended && n < 10; n++ {
		a.err = s.run(ctx, "never #0", "resume", d.ID)
		d, err = s.deployment(ctx)
	}
	a.kills, a.said = s.kills, s.said.String()
	if data, err := os.ReadFile(s.counted); err == nil {
		a.wrote = len(data)
	}
	if a.err == nil {
		a.err = err
	}
	if a.err == nil {
		a.err = tellGround(g.at, "judge", url.Values{"outcome": {string(d.Outcome)}, "cause": {d.Cause}}, &a.Result)
	}
	return a
}

// sluices are the processes of sluice on one machine, one after the other.
type sluices struct {
	dir, ground string
	counted     string // a file with a byte for each write
	kills       int
	said        strings.Builder
}

// run runs sluice to its end. An exit code is no error, nor is to be killed.
func (s *sluices) run(ctx context.Context, kill string, args ...string) error {
	cmd := exec.CommandContext(ctx, "sluice", append(args, "--state", s.journal())...)
	cmd.Dir = s.dir
	cmd.Env = append(machine(), killAt+"="+kill, groundAt+"="+s.ground, countedIn+"="+s.counted,
		"AWS_ENDPOINT_URL="+s.ground,
		"AWS_ACCESS_KEY_ID=123456789012", "AWS_SECRET_ACCESS_KEY=sim", "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+s.dir+"/none", "AWS_SHARED_CREDENTIALS_FILE="+s.dir+"/none",
		fmt.Sprintf("SLUICE_SPEED=%d", groundSpeed))
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&s.said, "$ sluice %s\n%s%v\n", strings.Join(args, " "), out, err)
	if cmd.ProcessState == nil {
		return err
	}
	if !cmd.ProcessState.Exited() {
		s.kills++
	}
	return nil
}

// people act in their time, as from another terminal, until gone is closed.
func (s *sluices) people(ctx context.Context, c rehearse.Case) (gone chan struct{}, all *sync.WaitGroup) {
	gone, all = make(chan struct{}), &sync.WaitGroup{}
	if !slices.ContainsFunc(c.Interventions, func(h rehearse.Intervention) bool { return h.Stage == 0 }) {
		return gone, all
	}
	all.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var d journal.Deployment
		var asked []string
		for {
			select {
			case <-gone:
				return
			case <-tick.C:
			}
			if d.ID == "" {
				d, _ = s.deployment(ctx) // not begun: none
				continue
			}
			var due []string
			if tellGround(s.ground, "due", nil, &due) == nil {
				asked = append(asked, due...)
			}
			for len(asked) > 0 && s.ask(ctx, d.ID, asked[0]) == nil {
				asked = asked[1:]
			}
		}
	})
	return gone, all
}

// ask puts a command into the journal.
func (s *sluices) ask(ctx context.Context, id, kind string) error {
	j, err := journal.Open(s.journal(), clock.Real())
	if err != nil {
		return err
	}
	defer j.Close()
	_, err = j.AddCommand(ctx, journal.Command{Deployment: id, Kind: kind, By: "somebody"})
	return err
}

// machine is what of this machine's environment a process needs: nothing that
// belongs to a real AWS.
func machine() (all []string) {
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "SystemRoot"} {
		if v, ok := os.LookupEnv(key); ok {
			all = append(all, key+"="+v)
		}
	}
	return all
}

func (s *sluices) journal() string { return filepath.Join(s.dir, "journal.sqlite") }

// deployment is the one that the journal has.
func (s *sluices) deployment(ctx context.Context) (journal.Deployment, error) {
	if _, err := os.Stat(s.journal()); err != nil {
		return journal.Deployment{}, err
	}
	j, err := journal.Open(s.journal(), clock.Real())
	if err != nil {
		return journal.Deployment{}, err
	}
	defer j.Close()
	all, err := j.Deployments(ctx, journal.Filter{})
	if err != nil || len(all) != 1 {
		return journal.Deployment{}, fmt.Errorf("%d deployments: %v", len(all), err)
	}
	return all[0], nil
}

// ground is a world in a process of its own.
type ground struct {
	at   string
	stop func()
}

func startGround(ctx context.Context, c rehearse.Case) (ground, error) {
	cmd := exec.CommandContext(ctx, "ground")
	in, err := cmd.StdinPipe()
	if err != nil {
		return ground{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return ground{}, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return ground{}, err
	}
	stop := func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	if err := json.NewEncoder(in).Encode(simtest.Format(c)); err != nil {
		stop()
		return ground{}, err
	}
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return ground{}, fmt.Errorf("the ground does not start: %w", err)
	}
	return ground{strings.TrimSpace(at), stop}, nil
}
