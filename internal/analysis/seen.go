package analysis

import "slices"

// Seen is the windows that a gate has seen. It stays small, because windows follow each other.
type Seen struct {
	Before int64 `json:"before,omitempty"` // all windows before this time count as seen; 0: none
	Runs   []Run `json:"runs,omitempty"`   // oldest first
}

// Run is windows at equal distances.
type Run struct {
	From  int64 `json:"from"`           // Unix seconds
	Step  int64 `json:"step,omitempty"` // seconds from one window to the next
	Count int64 `json:"count"`
}

// mostRuns limits the state of a gate without regular traffic.
const mostRuns = 24

func (r Run) last() int64 { return r.From + r.Step*(r.Count-1) }

func (r Run) has(at int64) bool {
	return at == r.From || r.Step > 0 && at > r.From && at <= r.last() && (at-r.From)%r.Step == 0
}

func (s Seen) has(at int64) bool {
	return s.Before != 0 && at < s.Before || slices.ContainsFunc(s.Runs, func(r Run) bool { return r.has(at) })
}

// with returns s and one window. The result does not depend on the order of the windows, until more runs
// are needed than are kept.
func (s Seen) with(at int64) Seen {
	n := len(s.Runs)
	if n > 0 && at > s.Runs[n-1].last() {
		s.Runs = extend(slices.Clone(s.Runs), at)
	} else {
		s.Runs = s.insert(at)
	}
	for len(s.Runs) > mostRuns {
		s.Before, s.Runs = s.Runs[0].last()+1, s.Runs[1:]
	}
	return s
}

// insert builds all runs again, with a window between the others.
func (s Seen) insert(at int64) (runs []Run) {
	all := []int64{at}
	for _, r := range s.Runs {
		for i := range r.Count {
			all = append(all, r.From+i*r.Step)
		}
	}
	slices.Sort(all)
	for _, t := range all {
		runs = extend(runs, t)
	}
	return runs
}

// extend adds a window that is later than all of runs.
func extend(runs []Run, at int64) []Run {
	if n := len(runs); n > 0 {
		switch r := &runs[n-1]; {
		case r.Count == 1:
			r.Step, r.Count = at-r.From, 2
			return runs
		case at == r.last()+r.Step:
			r.Count++
			return runs
		}
	}
	return append(runs, Run{From: at, Count: 1})
}
