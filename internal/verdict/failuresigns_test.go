package verdict

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// TestSignsOfAFailure: counts and events of the task set itself are signs, a healthy start
// is none.
func TestSignsOfAFailure(t *testing.T) {
	read := func(pending, running int, events ...string) *Service {
		s := &Service{TaskSets: []sluice.TaskSet{
			{ID: "ecs-svc/1", Status: "ACTIVE", Desired: 2, Pending: pending, Running: running},
			{ID: "ecs-svc/2", Status: "PRIMARY", Desired: 2, Running: 2}}}
		for i := range events {
			s.Events = append([]diagnosis.Event{{ID: events[i], Message: events[i]}}, s.Events...)
		}
		return s
	}
	const first, second = "(service web) has started 2 tasks: a b", "(service web) has started 1 tasks: c"
	other := read(0, 2)
	other.TaskSets[1].Running = 1
	for name, c := range map[string]struct {
		reads []*Service
		seen  bool
	}{
		"a start":                        {[]*Service{read(0, 0), read(2, 0, first), read(1, 1, first), read(0, 2, first)}, false},
		"a task stopped while it ran":    {[]*Service{read(0, 2), read(0, 1)}, true},
		"a task stopped before it ran":   {[]*Service{read(2, 0, first), read(1, 0, first)}, true},
		"a task was replaced unseen":     {[]*Service{read(2, 0, first), read(2, 0, first, second)}, true},
		"ECS cannot place a task":        {[]*Service{read(0, 0), read(0, 0, "(service web) was unable to place a task.")}, true},
		"a task of the other set":        {[]*Service{read(0, 2), other}, false},
		"the first read proves nothing":  {[]*Service{read(0, 0)}, false},
		"no service":                     {[]*Service{read(0, 2), nil}, true},
		"a failure, and then it is well": {[]*Service{read(0, 2), read(0, 1), read(0, 2)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var signs FailureSigns
			for _, s := range c.reads {
				signs = signs.See(s, "ecs-svc/1")
			}
			if signs.Seen() != c.seen {
				t.Errorf("seen %t, want %t", signs.Seen(), c.seen)
			}
			if isLast := name != "a failure, and then it is well"; signs.SeenNow() != (c.seen && isLast) {
				t.Errorf("seen by the last read: %t", signs.SeenNow())
			}
		})
	}
}

// TestPaceOfARemoval: never slower than five seconds, never faster than two.
func TestPaceOfARemoval(t *testing.T) {
	for still, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 8 * time.Second: 2 * time.Second,
		13 * time.Second: 3 * time.Second, 20 * time.Second: 5 * time.Second, time.Hour: 5 * time.Second} {
		if got := NextRemovalPoll(still); got != want {
			t.Errorf("after %s without a change: %s, want %s", still, got, want)
		}
	}
}
