package plan

import (
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestScalingGoal(t *testing.T) {
	four := 4
	was := sluice.Scalable{Min: 2, Max: 8, Suspended: sluice.Suspension{In: true}}
	s := Scaling{Suspend: true, Resume: true, Min: &four}
	if got := s.StartTarget(was); got != (sluice.Scalable{Min: 4, Max: 8, Suspended: sluice.AllSuspended}) {
		t.Errorf("asked %+v", got)
	}
	if got := s.FinalTarget(was); got != (sluice.Scalable{Min: 4, Max: 8}) {
		t.Errorf("goal %+v", got)
	}
	if got := (&Scaling{Suspend: true}).FinalTarget(was); got != was {
		t.Errorf("a suspension is given back as %+v", got)
	}
}

func TestScalingBeforeIsReadFromTheTagOnlyIfAllIsSuspended(t *testing.T) {
	now := []sluice.Scalable{{Dimension: "a", Suspended: sluice.AllSuspended},
		{Dimension: "b", Suspended: sluice.Suspension{In: true}}, {Dimension: "c", Suspended: sluice.AllSuspended}}
	got := TargetsBefore(now, "a=out b=none")
	if sluice.Suspensions(got) != "a=out b=in c=in+out+scheduled" ||
		sluice.Suspensions(now) != "a=in+out+scheduled b=in c=in+out+scheduled" {
		t.Errorf("%s of %s", sluice.Suspensions(got), sluice.Suspensions(now))
	}
	if got := TargetsBefore(now, "no such form"); sluice.Suspensions(got) != sluice.Suspensions(now) {
		t.Errorf("%s", sluice.Suspensions(got))
	}
}
