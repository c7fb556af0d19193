package definition

import (
	"slices"
	"sort"
	"strings"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// place is a line and a column, from 1.
type place struct{ line, column int }

func (p place) isBefore(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// span is text that must not be shown, from a place up to the next one.
type span struct{ from, to place }

// HideSecrets masks, in the lines that problems show, every value under an environment and under
// the options of log and volume drivers. Names remain visible.
//
// A file that is not a map is not a definition: its whole content is masked.
func (s *Source) HideSecrets() {
	places := s.valuePlaces()
	if s.Root.Kind != Map {
		s.hideScalars(s.Root, places)
		return
	}
	var walk func(n *Node)
	walk = func(n *Node) {
		for _, e := range n.Entries {
			if isLikeSecretKey(e.Key) && !isByEnvironment(e) {
				s.hideScalars(e.Value, places)
				continue
			}
			walk(e.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(s.Root)
}

// isLikeSecretKey reports whether values under a key may be secret, even if the key is misspelt.
func isLikeSecretKey(key string) bool {
	if secret.IsName(key) && !strings.EqualFold(key, "secrets") {
		return true
	}
	for _, k := range []string{"environment", "options", "driverOpts", "hookDetails"} {
		if editDistance(strings.ToLower(key), strings.ToLower(k)) <= 2 {
			return true
		}
	}
	return false
}

// isByEnvironment reports whether an entry has the keys of an application file by the name of an environment.
func isByEnvironment(e Entry) bool {
	return e.Key == "environments" && e.Value.Kind == Map &&
		!slices.ContainsFunc(e.Value.Entries, func(of Entry) bool { return of.Value.Kind != Map })
}

// hideScalars hides every scalar under n except names.
func (s *Source) hideScalars(n *Node, places []place) {
	for _, e := range n.Entries {
		if !strings.EqualFold(e.Key, "name") {
			s.hideScalars(e.Value, places)
		}
	}
	for _, item := range n.Items {
		s.hideScalars(item, places)
	}
	if n.origin != nil {
		s.hideScalars(n.origin, places)
	}
	if n.Kind == Text || n.Kind == Number || n.Kind == Bool {
		from := place{n.Line, n.Column}
		s.hidden = append(s.hidden, span{from, nextPlace(places, from)})
	}
}

// valuePlaces returns where values and keys begin, in the order of the file.
func (s *Source) valuePlaces() []place {
	var all []place
	var walk func(n *Node)
	walk = func(n *Node) {
		all = append(all, place{n.Line, n.Column})
		for _, e := range n.Entries {
			all = append(all, place{e.Line, e.Column})
			walk(e.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
		if n.origin != nil {
			all = append(all, place{n.origin.Line, n.origin.Column})
		}
	}
	walk(s.Root)
	slices.SortFunc(all, func(a, b place) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	return all
}

// nextPlace returns the first of the sorted places after p, or a place after every file's end.
func nextPlace(places []place, p place) place {
	i := sort.Search(len(places), func(i int) bool { return p.isBefore(places[i]) })
	if i == len(places) {
		return place{line: 1 << 30}
	}
	return places[i]
}

// maxShownLine is the maximum number of characters of a line that a problem shows.
const maxShownLine = 160

// shownLine returns a line as problems show it, and the position of column in it.
func (s *Source) shownLine(line, column int, text []rune) (string, int) {
	out := slices.Clone(text)
	if s.Root == nil {
		maskUnparsed(out, s.isBelowSecretKey(line))
	}
	for _, h := range s.hidden {
		h.maskLine(line, out)
	}
	if len(out) <= maxShownLine {
		return string(out), column
	}
	from := min(max(column-maxShownLine/2, 0), len(out)-maxShownLine)
	shown := out[from : from+maxShownLine]
	if from > 0 {
		shown[0] = '…'
	}
	if from+maxShownLine < len(out) {
		shown[maxShownLine-1] = '…'
	}
	return string(shown), column - from
}

// maskLine masks the part of a line that the span covers. Blanks and line ends remain.
func (h span) maskLine(line int, text []rune) {
	from, to := 0, len(text)
	if line < h.from.line || line > h.to.line {
		return
	}
	if line == h.from.line {
		from = h.from.column - 1
	}
	if line == h.to.line {
		to = min(to, h.to.column-1)
	}
	for i := max(from, 0); i < to; i++ {
		if text[i] != ' ' {
			text[i] = '*'
		}
	}
}
