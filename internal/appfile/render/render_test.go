package render_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/definition"
)

func environmentOf(files map[string]string) (render.Environment, fstest.MapFS) {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	vars := map[string]string{"IMAGE": "web:2", "QUOTED": `a "b"` + "\n"}
	return render.Environment{
		Lookup:  func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		ExtStr:  map[string]string{"stage": "prod"},
		ExtCode: map[string]string{"count": "1 + 2"},
	}, fsys
}

func TestFilesAreEvaluated(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"text without a template", "a.json", `{"a": "}}"}`, `{"a": "}}"}`},
		{"a variable", "a.json", "{\"image\": \"{{ must_env `IMAGE` }}\"}", `{"image": "web:2"}`},
		{"a default", "a.json", `{"n": {{ env "NONE" "3" }}}`, `{"n": 3}`},
		{"an empty default", "a.json", `{"n": "{{ env "NONE" "" }}"}`, `{"n": ""}`},
		{"the first of several", "a.json", `{{ env "NONE" "IMAGE" "x" }}`, "web:2"},
		{"an escape", "a.json", `{"a": "{{ must_env "QUOTED" | json_escape }}"}`, `{"a": "a \"b\"\n"}`},
		{"a condition", "a.json", `{{ if eq (must_env "IMAGE") "web:2" }}yes{{ else }}no{{ end }}`, "yes"},
		{"its other part", "a.json", `{{ if env "NONE" "" }}yes{{ else if not true }}maybe{{ else }}no{{ end }}`, "no"},
		{"with", "a.json", `{{ with env "NONE" "x" }}[{{ . }}]{{ end }}{{ with env "NONE" "" }}not{{ end }}`, "[x]"},
		{"a variable of the template", "a.json", `{{ $tag := must_env "IMAGE" }}{{ printf "%s-%d" $tag 3 }}`, "web:2-3"},
		{"or and and", "a.json", `{{ or (env "NONE" "") "b" }}{{ and "a" (ne 1 2) }}`, "btrue"},
		{"trimmed blanks and a comment", "a.json", "a {{- /* no */ -}} b", "ab"},
		{"a variable of an inner part", "a.json", `{{ $a := 1 }}{{ if true }}{{ $a := 2 }}{{ $a }}{{ end }}{{ $a }}`, "21"},
		{"an assignment", "a.json", `{{ $a := 1 }}{{ if true }}{{ $a = 2 }}{{ end }}{{ $a }}`, "2"},
		{"an argument that is not needed", "a.json", `{{ or (must_env "IMAGE") (must_env "NONE") }}`, "web:2"},
		{"a range", "a.json", `{{ range $n := 3 }}{{ if $n }},{{ end }}{{ $n }}{{ end }}`, "0,1,2"},
		{"its dot", "a.json", `{{ range 2 }}[{{ . }}]{{ end }}`, "[0][1]"},
		{"a range of nothing", "a.json", `{{ range 0 }}x{{ else }}none{{ end }}`, "none"},
		{"the end of a range", "a.json", `{{ range $n := 9 }}{{ if eq $n 1 }}{{ continue }}{{ else if gt $n 2 }}{{ break }}{{ end }}{{ $n }}{{ end }}`, "02"},
		{"a template", "a.json", `{{ define "v" }}{"name": "{{ . }}"}{{ end }}[{{ template "v" "a" }}, {{ template "v" must_env "IMAGE" }}]`,
			`[{"name": "a"}, {"name": "web:2"}]`},
		{"a block", "a.json", `{{ block "b" 3 }}<{{ . }}>{{ end }}`, "<3>"},
		{"a template in a template", "a.json", `{{ define "a" }}a{{ template "b" . }}{{ end }}{{ define "b" }}{{ . }}{{ end }}{{ template "a" 7 }}`, "a7"},
		{"lengths and parts", "a.json", `{{ len "abc" }}{{ slice "abcdef" 1 3 }}{{ lt 1 2 }}{{ ge "b" "a" }}`, "3bctruetrue"},
		{"Docker's template in quotes", "a.json", "{{`{{.Name}}`}}", "{{.Name}}"},
		{"Jsonnet", "a.jsonnet", `{a: std.native('must_env')('IMAGE')}`, "{\n   \"a\": \"web:2\"\n}\n"},
		{"Jsonnet's default", "a.jsonnet", `std.parseInt(std.native('env')('NONE', '7'))`, "7\n"},
		{"external text", "a.jsonnet", `std.extVar('stage')`, "\"prod\"\n"},
		{"external code", "a.jsonnet", `std.extVar('count')`, "3\n"},
		{"an import", "dir/a.jsonnet", `(import 'lib/b.libsonnet') + 1`, "3\n"},
		{"a template in Jsonnet", "a.jsonnet", "'{{ must_env `IMAGE` }}'", "\"web:2\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, files := environmentOf(map[string]string{c.file: c.text, "dir/lib/b.libsonnet": "import '../c.libsonnet'",
				"dir/c.libsonnet": "2"})
			_, got, err := e.Evaluate(files, c.file, []byte(c.text))
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A text with the marks of templates is what its escaped form is evaluated to, also as Jsonnet.
func TestEscapedTemplates(t *testing.T) {
	const text = `{"a": "{{.Name}} {{` + "`{{`" + `}} }}", "b": ["x"]}`
	e, files := environmentOf(nil)
	if _, got, err := e.Evaluate(files, "a.json", render.EscapeTemplates([]byte(text))); err != nil || string(got) != text {
		t.Errorf("%s %v", got, err)
	}
	data, err := render.FormatJsonnet("a.jsonnet", render.EscapeTemplates([]byte(text)))
	if err != nil || !strings.Contains(string(data), "b: ['x']") {
		t.Errorf("%s %v", data, err)
	}
	_, got, err := e.Evaluate(files, "a.jsonnet", data)
	if err != nil || !strings.Contains(string(got), `"{{.Name}} {{`+"`{{`"+`}} }}"`) {
		t.Errorf("%s %v", got, err)
	}
}

func TestProblemsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, file, text, place, message, next string }{
		{"a missing variable", "a.json", "{\n  \"a\": \"{{ must_env `NONE` }}\"}", "a.json:2:12",
			"must_env: the environment variable NONE is not set, or is empty", "set NONE, or put it into a file that --envfile names"},
		{"no default", "a.json", `{{ env "NONE" }}`, "a.json:1:4", "env: the environment variable NONE is not set, or is empty",
			"set NONE, or give env a default"},
		{"no name", "a.json", `{{ env }}`, "a.json:1:4", "env needs the name of a variable", ""},
		{"an unknown function", "a.json", "{}\n{{ must_enf `A` }}", "a.json:2:1", "the template function must_enf is not known",
			"use env, must_env"},
		{"a lookup", "a.json", "{{ ssm `/a` }}", "a.json:1:1", "the template function ssm is not known", "use ssm in the definitions"},
		{"a broken template", "a.json", "{{ must_env", "a.json:1:1", "the template is not valid: unclosed action", ""},
		{"piped's template", "a.json", "{{ .encryptedSecrets.key }}", "a.json:1:", "there is no such value: a template gets its values from functions", ""},
		{"a long range", "a.json", `{{ range 300000 }}0123456789{{ end }}`, "a.json:1:", "takes more than 200000 steps", ""},
		{"a text that is doubled", "a.json", `{{ $x := "0123456789" }}{{ range 20 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`,
			"a.json:1:", "a value has more than 1048576 bytes", ""},
		{"a text that is escaped again", "a.json", `{{ $x := "<>" }}{{ range 20 }}{{ $x = html (print $x $x) }}{{ end }}`,
			"a.json:1:", "a value has more than 1048576 bytes", ""},
		{"ranges in ranges", "a.json", `{{ range 600 }}{{ range 600 }}{{ end }}{{ end }}`, "a.json:1:", "takes more than 200000 steps", ""},
		{"a range of text", "a.json", "{}\n{{ range \"abc\" }}x{{ end }}", "a.json:2:", "range can't iterate over abc", ""},
		{"a template that calls itself", "a.json", `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "a.json:1:",
			"more than 100 templates call each other", ""},
		{"a template that does not exist", "a.json", `{{ template "a" }}`, "a.json:1:", `template "a" not defined`, ""},
		{"a variable of the caller", "a.json", `{{ $v := 1 }}{{ define "a" }}{{ $v }}{{ end }}{{ template "a" }}`, "a.json:1:",
			"undefined variable", ""},
		{"a break outside a range", "a.json", `{{ break }}`, "a.json:1:", "break", ""},
		{"a long text", "a.json", `{{ printf "%2000000d" 1 }}`, "a.json:1:4", "more than 1048576 bytes", ""},
		{"a number for a name", "a.json", `{{ must_env 1 }}`, "a.json:1:13", "expected string; found 1", ""},
		{"two names", "a.json", `{{ must_env "A" "B" }}`, "a.json:1:4", "wrong number of args for must_env: want 1 got 2", ""},
		{"a variable that is not set", "a.json", `{{ $x }}`, "a.json:1:1", "undefined variable", ""},
		{"a dot without a value", "a.json", "{}\n{{ . }}", "a.json:2:4", "there is no such value", ""},
		{"two calls of each template", "a.json", `{{ define "a" }}{{ template "b" }}{{ template "b" }}{{ end }}` +
			`{{ define "b" }}{{ range 400 }}{{ end }}{{ end }}{{ range 400 }}{{ template "a" }}{{ end }}`, "a.json:1:",
			"takes more than 200000 steps", ""},
		{"an index outside", "a.json", `{{ slice "abc" 2 9 }}`, "a.json:1:4", "index out of range: 9", ""},
		{"two kinds", "a.json", `{{ eq "1" 1 }}`, "a.json:1:4", "incompatible types for comparison", ""},
		{"a check", "a.json", `{{ check }}`, "a.json:1:1", "the template function check is not known", ""},
		{"a value called", "a.json", `{{ "a" | "b" }}`, "a.json:1:1", "non executable command in pipeline stage 2", ""},
		{"broken Jsonnet", "a.jsonnet", "{\n  a: }", "a.jsonnet:2:6", "the Jsonnet is not valid: Unexpected: \"}\"", ""},
		{"an unknown variable of Jsonnet", "a.jsonnet", "{\n  a: b}", "a.jsonnet:2:6", "Unknown variable: b", ""},
		{"an external variable that is not given", "a.jsonnet", "{\n  a: std.extVar('B')}", "a.jsonnet:2:6",
			"Undefined external variable: B", "give it a value: --ext-str B=VALUE"},
		{"a missing variable in Jsonnet", "a.jsonnet", "{\n  a: std.native('must_env')('NONE')}", "a.jsonnet:2:6",
			"must_env: the environment variable NONE is not set, or is empty", "set NONE, or put it"},
		{"text for a name", "a.jsonnet", "std.native('env')(1, '2')", "a.jsonnet:1:1", "argument 1 is not text", ""},
		{"a problem in an imported file", "a.jsonnet", "import 'lib.libsonnet'", "lib.libsonnet:2:3", "broken on purpose", ""},
		{"an import from outside", "a.jsonnet", "import '../secret.json'", "a.jsonnet:1:1", "../secret.json is outside the folder", ""},
		{"an absolute import", "a.jsonnet", "importstr '/etc/passwd'", "a.jsonnet:1:1", "/etc/passwd is outside the folder", ""},
		{"a missing import", "a.jsonnet", "import 'none.json'", "a.jsonnet:1:1", "there is no file none.json", ""},
		{"an external variable that is not given", "a.jsonnet", "std.extVar('none')", "a.jsonnet:1:1", "none", ""},
		{"endless recursion", "a.jsonnet", "local f(x) = f(x) + 1; f(1)", "a.jsonnet:1:", "max stack frames exceeded", ""},
		{"an assertion", "a.jsonnet", "\nassert false : 'too few'; {}", "a.jsonnet:2:1", "too few", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, files := environmentOf(map[string]string{"lib.libsonnet": "{} + (\n  error 'broken on purpose')"})
			_, _, err := e.Evaluate(files, c.file, []byte(c.text))
			var p *definition.Problem
			if !errors.As(err, &p) {
				t.Fatalf("got %v, not a problem", err)
			}
			if !strings.HasPrefix(p.Error(), c.place) || !strings.Contains(p.Message, c.message) ||
				!strings.HasPrefix(p.Next, c.next) {
				t.Errorf("got\n%v\nwant %s … %s\nnext: %s", p, c.place, c.message, c.next)
			}
			if strings.Contains(p.Error(), "goroutine") {
				t.Errorf("the problem has a stack trace: %v", p)
			}
		})
	}
}
