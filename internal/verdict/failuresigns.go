package verdict

import "github.com/sluice-ecs/sluice"

// FailureSigns remembers whether reads of a service indicated that a task of one task set, or of one
// deployment, failed: fewer tasks, a failed task, a worrying event, or tasks that were started
// without more tasks to show for it. The zero value has seen no read.
type FailureSigns struct {
	last      *Service
	seen, now bool
}

// See adds a read of the service; nil if there is none, which counts as a sign.
func (f FailureSigns) See(s *Service, id string) FailureSigns {
	f.now = s == nil || f.last != nil && sawFailureOf(f.last, s, func(d Deployment) bool { return d.ID == id },
		func(ts sluice.TaskSet) bool { return ts.ID == id })
	f.seen = f.seen || f.now
	f.last = s
	return f
}

// SeenNow reports whether the last read indicated a failure.
func (f FailureSigns) SeenNow() bool { return f.now }

// Seen reports whether any read indicated a failure.
func (f FailureSigns) Seen() bool { return f.seen }
