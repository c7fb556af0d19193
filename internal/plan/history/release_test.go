package history

import (
	"strings"
	"testing"
)

// A release is "web:2", with "!" if it did not succeed and "<" if it rolls back.
func TestHasReturned(t *testing.T) {
	for releases, want := range map[string]bool{
		"":            false,
		"1":           false,
		"1 2":         false,
		"1 2 3":       false,
		"1 2 2":       false,
		"1 2 1":       true,
		"1 2 3 1":     true,
		"1 2 3 2":     true,
		"1 2 3 2 2":   true,
		"1 2 3 2 1":   true,
		"1 2 3 2 3":   false, // the version that was left is deployed again
		"1 2 3 2 3 2": true,
		"1 2 3 2 4":   false,
		"1 2 3 1 2":   false,
		"1 2 2! 2":    false, // a replacement of tasks that failed
		"1 2 3! 2":    true,  // rolled back with a new deployment of the version before
		"1 2 3! 2 2":  true,
		"1 2 3! 4":    false,
		"1 2 3! 4 3":  false, // the failed one did not serve before
		"1 3! 2 2":    false,
		"1! 2":        false,
		"1 2 3 4<":    true, // a copy of 2
		"1 2 3 4< 3":  false,
		"1 2 3 4< 2":  false,
		"2 1<":        true, // 1 is older than the history
		"1 2 2<":      false,
	} {
		var all []Release
		for _, text := range strings.Fields(releases) {
			all = append(all, Release{Version: strings.TrimRight(text, "!<"), Served: !strings.HasSuffix(text, "!"),
				Returns: strings.HasSuffix(text, "<")})
		}
		if got := HasReturned(all); got != want {
			t.Errorf("%q has returned: %t, want %t", releases, got, want)
		}
	}
}
