package sluice

import "slices"

// Outcome is how a deployment or a wait ended. Verdicts, events, exit codes and
// the Pulumi resource share this one list.
type Outcome string

const (
	// Succeeded: the revision asked for serves.
	Succeeded Outcome = "succeeded"
	// Failed: it does not serve and was not rolled back.
	Failed Outcome = "failed"
	// RolledBack: what served before serves again.
	RolledBack Outcome = "rolled back"
	// Superseded: another deployment took its place or holds the service.
	Superseded Outcome = "superseded"
	// Stalled: nothing moved until the progress deadline.
	Stalled Outcome = "stalled"
	// TimedOut: a hard limit passed before the end was known.
	TimedOut Outcome = "timed out"
	// Stopped: a person stopped it.
	Stopped Outcome = "stopped"
	// Gone: the service or what carried the deployment does not exist any more, or no task is to run.
	Gone Outcome = "gone"
)

// Kind classes an error by what follows from it. The zero value is an error of
// use: input, files, a precondition that does not hold.
type Kind string

const (
	// Denied: AWS refused credentials or permission.
	Denied Kind = "denied"
	// Throttled: AWS refused the rate, longer than the retry policy waits.
	Throttled Kind = "throttled"
	// Unreachable: AWS gave no answer, or one that is not AWS's: connection refused, timeout, 5xx, proxy page.
	Unreachable Kind = "no answer"
	// NotFound: the resource does not exist (any more).
	NotFound Kind = "not found"
	// Conflict: AWS's state forbids the call.
	Conflict Kind = "conflict"
	// Unhealthy: tasks or targets of the new version failed.
	Unhealthy Kind = "unhealthy"
	// Stall: no progress until the deadline.
	Stall Kind = "stalled"
	// Overtaken: another deployment took over.
	Overtaken Kind = "superseded"
	// OutsideChange: somebody else changed what we steer.
	OutsideChange Kind = "outside change"
	// Halted: a person stopped it.
	Halted Kind = "stopped"
	// LostClaim: our claim on the service is no longer there.
	LostClaim Kind = "lost claim"
)

// Exit codes of the command line. Documented in docs/reference; never reused.
const (
	ExitDone         = 0 // done
	ExitUsage        = 1 // error in use or files
	ExitChanges      = 2 // plan has changes (--detailed-exitcode)
	ExitRolledBack   = 3 // failed and rolled back
	ExitStopped      = 4 // stopped by a person
	ExitFailed       = 5 // failed and not rolled back
	ExitSuperseded   = 6 // superseded, or held by another
	ExitDenied       = 7 // no access to AWS: no answer, or credentials or permissions refused
	ExitAwaitApprove = 8 // waiting for approval, with --no-wait
	ExitUndecided    = 9 // ended undecided: timed out, stalled, gone
)

// ExitCode maps an outcome to the exit code. It is the one table.
func (o Outcome) ExitCode() int {
	switch o {
	case Succeeded:
		return ExitDone
	case RolledBack:
		return ExitRolledBack
	case Stopped:
		return ExitStopped
	case Failed:
		return ExitFailed
	case Superseded:
		return ExitSuperseded
	case Stalled, TimedOut, Gone:
		return ExitUndecided
	}
	return ExitUsage
}

// severity orders exit codes from the worst to the best: what does not serve and
// was not put back comes first.
var severity = []int{ExitFailed, ExitUndecided, ExitDenied, ExitRolledBack, ExitSuperseded, ExitStopped, ExitUsage, ExitAwaitApprove, ExitChanges, ExitDone}

// WorstExit is the exit code of a command on several services: the worst of
// theirs, 0 if there is none.
func WorstExit(codes ...int) int {
	for _, worst := range severity {
		if slices.Contains(codes, worst) {
			return worst
		}
	}
	return ExitDone
}

// Outcome is what an error of kind k makes of a deployment that is not rolled
// back.
func (k Kind) Outcome() Outcome {
	switch k {
	case Stall, Throttled:
		return Stalled
	case Overtaken, LostClaim:
		return Superseded
	case Halted:
		return Stopped
	}
	return Failed
}

// CanResume reports whether an error of kind k says nothing about the
// deployment: AWS could not be asked. The deployment pauses and can be resumed.
func (k Kind) CanResume() bool {
	switch k {
	case Denied, Throttled, Unreachable:
		return true
	}
	return false
}

// ExitCode is the exit code of a command that ends with an error of kind k
// before any deployment began.
func (k Kind) ExitCode() int {
	switch k {
	case Denied, Unreachable:
		return ExitDenied
	case Overtaken, LostClaim:
		return ExitSuperseded
	case Halted:
		return ExitStopped
	case Unhealthy:
		return ExitFailed
	case Stall, Throttled:
		return ExitUndecided
	}
	return ExitUsage
}
