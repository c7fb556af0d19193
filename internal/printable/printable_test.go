package printable

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextIsPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                      "plain",
		"a\tb\nc\r\nd":               "a\tb\nc\nd",
		"\x1b]0;pwned\a\x1b[2J":      `\u001b]0;pwned\u0007\u001b[2J`,
		"a\rb":                       `a\u000db`,
		"\u009b31m":                  `\u009b31m`,
		"a\u202eb\u2066c\u2028d":     `a\u202eb\u2066c\u2028d`,
		"tag\U000e0041":              `tag\udb40\udc41`,
		"a\xffb\xc3":                 "a\ufffdb\ufffd",
		"::error::x\n  ::warning::y": "\\u003a:error::x\n  \\u003a:warning::y",
		"a ::error:: b :":            "a ::error:: b :",
		"x ##[error]y ##vso[z]":      `x \u0023#[error]y \u0023#vso[z]`,
		"## [Title](x)":              "## [Title](x)",
		"Zürich 東京 ✓":                "Zürich 東京 ✓",
		"--password=PLANTED9":        "--password=***",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q\n is %q\nnot %q", text, got, want)
		}
	}
	if got := Line("a\nb\r\n::error::c\n"); got != `a\nb\n\u003a:error::c` {
		t.Error(got)
	}
	if got := Clip("äbcdef", 2); got != "äb … (4 more characters)" {
		t.Error(got)
	}
}

func TestWriterLetsItsOwnCodesPass(t *testing.T) {
	mark, err := NewCodePrefix(strings.NewReader("12345678"))
	if err != nil {
		t.Fatal(err)
	}
	text := mark.Code("[31m") + "bad\x1b[2Jé\n" + mark.Code("[0m") + mark.Raw("\r") + mark.Raw("::") +
		"error::x\n::error::y\n"
	want := "\x1b[31mbad\\u001b[2Jé\n\x1b[0m\r::error::x\n\\u003a:error::y\n"
	var whole, pieces bytes.Buffer
	if n, err := NewWriter(&whole, mark, 0).Write([]byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	if whole.String() != want {
		t.Errorf("%q\nnot %q", whole.String(), want)
	}
	w := NewWriter(&pieces, mark, 0)
	for _, at := range []string{text[:3], text[3:20], text[20:]} {
		_, _ = w.Write([]byte(at))
	}
	if pieces.String() != want {
		t.Errorf("in pieces: %q", pieces.String())
	}
}

func TestWriterCutsLongLines(t *testing.T) {
	var b bytes.Buffer
	_, _ = NewWriter(&b, "", 3).Write([]byte("abcdef\nab\n"))
	if b.String() != "abc … (3 more characters)\nab\n" {
		t.Error(b.String())
	}
}

// FuzzWriter holds that no output has a character that is obeyed, nor a command at
// the start of a line, and that JSON stays JSON, however it is cut into pieces.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{"\x1b[2J", "::error::x", "a\n \t::set-env", "\xc2\x9b", "##[group]", "\r\n::", "é\u202e",
		"--token=abcd", "\x1b3132"} {
		f.Add(s, 1)
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = max(0, min(at, len(text)))
		mark, _ := NewCodePrefix(strings.NewReader("\xfe\xdc\xba\x98\x76\x54\x32\x10"))
		if strings.Contains(text, string(mark)) {
			t.Skip()
		}
		var b bytes.Buffer
		w := NewWriter(&b, mark, 0)
		_, _ = w.Write([]byte(text[:at]))
		_, _ = w.Write([]byte(text[at:]))
		checkPrintable(t, b.String())
		checkPrintable(t, Text(text))
		if strings.Contains(Line(text), "\n") {
			t.Fatal("a line has lines")
		}
		data, _ := json.Marshal(map[string]string{text: text})
		if out := Text(string(data)); !json.Valid([]byte(out)) {
			t.Fatalf("%s became %s", data, out)
		}
	})
}

func checkPrintable(t *testing.T, out string) {
	t.Helper()
	if !utf8.ValidString(out) || strings.ContainsFunc(out, IsControl) {
		t.Fatalf("%q", out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Fatalf("a command: %q", out)
		}
	}
}
