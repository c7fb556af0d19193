package rehearse

// Families of the tasks before and after the stages, which are the steps' names too.
const (
	StepBefore = "before"
	StepAfter  = "after"
)
