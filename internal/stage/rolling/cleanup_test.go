package rolling

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/verdict"
)

// A rollback waits for ECS's removal of the former tasks, but not for ever: targets drain for an hour at most, and then
// ECS has the progress deadline to end the deployment.
func TestCleanUpLimit(t *testing.T) {
	const deadline = 10 * time.Minute
	began := time.Date(2026, 3, 1, 10, 0, 0, 123456789, time.UTC)
	service := func(former, ours int) *verdict.Service {
		return &verdict.Service{Deployments: []verdict.Deployment{
			{ID: "ecs-svc/2", Status: "PRIMARY", Running: ours, Desired: 4},
			{ID: "ecs-svc/1", Status: "ACTIVE", Running: former, Desired: 4}}}
	}
	for _, c := range []struct {
		name         string
		formerFor    time.Duration // how long former tasks run
		former, ours int
		reached      time.Duration // when the wait ends
	}{
		{"the former tasks drain for 59 minutes", 59 * time.Minute, 4, 4, 69 * time.Minute},
		{"one former task never stops", 24 * time.Hour, 1, 4, 70 * time.Minute},
		{"the former tasks are gone, and the deployment does not end", 0, 0, 4, deadline},
		{"the former tasks are gone, and tasks of the version are missing", 0, 0, 3, 0},
		{"tasks of the version are missing while former tasks run", time.Minute, 4, 3, time.Minute},
	} {
		limit := newCleanUpLimit(began, deadline)
		at := time.Duration(0)
		for ; at < 3*time.Hour; at += time.Second {
			former := 0
			if at < c.formerFor {
				former = c.former
			}
			if limit.isReached(service(former, c.ours), began.Add(at)) {
				break
			}
		}
		if late := at - c.reached; late < -time.Second || late > time.Second {
			t.Errorf("%s: the wait ends after %s, not after %s", c.name, at, c.reached)
		}
	}
}
