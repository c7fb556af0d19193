package rehearse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// Processes runs the deployment in processes of sluice, one after the other, with one journal.
type Processes struct {
	env          *Environment
	report       *Report
	deployment   *Deployment
	writes       *WriteChecks
	extension    *Extension
	onEvent      func(sluice.Envelope)
	onStageEnded func(n int)

	journal    *journal.Journal
	process    *process
	account    *account.Account
	engine     *engine.Engine
	personActs bool    // a person's command is being written
	first      process // counts of the first process
	count      int
}

// startDeployment plans the application and records its deployment.
func (p *Processes) startDeployment() (err error) {
	if err := p.start(); err != nil {
		return err
	}
	if p.deployment.application, err = p.env.Case.LoadApplication(); err != nil {
		return err
	}
	ctx := context.Background()
	live, err := survey.ReadInputs(ctx, p.account, p.env.Clock, p.deployment.application)
	if err != nil {
		return err
	}
	if p.deployment.Plan, err = mode.Make(p.deployment.application, live,
		mode.Options{QuickSync: p.env.Case.QuickSync}); err != nil {
		return err
	}
	p.deployment.startedAt = p.env.Clock.Now()
	p.personActs = true
	p.deployment.ID, err = p.engine.Start(ctx, p.deployment.Plan, engine.TriggerManual)
	p.personActs = false
	if err != nil {
		return err
	}
	for _, line := range p.env.Case.Faults {
		if err := p.env.Sim.Inject(line); err != nil {
			return err
		}
	}
	return nil
}

// start starts a process of sluice with the next kill of the case.
func (p *Processes) start() (err error) {
	l := &process{worldClock: p.env.Clock, onWriting: p.extension.OnWriting, onWrote: p.writes.checkWrite,
		giveUpAt: p.env.Clock.Now().Add(maxRun)}
	if p.count < len(p.env.Case.Kills) {
		l.kill = p.env.Case.Kills[p.count]
	}
	if p.count == 0 {
		l.fullDisk = p.env.Case.FullDisk
	}
	p.count++
	p.process = l
	if p.account, err = p.env.openAccount(l, l, p.writes.checkCall); err != nil {
		return err
	}
	owner := fmt.Sprintf("rehearsal/%d", p.count)
	p.engine = &engine.Engine{Journal: p.journal, Account: p.account, Clock: l, Owner: owner,
		IsAlive: func(o string) bool { return o == owner },
		NewID:   func() string { return plan.IDPrefix + "rehearsed" },
		OnEvent: p.onEvent}
	if p.extension.Outside != nil {
		p.engine.OutsideAWS = &stage.OutsideAWS{HTTP: &http.Client{Transport: p.extension.Outside}}
	}
	if p.deployment.ID == "" {
		return nil
	}
	if _, err := p.engine.RestoreSecrets(context.Background(), p.deployment.ID, p.deployment.application); err != nil {
		return err
	}
	return p.replayStageEnds()
}

// Delays before a person runs sluice again.
const (
	minRestartDelay = 5 * time.Second // at least, after a kill
	pauseRetryDelay = time.Minute     // after a pause: credentials, a full disk
	maxTries        = 20              // number of runs before the faults end
)

// maxRun is how long one run may take: longer than all deadlines of a deployment together.
const maxRun = 48 * time.Hour

// runUntilEnded runs the deployment, and runs it again after each kill and pause.
func (p *Processes) runUntilEnded() {
	for n := 1; ; n++ {
		end, err, died := p.runOnce()
		if p.count == 1 {
			p.first = *p.process
		}
		if !died && err == nil && end.State == journal.Ended {
			p.report.Result.Outcome, p.report.Result.Cause, p.report.Result.Next = end.Outcome, end.Cause, end.Next
			return
		}
		if p.process.isEndless {
			p.report.AddViolation("P2", "the deployment does not end: it still runs after %s", maxRun)
			return
		}
		if n == 2*maxTries {
			p.report.AddViolation("P2", "the deployment does not end: %s %v", end.State, err)
			return
		}
		wait := pauseRetryDelay
		if died {
			wait = max(minRestartDelay, p.env.Case.RestartDelay)
			p.report.LogLine("killed %s", p.process.endCause)
			if p.extension.OnKilled != nil {
				p.extension.OnKilled(p.process.endCause)
			}
		} else {
			p.deployment.WasPaused, p.report.Result.Paused = true, true
			p.report.LogLine("left: %s %v", end.State, err)
		}
		if n == maxTries {
			p.env.Sim.ClearFaults()
		}
		p.env.Sleep(wait)
		if err := p.start(); err != nil {
			p.report.Fail("sluice cannot be started again: %v", err)
			return
		}
	}
}

func (p *Processes) runOnce() (end engine.RunResult, err error, died bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.process.cancel = cancel
	defer func() {
		if r := recover(); r != nil {
			repanicUnlessKilled(r)
			died = true
		}
	}()
	end, err = p.engine.Run(ctx, p.deployment.ID, engine.Options{})
	return end, err, p.process.ended
}

// openJournal opens the journal. Its writes are hooked, so that a kill can end a process there.
func (p *Processes) openJournal() (err error) {
	if p.journal, err = journal.Open(cmp.Or(p.extension.JournalPath, journal.Memory), p.env.Clock); err != nil {
		return err
	}
	p.journal.WrapWrites(func(op string, write func() error) error {
		if p.personActs || p.process == nil || p.env.IsOver {
			return write()
		}
		return p.process.writeRow(op, func() error {
			err := write()
			if p.extension.OnRow != nil {
				p.extension.OnRow(op)
			}
			return err
		})
	})
	return nil
}

// replayStageEnds performs the interventions that wait for the end of a stage, if only a killed
// process received that event.
func (p *Processes) replayStageEnds() error {
	stages, err := p.journal.Stages(context.Background(), p.deployment.ID)
	for _, s := range stages {
		if s.Status == journal.StageDone {
			p.onStageEnded(s.Index + 1)
		}
	}
	return err
}

// SendCommand writes a person's command to the journal.
func (p *Processes) SendCommand(kind string) {
	p.personActs = true
	defer func() { p.personActs = false }()
	if _, err := p.journal.AddCommand(context.Background(), journal.Command{Deployment: p.deployment.ID, Kind: kind,
		By: "person"}); err != nil {
		p.report.Fail("%s: %v", kind, err)
	}
}

// approveStage approves for as many people as are missing.
func (p *Processes) approveStage(ev sluice.ApprovalAwaited) {
	p.personActs = true
	defer func() { p.personActs = false }()
	for n := range ev.Missing {
		by := fmt.Sprintf("person %d", n+1)
		if n < len(ev.Approvers) {
			by = ev.Approvers[n]
		}
		_, err := p.journal.AddCommand(context.Background(),
			journal.Command{Deployment: p.deployment.ID, Kind: journal.Approve,
				Stage: fmt.Sprint(ev.Index), By: by})
		if err != nil {
			p.report.Fail("approve: %v", err)
		}
	}
}

// journalText returns the deployment's rows in the journal.
func (p *Processes) journalText() (string, error) {
	ctx := context.Background()
	d, err := p.journal.Deployment(ctx, p.deployment.ID)
	events, err2 := p.journal.Events(ctx, p.deployment.ID, 0, 0)
	text, err3 := json.Marshal(events)
	return string(d.Plan) + d.Cause + string(text), errors.Join(err, err2, err3)
}

// LoadValue returns a value that the deployment saved.
func (p *Processes) LoadValue(key string) ([]byte, error) {
	value, _, err := p.journal.Load(context.Background(), p.deployment.ID, key)
	return value, err
}
