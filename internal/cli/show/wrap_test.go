package show

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLinesWrapAtTheWidthOfTheTerminal(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"short", "weights are primary 80 / canary 20\n", "weights are primary 80 / canary 20\n"},
		{"plain", "one two three four five six seven eight nine ten\n",
			"one two three four five six seven eight\n  nine ten\n"},
		{"time", "01:29   waiting for the nodes of the load balancer\n",
			"01:29   waiting for the nodes of the\n        load balancer\n"},
		{"bullet", "  - a warning that is longer than the terminal\n",
			"  - a warning that is longer than the\n    terminal\n"},
		{"next step", "next: allow ecs:UpdateService in the IAM policy\n",
			"next: allow ecs:UpdateService in the IAM\n      policy\n"},
		{"commands of a next step", "next: run sluice resume slc-01abc to continue, or sluice abort slc-01abc to stop\n",
			"next: run sluice resume slc-01abc to\n      continue, or\n      sluice abort slc-01abc to stop\n"},
		{"long command of a next step", "next: mend it: aws ecs list-services --cluster prod --output text. Or deploy\n",
			"next: mend it:\n      aws ecs list-services --cluster prod --output text.\n      Or deploy\n"},
		{"command of sluice elsewhere", "slc-1: paused, no process runs it. To continue: sluice resume slc-1\n",
			"slc-1: paused, no process runs it. To\n  continue: sluice resume slc-1\n"},
		{"another command elsewhere", "the shift was made by aws ecs update-service --cluster prod\n",
			"the shift was made by aws ecs\n  update-service --cluster prod\n"},
		{"long word", "see arn:aws:ecs:us-east-1:123456789012:service/prod/web for more\n",
			"see\n  arn:aws:ecs:us-east-1:123456789012:service/prod/web\n  for more\n"},
		{"json", `{"a": "one two three four five six seven eight nine"}` + "\n",
			`{"a": "one two three four five six seven eight nine"}` + "\n"},
		{"excerpt", "  10 |   - targetGroupArm: arn:aws:elasticloadbalancing:us-east-1\n     |     ^\n",
			"  10 |   - targetGroupArm: arn:aws:elas…\n     |     ^\n"},
		{"excerpt of a long line", "   1 | {\"family\": \"web\", \"requiresCompatibilities\": [\"FARGATE\"], \"cpuu\": \"256\"}\n" +
			"     | " + strings.Repeat(" ", 58) + "^\n",
			"   1 | …es\": [\"FARGATE\"], \"cpuu\": \"256\"}\n     | " + strings.Repeat(" ", 19) + "^\n"},
		{"comment", "# load balancer web, port 80: curl http://127.16.240.1:80/\n",
			"# load balancer web, port 80: curl\n#   http://127.16.240.1:80/\n"},
		{"bullet in a comment", "# - the files have no health checks: every 30s, 5 must pass\n",
			"# - the files have no health checks:\n#   every 30s, 5 must pass\n"},
		{"line to paste", "export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1\n",
			"export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1\n"},
		{"color", "\x1b[31mone two three four five six seven eight\x1b[0m\n",
			"\x1b[31mone two three four five six seven eight\x1b[0m\n"},
		{"question", "Type the name of the service, and press the return key: ",
			"Type the name of the service, and press the return key: "},
	} {
		var out bytes.Buffer
		n, err := NewWrapWriter(&out, func() int { return 40 }).Write([]byte(c.in))
		if err != nil || n != len(c.in) || out.String() != c.want {
			t.Errorf("%s: %d of %d, %v\n%s\nwant\n%s", c.name, n, len(c.in), err, out.String(), c.want)
		}
	}
}

// TestFitLines: what a terminal breaks itself counts as rows, so that all rows can be erased.
func TestFitLines(t *testing.T) {
	long := "arn:aws:ecs:us-east-1:123456789012:service/prod/web"
	text := "service web\n\n\x1b0123456789abcdef[2mone two three four five six seven eight nine\x1b0123456789abcdef[0m\n" + long + "\nend\n"
	for _, c := range []struct{ width, height, lines, rows int }{{40, 0, 6, 7}, {0, 0, 5, 5}, {40, 8, 6, 7}, {40, 7, 5, 6},
		{40, 6, 4, 4}, {40, 1, 6, 7}} {
		lines, rows := FitLines(text, c.width, c.height)
		if len(lines) != c.lines || rows != c.rows {
			t.Errorf("%d x %d: %d lines in %d rows, want %d in %d:\n%s", c.width, c.height, len(lines), rows, c.lines, c.rows,
				strings.Join(lines, "\n"))
		}
	}
}

// Wrapping changes spaces only, and no line is wider than the terminal unless one word is.
func TestWrappedTextHasTheSameWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := rapid.StringMatching(` {0,6}(- |01:29 |next: )?`)
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé:/]{1,50} {0,3}`), 0, 20)
		text := heads.Draw(t, "head") + strings.Join(words.Draw(t, "words"), " ") + "\n"
		width := rapid.IntRange(narrowest, 130).Draw(t, "width")
		var out bytes.Buffer
		if _, err := NewWrapWriter(&out, func() int { return width }).Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Fields(out.String()), strings.Fields(text); !slices.Equal(got, want) {
			t.Fatalf("%q\nwant the words of %q", out.String(), text)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimRight(line, " \n")
			if utf8.RuneCountInString(line) > width && len(strings.Fields(line)) > 2 {
				t.Fatalf("wider than %d: %q", width, line)
			}
		}
	})
}

// In no terminal is a command broken that a next step of the project asks for after a colon.
func TestNoCommandOfANextStepIsBroken(t *testing.T) {
	all, err := os.ReadFile("../../layers/testdata/next.golden")
	if err != nil {
		t.Fatal(err)
	}
	copied := regexp.MustCompile(`\baws [a-z0-9-]+ [a-z-]+( --[^.;]*[^.;\s])?|\bsluice [a-z]+( --[a-z-]+)*`)
	commands := 0
	for next := range strings.Lines(string(all)) {
		for _, width := range []int{40, 60, 80, 100, 120} {
			var out bytes.Buffer
			_, _ = NewWrapWriter(&out, func() int { return width }).Write([]byte("next: " + next))
			if strings.Join(strings.Fields(out.String()), " ") != strings.Join(strings.Fields("next: "+next), " ") {
				t.Errorf("at %d, other words:\n%s", width, out.String())
			}
			for _, command := range copied.FindAllString(next, -1) {
				if commands++; !strings.Contains(out.String(), command) {
					t.Errorf("at %d, %q is broken:\n%s", width, command, out.String())
				}
			}
		}
	}
	if commands < 100 {
		t.Errorf("%d commands", commands)
	}
}
