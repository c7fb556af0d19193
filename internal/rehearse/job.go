package rehearse

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

// IsJob reports whether the application has no service.
func (c Case) IsJob() bool { return c.Job.Count > 0 }

// TaskCount returns how many tasks are to start.
func (j Job) TaskCount() int {
	if j.Only {
		return 0
	}
	return j.Count
}
