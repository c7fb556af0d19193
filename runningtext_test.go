package sluice

import "testing"

// Tasks that are being stopped are not told as a part of none.
func TestRunningText(t *testing.T) {
	for _, c := range []struct {
		running, desired int
		want             string
	}{
		{2, 4, "2 of 4 running"},
		{0, 0, "0 of 0 running"},
		{6, 4, "6 of 4 running"},
		{2, 0, "2 running, 0 desired"},
	} {
		if got := RunningText(c.running, c.desired); got != c.want {
			t.Errorf("%d running tasks of %d desired are told as %q, want %q", c.running, c.desired, got, c.want)
		}
	}
}
