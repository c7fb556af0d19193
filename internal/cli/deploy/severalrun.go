package deploy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// job is the work on one of several applications.
type job struct {
	path    string // as given on the command line
	name    string // of the application
	service string // cluster/service
	start   func(ctx context.Context, p *program) error

	started bool
	end     runEnd // of its last run
	err     error  // why it has no outcome
	exit    int
}

// severalRun runs jobs concurrently.
type severalRun struct {
	program       *program
	command       string // deploy or resume
	jobs          []*job
	stopAtFailure bool // a failed job stops the start of the others
	view          *show.Several
	failed        atomic.Bool
}

// run runs all jobs, at most limit at once, and prints their results. The exit code is that of the
// worst result.
func (r *severalRun) run(ctx context.Context, limit int) error {
	r.nameJobs()
	c, _, err := r.program.OpenClock()
	if err != nil {
		return err
	}
	names := make([]string, len(r.jobs))
	for i, x := range r.jobs {
		names[i] = x.name
	}
	r.view = r.program.Terminal().NewSeveral(names, c)
	clearNotes := r.program.Notices.SetShower(r.view)
	clearInterrupt := r.program.Notices.SetInterrupt(r.view,
		"pausing all at a safe point; press Ctrl-C again to exit immediately")
	r.runJobs(ctx, limit)
	clearInterrupt()
	clearNotes()
	r.view.Close()
	r.printSummary(ctx)
	codes := make([]int, len(r.jobs))
	for i, x := range r.jobs {
		codes[i] = x.exit
	}
	return session.ExitWith(sluice.WorstExit(codes...))
}

// nameJobs gives the jobs different names: that of the application, or the path if several have the
// same name or none.
func (r *severalRun) nameJobs() {
	count := map[string]int{}
	for _, x := range r.jobs {
		count[x.name]++
	}
	for _, x := range r.jobs {
		if x.name == "" || count[x.name] > 1 {
			x.name = x.path
		}
	}
}

// runJobs starts the jobs in their order and waits for their end. After an interrupt, or after a
// failure with stopAtFailure, it starts no more of them.
func (r *severalRun) runJobs(ctx context.Context, limit int) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, limit)
	for i := range r.jobs {
		if !r.waitForSlot(ctx, slots) {
			r.skipJob(ctx, i)
			continue
		}
		r.jobs[i].started = true
		wait.Go(func() {
			defer func() { <-slots }()
			r.runJob(ctx, i)
		})
	}
	wait.Wait()
}

// waitForSlot takes a slot for the next job. It returns false, without a slot, if no more jobs start.
func (r *severalRun) waitForSlot(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil || r.stopAtFailure && r.failed.Load() {
		<-slots
		return false
	}
	return true
}

func (r *severalRun) skipJob(ctx context.Context, i int) {
	x := r.jobs[i]
	if ctx.Err() != nil {
		x.exit = sluice.ExitStopped
	}
	r.view.SetState(i, "not started", true)
	if r.program.Flags.Output == session.JSON {
		t := r.view.Terminal(i)
		t.NewJSONLines(x.name).ShowEvent(sluice.Seal("", "", sluice.Noted{Message: "not started: " + x.service}))
	}
}

// runJob runs one job.
func (r *severalRun) runJob(ctx context.Context, i int) {
	x := r.jobs[i]
	t := r.view.Terminal(i)
	child := &program{Session: r.program.Child(t), onEnd: func(e runEnd) { x.end = e }}
	r.view.SetState(i, "begins", false)
	x.err = session.RunGuarded(r.command, x.service, func() error { return x.start(ctx, child) })
	var ended session.ExitStatus
	switch {
	case errors.As(x.err, &ended):
		x.exit, x.err = int(ended), x.end.err
	case x.err != nil:
		x.exit = session.ExitCode(x.err)
	}
	if x.err != nil {
		child.PrintError(x.err)
	}
	r.setFailed(x)
	r.view.SetState(i, x.resultText(), true)
}

// setFailed notes that a job has failed. A deployment that waits for approval has not.
func (r *severalRun) setFailed(x *job) {
	if x.exit != sluice.ExitDone && x.exit != sluice.ExitAwaitApprove {
		r.failed.Store(true)
	}
}

// resultText returns the result of a job in one or two words.
func (x *job) resultText() string {
	d := x.end.deployment
	switch {
	case !x.started:
		return "not started"
	case d.ID == "" && x.err == nil && x.exit == sluice.ExitDone:
		return "no changes"
	case d.ID == "" && x.err == nil:
		return "not healthy"
	case d.ID == "":
		return "error"
	case d.State == journal.Ended:
		return string(d.Outcome)
	case d.State == journal.Waiting:
		return "waiting"
	}
	return "paused"
}
