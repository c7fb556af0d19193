package world

import "time"

// FunctionChanged is told when a function was invoked. The object is the *Function.
const FunctionChanged ChangeKind = "function"

// Results of a function that is called back for.
const (
	FunctionSucceeds = "succeed"
	FunctionFails    = "fail"
	FunctionHangs    = "hang" // it says nothing by itself
)

// callsKept is how many invocations a function remembers.
const callsKept = 20

// Function is a Lambda function, as far as somebody waits for what it says: it
// runs nothing, and after a while reports the result that it was made with.
type Function struct {
	Name   string
	Result string // FunctionSucceeds, FunctionFails, FunctionHangs
	After  time.Duration
	Calls  []Invocation // oldest first, the newest few
}

// Invocation is one call of a function by CodeDeploy.
type Invocation struct {
	At         time.Time
	Deployment string // id
	Event      string // lifecycle event
	Execution  string // lifecycleEventHookExecutionId, which only the function is told
}

// Invoke notes that a function was called.
func (tx *Tx) Invoke(f *Function, i Invocation) {
	i.At = tx.Now()
	f.Calls = append(f.Calls, i)
	if n := len(f.Calls) - callsKept; n > 0 {
		f.Calls = append(f.Calls[:0:0], f.Calls[n:]...)
	}
	tx.Log("function", f.Name, "%s of %s, execution %s", i.Event, i.Deployment, i.Execution)
	tx.Changed(FunctionChanged, f)
}
