package show

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// An excerpt of a file is a line with its number, and a caret below its problem.
var (
	excerptLine  = regexp.MustCompile(`^ *[0-9]+ \| `)
	excerptCaret = regexp.MustCompile(`^ +\| \s*\^$`)
)

// cutExcerpt cuts an excerpt to the width of a terminal around its caret: a line that is broken has its problem elsewhere
// than above the caret. ok is false if the two lines are no excerpt, or fit.
func cutExcerpt(line, caret string, width int) (cutLine, cutCaret string, ok bool) {
	head := excerptLine.FindString(line)
	if head == "" || !excerptCaret.MatchString(caret) || utf8.RuneCountInString(line) <= width {
		return "", "", false
	}
	text := []rune(strings.ReplaceAll(line[len(head):], "\t", " "))
	at, room := utf8.RuneCountInString(caret)-len(head)-1, width-len(head)
	from := min(max(at-room/2, 0), len(text)-room)
	shown := text[from : from+room]
	if from > 0 {
		shown[0] = '…'
	}
	if from+room < len(text) {
		shown[room-1] = '…'
	}
	return head + string(shown), caret[:strings.Index(caret, "|")+2] + strings.Repeat(" ", at-from) + "^", true
}
