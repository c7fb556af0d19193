package capacity

import (
	"fmt"
	"testing"
	"time"
)

// Only a count below all earlier ones is progress. Another desired number starts the wait anew.
func TestProgressOfCounts(t *testing.T) {
	began := time.Date(2026, 3, 1, 10, 0, 0, 987654321, time.UTC)
	var p progress
	for i, c := range []struct {
		count, of int
		last      int // the poll that was the last with progress
	}{{4, 4, 0}, {3, 4, 1}, {4, 4, 1}, {3, 4, 1}, {2, 4, 4}, {3, 4, 4}, {2, 4, 4}, {6, 8, 7}, {7, 8, 7}, {5, 8, 9}} {
		left := Remaining{Text: fmt.Sprintf("%d of %d tasks", c.count, c.of), Count: c.count, Of: c.of}
		at := p.lastAt(left, began.Add(time.Duration(i)*time.Second))
		if want := began.Add(time.Duration(c.last) * time.Second); !at.Equal(want) {
			t.Errorf("poll %d, %s: the last progress was after %s, not %s", i, left.Text, at.Sub(began), want.Sub(began))
		}
	}
}
