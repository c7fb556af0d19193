package definition

import (
	"fmt"
	"slices"
	"strings"
)

// maxNames is how many names [ListNames] lists.
const maxNames = 10

// ListNames returns names for people, sorted and at most maxNames.
func ListNames(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if len(names) > maxNames {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

// Nearest returns the known word that was probably meant: equal except for case, or a few letters
// different, less than half of the longer word. It returns "" if there is none.
func Nearest(word string, known []string) string {
	best, least := "", len(word)/4+2
	low := strings.ToLower(word)
	for _, k := range known {
		if d := editDistance(low, strings.ToLower(k)); d < least && (d == 0 || 2*d < max(len(word), len(k))) {
			best, least = k, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, change or swap with an adjacent one (optimal
// string alignment).
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now := make([]int, len(b)+1)
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last = last, now
	}
	return last[len(b)]
}
