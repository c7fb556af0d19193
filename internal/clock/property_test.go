package clock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/internal/clock"
)

// step is one thing that an actor of a drawn program does.
type step struct {
	op    string
	d     time.Duration
	child []step
}

var ops = []string{"sleep", "sleep under timeout", "go", "all", "cancel group", "new group", "yield"}

func drawProgram(t *rapid.T, depth int) []step {
	n := rapid.IntRange(0, 6).Draw(t, "steps")
	steps := make([]step, n)
	for i := range steps {
		steps[i].op = rapid.SampledFrom(ops).Draw(t, "op")
		steps[i].d = time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
		if depth > 0 && (steps[i].op == "go" || steps[i].op == "all") {
			steps[i].child = drawProgram(t, depth-1)
		}
	}
	return steps
}

// player plays a program and notes what it saw; broken are broken promises.
type player struct {
	trace
	actors int
	last   time.Time
	broken []string
}

func (p *player) play(ctx context.Context, steps []step) {
	p.actors++
	me := p.actors
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel() }()
	for _, s := range steps {
		switch s.op {
		case "sleep":
			p.sleep(me, ctx, s.d)
		case "sleep under timeout":
			short, end := p.v.WithTimeout(ctx, 2*time.Second)
			p.sleep(me, short, s.d)
			end()
		case "go":
			p.v.Go(func() { p.play(ctx, s.child) })
		case "all":
			clock.All(p.v, func() { p.play(ctx, s.child) }, func() { p.sleep(me, ctx, s.d) })
		case "cancel group":
			cancel()
		case "new group":
			cancel()
			ctx, cancel = p.v.WithTimeout(bg, s.d+time.Second)
		case "yield":
			p.sleep(me, ctx, 0)
		}
	}
	p.add("%d ends", me)
}

// sleep checks what Sleep promises: a nil error means exactly d later, an error
// means that ctx is done and not later than d.
func (p *player) sleep(me int, ctx context.Context, d time.Duration) {
	began := p.v.Now()
	err := p.v.Sleep(ctx, d)
	took := p.v.Now().Sub(began)
	p.add("%d slept %v of %v: %v", me, took, d, err)
	switch {
	case p.v.Now().Before(p.last):
		p.broken = append(p.broken, "time went back")
	case err == nil && took != d:
		p.broken = append(p.broken, "woke at another time than asked")
	case err != nil && (took > d || ctx.Err() == nil || !errors.Is(err, context.Cause(ctx))):
		p.broken = append(p.broken, "woke with an error that is not its context's")
	}
	p.last = p.v.Now()
}

func TestSameProgramTwiceGivesTheSameTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program := drawProgram(t, 3)
		once := func() *player {
			p := &player{}
			p.v = clock.NewVirtual(epoch)
			p.v.Run(func() { p.play(bg, program) })
			return p
		}
		a, b := once(), once()
		if !slices.Equal(a.lines, b.lines) {
			t.Fatalf("first\n%s\nsecond\n%s", strings.Join(a.lines, "\n"), strings.Join(b.lines, "\n"))
		}
		if len(a.broken) > 0 {
			t.Fatalf("%v in\n%s", a.broken, strings.Join(a.lines, "\n"))
		}
	})
}
