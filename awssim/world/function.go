package world

import "time"

// FunctionChanged is the change of a function that was invoked. The object is the *Function.
const FunctionChanged ChangeKind = "function"

// Results that a function reports.
const (
	FunctionSucceeds = "succeed"
	FunctionFails    = "fail"
	FunctionHangs    = "hang" // it never reports
)

// maxCalls is how many invocations a function keeps.
const maxCalls = 20

// Function is a Lambda function that CodeDeploy or ECS waits for. It runs no code: after a delay it
// reports the configured result.
type Function struct {
	Name   string
	Result string // FunctionSucceeds, FunctionFails, FunctionHangs
	After  time.Duration
	Calls  []Invocation // oldest first, the newest few
}

// Invocation is one call of a function by CodeDeploy or ECS.
type Invocation struct {
	At         time.Time
	Deployment string // id
	Event      string // lifecycle event or stage
	Execution  string // lifecycleEventHookExecutionId, which AWS passes to the function only
}

// Invoke records a call of a function.
func (tx *Tx) Invoke(f *Function, i Invocation) {
	i.At = tx.Now()
	f.Calls = append(f.Calls, i)
	if n := len(f.Calls) - maxCalls; n > 0 {
		f.Calls = append(f.Calls[:0:0], f.Calls[n:]...)
	}
	tx.Log("function", f.Name, "%s of %s, execution %s", i.Event, i.Deployment, i.Execution)
	tx.Changed(FunctionChanged, f)
}
