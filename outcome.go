package sluice

import "slices"

// Outcome is how a deployment or a wait ended. Verdicts, events, exit codes and the Pulumi resource
// share this one list.
type Outcome string

const (
	// Succeeded: the requested revision serves.
	Succeeded Outcome = "succeeded"
	// Failed: the revision does not serve and was not rolled back.
	Failed Outcome = "failed"
	// RolledBack: the previous revision serves again.
	RolledBack Outcome = "rolled back"
	// Superseded: another deployment replaced it or holds the claim on the service.
	Superseded Outcome = "superseded"
	// Stalled: no progress until the progress deadline.
	Stalled Outcome = "stalled"
	// TimedOut: a hard limit passed before the end was known.
	TimedOut Outcome = "timed out"
	// Stopped: a person stopped the deployment.
	Stopped Outcome = "stopped"
	// Gone: the service, or the task set or deployment that was followed, no longer exists, or the
	// desired count is 0.
	Gone Outcome = "gone"
)

// Kind classifies an error by its consequence. The zero value is an error of use: input, files, a
// precondition that is not met.
type Kind string

const (
	// Denied: AWS refused the credentials or the permission.
	Denied Kind = "denied"
	// Throttled: AWS throttled the calls for longer than the retry policy waits.
	Throttled Kind = "throttled"
	// Unreachable: AWS did not respond, or the response is not AWS's: connection refused, timeout,
	// 5xx, proxy page.
	Unreachable Kind = "no answer"
	// NotFound: the resource does not exist, or no longer exists.
	NotFound Kind = "not found"
	// Conflict: AWS's state forbids the call.
	Conflict Kind = "conflict"
	// Unhealthy: tasks or targets of the new version failed.
	Unhealthy Kind = "unhealthy"
	// Reverted: tasks or targets of the new version failed, and AWS has restored the former one.
	Reverted Kind = "reverted"
	// Stall: no progress until the deadline.
	Stall Kind = "stalled"
	// Overtaken: another deployment replaced this one.
	Overtaken Kind = "superseded"
	// OutsideChange: another process or person changed what the deployment controls.
	OutsideChange Kind = "outside change"
	// Halted: a person stopped the deployment.
	Halted Kind = "stopped"
	// LostClaim: the deployment's claim on the service no longer exists.
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
	ExitSuperseded   = 6 // superseded, or another deployment holds the claim
	ExitDenied       = 7 // no access to AWS: no answer, or credentials or permissions refused
	ExitAwaitApprove = 8 // waiting for approval, with --no-wait
	ExitUndecided    = 9 // ended undecided: timed out, stalled, gone
)

// ExitCode maps an outcome to the exit code. It is the only such table.
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

// exitSeverity orders exit codes from the worst to the best. A deployment that neither serves nor
// was rolled back is the worst.
var exitSeverity = []int{ExitFailed, ExitUndecided, ExitDenied, ExitRolledBack, ExitSuperseded, ExitStopped, ExitUsage,
	ExitAwaitApprove, ExitChanges, ExitDone}

// WorstExit returns the exit code of a command on several services: the worst of theirs, 0 if there
// are none.
func WorstExit(codes ...int) int {
	for _, worst := range exitSeverity {
		if slices.Contains(codes, worst) {
			return worst
		}
	}
	return ExitDone
}

// Outcome returns the outcome of a deployment that ends with an error of kind k and is not rolled
// back.
func (k Kind) Outcome() Outcome {
	switch k {
	case Stall, Throttled:
		return Stalled
	case Overtaken, LostClaim:
		return Superseded
	case Halted:
		return Stopped
	case Reverted:
		return RolledBack
	}
	return Failed
}

// CanResume reports whether an error of kind k leaves the state of the deployment unknown, because
// AWS could not be read. The deployment pauses and can be resumed.
func (k Kind) CanResume() bool {
	switch k {
	case Denied, Throttled, Unreachable:
		return true
	}
	return false
}

// ExitCode returns the exit code of a command that ends with an error of kind k before any
// deployment began.
func (k Kind) ExitCode() int {
	switch k {
	case Denied, Unreachable:
		return ExitDenied
	case Overtaken, LostClaim:
		return ExitSuperseded
	case Halted:
		return ExitStopped
	case Unhealthy, Reverted:
		return ExitFailed
	case Stall, Throttled:
		return ExitUndecided
	}
	return ExitUsage
}
