package sluice

import "testing"

func TestSuspensionsAreReadAsWritten(t *testing.T) {
	all := []Scalable{{Dimension: "ecs:service:DesiredCount"},
		{Dimension: "x", Suspended: Suspension{In: true, Scheduled: true}}}
	line := Suspensions(all)
	if line != "ecs:service:DesiredCount=none x=in+scheduled" {
		t.Fatalf("%s", line)
	}
	read, err := ParseSuspensions(line)
	if err != nil || len(read) != 2 || read["ecs:service:DesiredCount"] != all[0].Suspended ||
		read["x"] != all[1].Suspended {
		t.Errorf("%v %v", read, err)
	}
	for _, bad := range []string{"none", "x=everything"} {
		if _, err := ParseSuspensions(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	if s := AllSuspended.String() + "; " + (Suspension{}).String(); s != "in, out, scheduled; none" {
		t.Errorf("%s", s)
	}
}
