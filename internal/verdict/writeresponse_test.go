package verdict

import (
	"testing"
	"time"
)

func TestWritten(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	before := Deployment{ID: "ecs-svc/1", Status: "PRIMARY", CreatedAt: at(1)}
	ours := Deployment{ID: "ecs-svc/2", Status: "PRIMARY", CreatedAt: at(2)}
	later := Deployment{ID: "ecs-svc/3", Status: "PRIMARY", CreatedAt: at(3)}
	active := func(d Deployment) Deployment { d.Status = "ACTIVE"; return d }
	update := Written{Deployment: "ecs-svc/2", ARN: "arn:2", Created: at(2)}
	returned := update
	returned.Replaced = "ecs-svc/2"
	for name, c := range map[string]struct {
		w    Written
		s    *Service
		want bool
	}{
		"nothing was written": {Written{},
			&Service{Status: "ACTIVE", Deployments: []Deployment{before}}, true},
		"from before the update": {update, &Service{Status: "ACTIVE", Current: "arn:1",
			Deployments: []Deployment{before}}, false},
		"ours is PRIMARY": {update,
			&Service{Status: "ACTIVE", Deployments: []Deployment{ours, active(before)}}, true},
		"ours is being replaced by the former": {update,
			&Service{Status: "ACTIVE", Deployments: []Deployment{before, active(ours)}}, true},
		"ours is gone, its record is current": {update, &Service{Status: "ACTIVE", Current: "arn:2",
			Deployments: []Deployment{before}}, true},
		"a later one is PRIMARY": {update, &Service{Status: "ACTIVE", Current: "arn:3",
			Deployments: []Deployment{later}}, true},
		"the service is gone": {update, &Service{Status: "INACTIVE"}, true},
		"no service":          {update, nil, true},
		"before the return": {returned,
			&Service{Status: "ACTIVE", Deployments: []Deployment{ours, active(before)}}, false},
		"before the update and the return": {returned, &Service{Status: "ACTIVE", Current: "arn:1",
			Deployments: []Deployment{before}}, false},
		"the former one is PRIMARY again": {returned,
			&Service{Status: "ACTIVE", Deployments: []Deployment{before, active(ours)}}, true},
		"without AWS's time and without an ARN": {Written{Deployment: "ecs-svc/2"},
			&Service{Status: "ACTIVE", Deployments: []Deployment{later}}, false},
	} {
		if got := c.w.IsIn(c.s); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// An observation from before the write ends no wait, whatever it shows.
func TestObservationsFromBeforeTheWriteArePassedOver(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := FollowService(now, Wanted{Revision: "web:1", Deployment: "ecs-svc/1", Deadline: time.Minute,
		AfterWrite: Written{Deployment: "ecs-svc/2", Created: now, Replaced: "ecs-svc/2"}})
	old := &Service{Status: "ACTIVE", Controller: "ECS", Desired: 1, Running: 1, Deployments: []Deployment{
		{ID: "ecs-svc/1", Status: "PRIMARY", State: "COMPLETED", Revision: "web:1", Desired: 1, Running: 1,
			CreatedAt: now.Add(-time.Hour)}}}
	r, v := r.See(Observation{At: now.Add(time.Second), Service: old, NoHistory: true})
	if v.State == Ended {
		t.Fatalf("ended %s by what was before", v.Outcome)
	}
	if _, v = r.See(Observation{At: now.Add(2 * time.Minute), Service: old, NoHistory: true}); v.State != Ended ||
		v.Outcome == "succeeded" {
		t.Errorf("%s %s: such observations must end at the deadline", v.State, v.Outcome)
	}
	back := *old
	back.Deployments = append(back.Deployments, Deployment{ID: "ecs-svc/2", Status: "ACTIVE", Revision: "web:2",
		CreatedAt: now})
	if _, v = r.See(Observation{At: now.Add(2 * time.Second), Service: &back,
		NoHistory: true}); v.Outcome != "succeeded" {
		t.Errorf("%s %s: a newer observation ends it", v.State, v.Outcome)
	}
}
