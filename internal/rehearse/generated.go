package rehearse

// OldImage is the image of the version that serves at the start; the image catalogue of the world
// defines what it does.
const OldImage = "sim/rehearsal:old"

// Secret is in the environment of generated applications. No event and no row may contain it (P6).
const Secret = "s3cr3t-of-the-environment"

// OtherToolID is the external ID of a task set that another tool created.
const OtherToolID = "another-tool/1"

// Job is the standalone task of an application without a service definition. The service in the
// simulated AWS stays unchanged.
type Job struct {
	Count    int    // tasks of one run; 0: the application has a service
	Does     string // what its container does, as options of an image
	Side     string // what a second, non-essential container does, as options of an image; empty: none
	Watch    string // watchContainer; empty: the first essential one
	Provider string // capacity provider; empty: launch type FARGATE
	Prior    string // what the family had before, "same" or "other"; empty: no revision
	Only     bool   // the task is registered and not run
	Logs     bool   // its containers print to a log
}

// JobFamily is the family of the task.
const JobFamily = "report"

// TaskCount returns how many tasks are to start.
func (j Job) TaskCount() int {
	if j.Only {
		return 0
	}
	return j.Count
}
