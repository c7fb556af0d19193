package definition

import "strings"

// A file that cannot be parsed has no structure that shows where secrets are. These functions judge
// by the text of its lines.

// maskUnparsed masks the text after a colon in a line below a key of secrets, and the text after
// `value:` in any line.
func maskUnparsed(line []rune, secret bool) {
	low := []rune(strings.ToLower(string(line)))
	if len(low) != len(line) {
		low = line
	}
	from := len(line)
	for i := len(low) - 1; i >= 0; i-- {
		if low[i] == ':' && (secret || endsWithValue(low[:i])) {
			from = i + 1
		}
	}
	if secret && from == len(line) {
		from = 0
	}
	for i := from; i < len(line); i++ {
		if line[i] != ' ' {
			line[i] = '*'
		}
	}
}

// endsWithValue reports whether the text before a colon is the key value.
func endsWithValue(before []rune) bool {
	const key = "value"
	end := len(before)
	for end > 0 && strings.ContainsRune("\"' \t", before[end-1]) {
		end--
	}
	return end >= len(key) && string(before[end-len(key):end]) == key
}

// isBelowSecretKey reports whether a line is, by its indentation, below a key of secrets.
func (s *Source) isBelowSecretKey(line int) bool {
	depth := indentDepth(s.lines[line-1])
	for i := line - 2; i >= 0; i-- {
		text := s.lines[i]
		if strings.TrimSpace(text) == "" || indentDepth(text) >= depth {
			continue
		}
		depth = indentDepth(text)
		key, _, _ := strings.Cut(strings.TrimLeft(text, " \t-{"), ":")
		if isLikeSecretKey(strings.Trim(key, "\"' \t")) {
			return true
		}
	}
	return false
}

// indentDepth returns twice the indentation of a line, plus one for a list entry: an entry is
// deeper than a key in the same column.
func indentDepth(line string) int {
	rest := strings.TrimLeft(line, " \t")
	depth := 2 * (len(line) - len(rest))
	if strings.HasPrefix(rest, "-") {
		depth++
	}
	return depth
}
