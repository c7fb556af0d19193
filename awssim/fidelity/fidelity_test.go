package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim"
)

var update = flag.Bool("update", false, "write rows.txt anew from FIDELITY.md")

// leaping is a clock on which every wait is over at once.
type leaping struct {
	mu  sync.Mutex
	now time.Time
}

func (l *leaping) Now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *leaping) Sleep(ctx context.Context, d time.Duration) error {
	l.mu.Lock()
	l.now = l.now.Add(d)
	l.mu.Unlock()
	return ctx.Err()
}

const world = `
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcde00, subnet-0123456789abcde01]
clusters: [prod]
services:
  - {name: web, controller: EXTERNAL, count: 1, image: "sim/web:v1"}
%KNOBS%
`

func newSim(t *testing.T, knobs string) (*awssim.Sim, *leaping, options) {
	t.Helper()
	clock := &leaping{now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	sim, err := awssim.New(awssim.Options{Clock: clock, Seed: 7, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Load("world.yaml", []byte(strings.ReplaceAll(world, "%KNOBS%", knobs))); err != nil {
		t.Fatal(err)
	}
	return sim, clock,
		options{vpc: vpcOf(sim), subnets: []string{"subnet-0123456789abcde00", "subnet-0123456789abcde01"},
			balancer: true, yes: true, only: regexp.MustCompile("")}
}

// The rows of the program are those of FIDELITY.md: a new row there needs a check, or
// a reason why there is none.
func TestRowsAreThoseOfThePage(t *testing.T) {
	text, err := os.ReadFile("../FIDELITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	section := ""
	for _, line := range strings.Split(string(text), "\n") {
		if s, ok := strings.CutPrefix(line, "## "); ok {
			section = s
		}
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| behaviour |") {
			behaviour, _, _ := strings.Cut(line[2:], " | ")
			want.WriteString(section + "\t" + behaviour + "\n")
		}
	}
	if *update {
		if err := os.WriteFile("rows.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		rowsText = want.String()
	}
	if rowsText != want.String() {
		t.Error("rows.txt is not FIDELITY.md's rows; run go test ./awssim/fidelity -update")
	}
	all, err := allRows()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.check == nil && r.reason == "" {
			t.Errorf("%s: %s has neither a check nor a reason", r.section, r.text)
		}
	}
}

// The local AWS agrees with every row that can be checked, and nothing is left in it.
func TestTheLocalAWSAgrees(t *testing.T) {
	sim, clock, o := newSim(t, "")
	before := standing(t, sim)
	var out bytes.Buffer
	differs, err := run(context.Background(), o, sim.Config(), clock, &out)
	if err != nil || differs > 0 || strings.Contains(out.String(), "\nnot checked") ||
		strings.Contains(out.String(), "\nfailed") {
		t.Errorf("%d differ, %v\n%s", differs, err, out.String())
	}
	if n := strings.Count(out.String(), "\nagrees"); n < 40 {
		t.Errorf("%d rows agree", n)
	}
	if after := standing(t, sim); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}

// A law that was changed is told as a difference.
func TestAnotherLawIsADifference(t *testing.T) {
	sim, clock, o := newSim(t, "knobs: {taskSetLimit: 6}")
	o.only = regexp.MustCompile("^Five task sets")
	var out bytes.Buffer
	differs, err := run(context.Background(), o, sim.Config(), clock, &out)
	if err != nil || differs != 1 ||
		!strings.Contains(out.String(), "the sixth task set: AWS accepts it, the local AWS refuses it") {
		t.Errorf("%d differ, %v\n%s", differs, err, out.String())
	}
	sim, clock, o = newSim(t, "knobs: {instanceHealthGap: 40s}")
	o.only = regexp.MustCompile("^The health of a new instance")
	out.Reset()
	if differs, err := run(context.Background(), o, sim.Config(), clock, &out); err != nil || differs != 1 {
		t.Errorf("%d differ, %v\n%s", differs, err, out.String())
	}
}

// Without --yes nothing is made; what would be made, and its cost, is printed.
func TestNothingIsMadeUnasked(t *testing.T) {
	sim, clock, o := newSim(t, "")
	o.yes = false
	before := standing(t, sim)
	var out bytes.Buffer
	if _, err := run(context.Background(), o, sim.Config(), clock, &out); err != errNotConfirmed {
		t.Error(err)
	}
	if standing(t, sim) != before || !strings.Contains(out.String(), "0.0225 USD an hour") ||
		!strings.Contains(out.String(), "prefix \"awssim-fid-") {
		t.Errorf("%s", out.String())
	}
}

// interrupting ends a context once so many rows have been told.
type interrupting struct {
	io.Writer
	left int
	end  context.CancelFunc
}

func (i *interrupting) Write(p []byte) (int, error) {
	i.left -= bytes.Count(p, []byte("\n"))
	if i.left <= 0 {
		i.end()
	}
	return i.Writer.Write(p)
}

// Ctrl-C at any row leaves nothing behind.
func TestAnInterruptedRunRemovesWhatItCreated(t *testing.T) {
	for lines := 8; lines < 400; lines += 16 {
		sim, clock, o := newSim(t, "")
		before := standing(t, sim)
		ctx, end := context.WithCancel(context.Background())
		_, err := run(ctx, o, sim.Config(), clock, &interrupting{io.Discard, lines, end})
		end()
		if after := standing(t, sim); after != before {
			t.Errorf("interrupted after %d lines (%v), left behind:\n%s", lines, err, after)
		}
	}
}

// dying is a clock that stops the program for good after so many waits, as a kill
// does.
type dying struct {
	*leaping
	left int
}

type killed struct{}

func (d *dying) Sleep(ctx context.Context, by time.Duration) error {
	if d.left--; d.left < 0 {
		panic(killed{})
	}
	return d.leaping.Sleep(ctx, by)
}

// What a killed run left is found by its tag and removed by --clean.
func TestCleanRemovesLeftoversOfAKilledRun(t *testing.T) {
	for _, waits := range []int{1, 12, 30, 60} {
		sim, clock, o := newSim(t, "")
		before := standing(t, sim)
		func() {
			defer func() { _ = recover() }()
			s := newSite(o, sim.Config(), &dying{clock, waits})
			all, err := allRows()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				r.reportResult(context.Background(), s, io.Discard)
			}
		}()
		if standing(t, sim) == before {
			t.Fatalf("a run that was killed after %d waits left nothing", waits)
		}
		o.clean = true
		var out bytes.Buffer
		if _, err := run(context.Background(), o, sim.Config(), clock, &out); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
		_ = clock.Sleep(context.Background(), 2*time.Minute)
		sim.World().Advance()
		if after := standing(t, sim); after != before {
			t.Errorf("after --clean:\n%s\n%s", after, out.String())
		}
	}
}
