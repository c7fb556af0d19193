package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Status is the progress of a stage.
type Status string

const (
	Running Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"
)

// Result is the recorded state of a stage that has begun.
type Result struct {
	Index  int
	Status Status
	Began  time.Time
	Kind   sluice.Kind // of a failure
	Cause  string      // of a failure
	// Trouble is why a WAIT or an approval must not pass although its time is over: the version
	// that serves is less healthy than before. The process that polls its health sets it. It is
	// empty while the version is healthy.
	Trouble string
	// Gates is the verdict of the gates of a waiting stage. Nil: this process has not read them yet.
	Gates *GateStatus
	// Asked is when the stage asked a person about its gates last. Zero: it has not.
	Asked time.Time
}

// GateStatus is the verdict of all gates of a stage. A bad gate is a failure of the stage instead.
type GateStatus struct {
	AllGood bool
	AtEnd   bool // the time of the stage was over: reactions to missing verdicts are part of the status
	// Undecided names the gates without a verdict that a person must decide; empty: none.
	Undecided string
}

// Command is a user's request to a running deployment.
type Command struct {
	Kind  string // approve, pause, resume, abort, rollback
	Stage int    // approve: index of the stage
	By    string
	At    time.Time
}

// Commands that users give.
const (
	Approve     = "approve"
	Pause       = "pause"
	Resume      = "resume"
	Abort       = "abort"
	RollbackNow = "rollback"
)

// Step says what runs next.
type Step struct {
	Do      Do
	Index   int       // of the stage; len(Stages) is the rollback
	Until   time.Time // WaitUntil
	Missing int       // AwaitApproval: how many approvals are missing
	Expired bool      // AwaitApproval: the stage's timeout has passed
	Trouble string    // WaitUntil: why the stage does not pass although its time is over
	Judges  bool      // WaitUntil: the time or the approvals are complete, and gates are still to be judged
	// Undecided names the gates without a verdict, for AwaitApproval of a stage that is no approval.
	Undecided string
	Passed    []int // WAIT and WAIT_APPROVAL stages that are over by now

	Outcome sluice.Outcome // Finish
	Cause   string         // Finish, and RunStage of the rollback: why
}

// Do is the kind of a [Step].
type Do string

const (
	RunStage      Do = "run stage"
	WaitUntil     Do = "wait until"
	AwaitApproval Do = "await approval"
	StayPaused    Do = "hold" // a person paused it
	Finish        Do = "finish"
)

// Next decides what runs next and what a failure leads to. The engine calls it again after each
// stage, each command and each wait. It depends on its arguments alone.
func Next(p *Plan, results []Result, commands []Command, now time.Time) Step {
	byIndex := map[int]Result{}
	for _, r := range results {
		byIndex[r.Index] = r
	}
	if back, ok := byIndex[len(p.Stages)]; ok {
		return afterRollback(p, back, byIndex, commands)
	}
	switch CommandInForce(commands) {
	case Abort:
		return Step{Do: Finish, Outcome: sluice.Stopped, Cause: abortCause(commands, "")}
	case RollbackNow:
		return Step{Do: RunStage, Index: len(p.Stages), Cause: "requested by a user"}
	case Pause:
		return Step{Do: StayPaused}
	}
	return nextForward(p, byIndex, commands, now)
}

// CommandInForce returns the command that applies now: the last abort or rollback. A pause takes
// precedence until it is resumed.
func CommandInForce(commands []Command) string {
	end, paused := "", false
	for _, c := range commands {
		switch c.Kind {
		case Abort, RollbackNow:
			end, paused = c.Kind, false
		case Pause:
			paused = true
		case Resume:
			paused = false
		}
	}
	if paused {
		return Pause
	}
	return end
}

// abortCause says who aborted the deployment, and when.
func abortCause(commands []Command, when string) string {
	by := ""
	for _, c := range commands {
		if c.Kind == Abort && c.By != "" {
			by = " by " + c.By
		}
	}
	return "aborted" + when + by + "; the current state is kept"
}

func nextForward(p *Plan, byIndex map[int]Result, commands []Command, now time.Time) Step {
	var passed []int
	for _, s := range p.Stages {
		r, begun := byIndex[s.Index]
		switch {
		case begun && r.Status == Done:
			continue
		case begun && r.Status == Failed && r.Kind.CanResume():
			// a failed call to AWS is no verdict on the version
			return Step{Do: RunStage, Index: s.Index, Passed: passed}
		case begun && r.Status == Failed:
			return afterFailure(p, r)
		case s.IsWait() && !s.NeedsApproval():
			if !begun {
				return Step{Do: WaitUntil, Index: s.Index, Until: now.Add(s.Duration), Passed: passed}
			}
			if step, waits := nextOfWait(p, s, r, commands, now); waits {
				step.Passed = passed
				return step
			}
		case s.NeedsApproval():
			var end time.Time // of the time to approve; zero: none
			if begun && s.Timeout > 0 {
				end = r.Began.Add(s.Timeout)
			}
			if n := missingApprovals(s, commands, time.Time{}, end); n > 0 {
				late := !end.IsZero() && !now.Before(end)
				return Step{Do: AwaitApproval, Index: s.Index, Missing: n, Expired: late, Passed: passed}
			}
			if step, waits := nextAtEnd(p, s, r, commands, now); waits {
				step.Passed = passed
				return step
			}
		default:
			return Step{Do: RunStage, Index: s.Index, Passed: passed}
		}
		passed = append(passed, s.Index)
	}
	if p.Idle {
		return Step{Do: Finish, Outcome: sluice.Gone, Cause: p.IdleCause(), Passed: passed}
	}
	return Step{Do: Finish, Outcome: sluice.Succeeded, Passed: passed}
}

// nextOfWait returns what a stage that has begun waits for: its time, its gates, or a healthy version. waits
// is false if the stage is over.
func nextOfWait(p *Plan, s Stage, r Result, commands []Command, now time.Time) (step Step, waits bool) {
	until := r.Began.Add(s.Duration)
	isGood := r.Gates != nil && r.Gates.AllGood && s.JudgesGates()
	switch {
	case now.Before(until) && (!isGood || r.Trouble != ""):
		return Step{Do: WaitUntil, Index: s.Index, Until: until}, true
	case isGood && r.Trouble == "":
		return Step{}, false
	}
	return nextAtEnd(p, s, r, commands, now)
}

// nextAtEnd returns what a stage waits for whose time or approvals are complete: its gates, or a healthy version. waits
// is false if the stage is over.
func nextAtEnd(p *Plan, s Stage, r Result, commands []Command, now time.Time) (step Step, waits bool) {
	switch {
	case r.Trouble != "":
		return Step{Do: WaitUntil, Index: s.Index, Until: now.Add(troubleRecheck), Trouble: r.Trouble}, true
	case p.MayAsk(s.Index) && (r.Gates == nil || !r.Gates.AtEnd):
		return Step{Do: WaitUntil, Index: s.Index, Until: now.Add(troubleRecheck), Judges: true}, true
	case r.Gates == nil || r.Gates.Undecided == "":
		return Step{}, false
	}
	n := r.missingDecisions(s, commands)
	return Step{Do: AwaitApproval, Index: s.Index, Missing: n, Undecided: r.Gates.Undecided}, n > 0
}

// EndsNoWait reports whether a process that does not wait (--no-wait) ends at a stage that waits. It ends at an
// approval. It judges gates, because no other process does, and waits if an approval follows, which is where it ends
// then.
func (p *Plan) EndsNoWait(index int) bool {
	s := p.Stages[index]
	return s.NeedsApproval() ||
		s.IsWait() && !p.HasGates(index) && !slices.ContainsFunc(p.Stages[index+1:], Stage.NeedsApproval)
}

// EndsAfter reports whether no approval and no gate follows a stage: AWS may finish the stage without a process of sluice.
func (p *Plan) EndsAfter(index int) bool {
	for i := index + 1; i < len(p.Stages); i++ {
		if p.Stages[i].NeedsApproval() || p.HasGates(i) {
			return false
		}
	}
	return true
}

// missingDecisions returns how many people must still approve the stage since it asked about its gates. An earlier
// approval was given without knowing that the gates are undecided.
func (r Result) missingDecisions(s Stage, commands []Command) int {
	if r.Asked.IsZero() {
		return missingApprovals(s, nil, time.Time{}, time.Time{})
	}
	return missingApprovals(s, commands, r.Asked, time.Time{})
}

// troubleRecheck is the time until the trouble of a waiting stage is checked again.
const troubleRecheck = time.Second

// missingApprovals returns how many people must still approve the stage. An approval before since, at end or later
// does not count, also if no process read it at that time.
func missingApprovals(s Stage, commands []Command, since, end time.Time) int {
	yes := map[string]bool{}
	for _, c := range commands {
		if c.Kind != Approve || c.Stage != s.Index || c.At.Before(since) || !end.IsZero() && !c.At.Before(end) {
			continue
		}
		if mayApprove(s, c.By) {
			yes[c.By] = true
		}
	}
	return max(1, s.Approvals) - len(yes)
}

func mayApprove(s Stage, by string) bool {
	if len(s.Approvers) == 0 {
		return true
	}
	for _, a := range s.Approvers {
		if a == by {
			return true
		}
	}
	return false
}

// afterFailure decides the step after a failed stage. If another deployment or a person took the
// service over, the deployment ends without changes. Any other failure is rolled back if the file
// asks for it.
func afterFailure(p *Plan, r Result) Step {
	switch r.Kind {
	case sluice.Overtaken, sluice.LostClaim, sluice.Halted:
		return Step{Do: Finish, Outcome: r.Kind.Outcome(), Cause: r.Cause}
	}
	if keeps, effect := p.KeepsFailed(r.Index); keeps {
		return Step{Do: Finish, Outcome: r.Kind.Outcome(), Cause: r.Cause + effect}
	}
	if !p.AutoRollback {
		return Step{Do: Finish, Outcome: r.Kind.Outcome(), Cause: r.Cause}
	}
	return Step{Do: RunStage, Index: len(p.Stages), Cause: r.Cause}
}

// LastDeployingStage returns the last stage that is no task of the files: the failure of the version after all stages is
// its failure.
func (p *Plan) LastDeployingStage() (last Stage) {
	for _, s := range p.Stages {
		if s.Task == nil {
			last = s
		}
	}
	return last
}

// KeepsFailed reports whether a failure of the stage is not rolled back although others are: that of a task, unless the
// file asks for it at the task. effect completes the cause.
func (p *Plan) KeepsFailed(index int) (keeps bool, effect string) {
	t := p.Stages[index].Task
	if t == nil || t.Rollback {
		return false, ""
	}
	return true, t.failureEffect(p.Mode().HasService())
}

// failureEffect describes the state of the service after a failed step. The work of the step itself
// cannot be rolled back.
func (t *Task) failureEffect(hasService bool) string {
	switch {
	case t.When == StepBefore && !hasService:
		return "; no later task was run"
	case t.When == StepBefore:
		return "; the service was not changed"
	case t.When == StepAfter:
		return "; the new revision stays"
	}
	return ""
}

func afterRollback(p *Plan, back Result, byIndex map[int]Result, commands []Command) Step {
	cause := failureCause(p, byIndex)
	if back.Status == Failed && back.Kind.CanResume() {
		back.Status = Running
	}
	switch back.Status {
	case Done:
		return Step{Do: Finish, Outcome: sluice.RolledBack, Cause: cause}
	case Failed:
		outcome := back.Kind.Outcome()
		if outcome != sluice.Superseded {
			outcome = sluice.Failed // no version is known to serve
		}
		return Step{Do: Finish, Outcome: outcome, Cause: joinCauses(cause, "rollback: "+back.Cause)}
	}
	switch CommandInForce(commands) {
	case Abort:
		return Step{Do: Finish, Outcome: sluice.Stopped, Cause: abortCause(commands, " during the rollback")}
	case Pause:
		return Step{Do: StayPaused}
	}
	return Step{Do: RunStage, Index: len(p.Stages), Cause: cause}
}

// failureCause returns the cause of the stage that failed, if one did.
func failureCause(p *Plan, byIndex map[int]Result) string {
	for _, s := range p.Stages {
		if r := byIndex[s.Index]; r.Status == Failed {
			return r.Cause
		}
	}
	return "requested by a user"
}

func joinCauses(a, b string) string {
	if a == "" || strings.HasSuffix(b, a) {
		return b
	}
	return a + "; " + b
}
