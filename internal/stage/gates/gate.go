package gates

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// gate is one gate that is read.
type gate struct {
	appfile.Gate
	reader  reader
	saved   memory.Gate
	problem string // of the last read
	emitted string // text of the last event

	mu        sync.Mutex
	isReading bool
	startedAt time.Time
	look      *analysis.Look // read, and not taken yet
}

// reader reads what a gate judges.
type reader interface {
	read(ctx context.Context, t times) analysis.Look
}

// times are the times of one read.
type times struct {
	since time.Time // the gate counts from then on
	last  time.Time // of the read before; since at the first one
	now   time.Time
}

// takeLook returns the result of the last read, once.
func (g *gate) takeLook() *analysis.Look {
	g.mu.Lock()
	defer g.mu.Unlock()
	look := g.look
	g.look = nil
	return look
}

// startRead starts a read beside the stage if one is due. The first is due one interval after the gate
// begins to count.
func (g *gate) startRead(ctx context.Context, s *step.Step, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isReading || g.look != nil || now.Before(g.nextRead()) {
		return
	}
	g.isReading, g.startedAt = true, now
	t := times{since: g.saved.Since, last: g.saved.Since, now: now}
	if g.saved.Read.After(t.last) {
		t.last = g.saved.Read
	}
	s.Clock.Go(func() {
		ctx, cancel := s.Clock.WithTimeout(account.WithOptionalReads(ctx), s.Clock.NetworkTime(g.Timeout))
		defer cancel()
		look := g.reader.read(ctx, t)
		look.At = now
		g.mu.Lock()
		defer g.mu.Unlock()
		g.isReading, g.look = false, &look
	})
}

// nextRead returns when the next read is due: after a whole number of intervals since the gate began to count. A
// read that began late does not move those after it, so that the stage does not lose its last one.
func (g *gate) nextRead() time.Time {
	last := g.saved.Since
	for _, at := range []time.Time{g.saved.Read, g.startedAt} {
		if at.After(last) {
			last = at
		}
	}
	n := last.Sub(g.saved.Since) / g.Interval
	return g.saved.Since.Add((n + 1) * g.Interval)
}

// pollDelay is the time after which a read that runs is looked at again.
const pollDelay = time.Second

// nextPoll returns when the next poll has something to do.
func (g *gate) nextPoll() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isReading || g.look != nil {
		return g.startedAt.Add(pollDelay)
	}
	return g.nextRead()
}

// verdict judges what the gate has seen. At the end of the stage, a gate without a verdict follows its
// reactions; it is undecided then only if a person must decide.
func (g *gate) verdict(atEnd bool) (analysis.Verdict, analysis.Judgement) {
	j := g.How.Judge(g.saved.State)
	if atEnd {
		j = g.How.JudgeAtEnd(g.saved.State)
	}
	if j.Verdict != analysis.Undecided {
		return j.Verdict, j
	}
	switch {
	case j.Silent:
		return g.react(g.OnError, atEnd, j)
	case atEnd:
		if j.Reason == "" {
			j.Reason = "the time is over without a verdict: " + j.Text()
		}
		return g.react(g.OnUndecided, true, j)
	}
	return j.Verdict, j
}

// react returns the verdict that a reaction leads to. It is final only at the end.
func (g *gate) react(r appfile.Reaction, atEnd bool, j analysis.Judgement) (analysis.Verdict, analysis.Judgement) {
	if atEnd {
		r = reactionOf(g.Gate, r, j)
	}
	switch {
	case r == appfile.Fail:
		return analysis.Bad, j
	case r == appfile.Pass && atEnd:
		return analysis.Good, j
	}
	return analysis.Undecided, j
}

// reactionOf returns the reaction at the end of a stage. A gate that has seen no value never passes: it fails in
// files of PipeCD, where no person is asked, and asks in others.
func reactionOf(g appfile.Gate, r appfile.Reaction, j analysis.Judgement) appfile.Reaction {
	switch {
	case r != appfile.Pass || j.HasValues:
		return r
	case g.How.PipeCD:
		return appfile.Fail
	}
	return appfile.Hold
}

// awaitsReading reports whether a reading runs, or was due at a time and is not taken yet.
func (g *gate) awaitsReading(at time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isReading || g.look != nil || !g.nextRead().After(at)
}

// emit reports the figures of the gate, if they have changed.
func (g *gate) emit(s *step.Step, ev sluice.GateRead) {
	if text := ev.Text(); text != g.emitted {
		g.emitted = text
		s.Host.Emit(ev)
	}
}

// figures returns the event of a judgement.
func (g *gate) figures(v analysis.Verdict, j analysis.Judgement) sluice.GateRead {
	ev := sluice.GateRead{Gate: g.Name, Verdict: sluice.GateVerdict(v), DryRun: g.DryRun, Problem: g.problem,
		Left:     sluice.Duration(j.Left),
		Readings: j.Looks + j.Problems, WithoutValues: j.Empty + j.Problems}
	switch {
	case g.Counts() && v == analysis.Undecided && !j.Silent && j.Reason != "":
		ev.Canary, ev.Detail = countOf(j.Canary), j.Reason
	case g.Counts():
		ev.Canary, ev.Odds, ev.Evidence, ev.Needed = countOf(j.Canary), j.Odds, j.Evidence, j.Needed
		if g.Compares() {
			ev.Primary = countOf(j.Primary)
		}
	case v == analysis.Bad:
		ev.Detail = j.Reason
	case g.ComparesWithEarlier() && g.Earlier.IsZero() && (v == analysis.Good || g.OnUndecided != appfile.Pass):
		ev.Detail = "no earlier deployment is known to compare with"
	case j.Lacking != "" && !j.HasValues:
		ev.Detail = "no values: " + j.Lacking
	default:
		ev.Detail = fmt.Sprintf("%d of %s failed", j.Failures, sluice.Plural(ev.Readings, "reading"))
		if v == analysis.Good && j.Failures > 0 {
			ev.Detail += fmt.Sprintf(", %d tolerated", j.Limit)
		}
	}
	if v == analysis.Good && j.Verdict == analysis.Undecided {
		ev.Detail = strings.TrimPrefix(ev.Detail+"  no verdict, and the file lets it pass", "  ")
	}
	return ev
}

func countOf(c analysis.Counts) *sluice.GateCount { return &sluice.GateCount{Bad: c.Bad, All: c.All} }
