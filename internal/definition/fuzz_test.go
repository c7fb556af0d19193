package definition

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecodeTask holds that no input makes the reader panic, and that every
// problem points into the file.
func FuzzDecodeTask(f *testing.F) {
	for _, seed := range []string{fargate, rolling, "a: &x [*x]\n", "{\"family\": 1}", "? a\n: b\n", "family: |\n  x\n",
		"\ta: 1\n", "a: {{ .attachment.x }}", "- a\n", "a:\r\n  b: [1,\r\n", "\xef\xbb\xbffamily: é: x\n",
		"<<: {family: x}\n", "!!str a: !foo b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := DecodeTask("f", data)
		checkPlaces(t, err, data)
		_, err = DecodeService("f", data)
		checkPlaces(t, err, data)
	})
}

func checkPlaces(t *testing.T, err error, data []byte) {
	if err == nil {
		return
	}
	problems := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), "\n")
	for _, err := range problems {
		var p *Problem
		if !errors.As(err, &p) {
			t.Fatalf("%T is no *Problem: %v", err, err)
		}
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1 {
			t.Fatalf("%d:%d is not in the file %q: %v", p.Line, p.Column, data, p)
		}
	}
}
