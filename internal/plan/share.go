package plan

import (
	"fmt"
	"math"

	"github.com/sluice-ecs/sluice"
)

func TaskCountText(tasks int) string {
	if tasks == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", tasks)
}

// Share is the share that a routing stage can achieve by counts.
type Share struct {
	Name      string  `json:"name"`   // that callers resolve
	Tasks     Split   `json:"tasks"`  // registered tasks after the stage
	Requested int     `json:"asked"`  // percent of canary
	Bound     float64 `json:"bound"`  // percent: half a task
	Raised    bool    `json:"raised"` // a variant has one task although less than half a task was requested
	// the number of tasks that achieves the requested share exactly; 0: Tasks does
	ExactTasks   int `json:"reach,omitempty"`
	Extra        int `json:"extra,omitempty"` // canary tasks started beyond its scale
	Deregistered int `json:"out,omitempty"`   // primary tasks that run and are not registered
}

func (s Share) String() string {
	text := fmt.Sprintf("%s has %s, %d of canary: %.3g%%", s.Name, sluice.Plural(s.Tasks.Total(), "registered task"),
		s.Tasks.Canary, s.Tasks.Percent())
	if s.ExactTasks == 0 {
		return text
	}
	return text + fmt.Sprintf(" for the requested %d%%; half a task is %.3g%%; %s would achieve it", s.Requested,
		s.Bound, sluice.Plural(s.ExactTasks, "task"))
}

// ScaledCount returns that percentage of the desired count; ECS rounds up.
func ScaledCount(desired, percent int) int {
	return int(math.Ceil(float64(desired*percent)/100 - 1e-9))
}
