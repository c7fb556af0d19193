package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// badInput is one input that sluice has to refuse: files, flags or variables. DIR in
// the arguments is the application's folder.
type badInput struct {
	name string
	args []string
	vars map[string]string
	lay  func(t *testing.T, dir string)
	from string // the folder of the good files; empty: examples/pipecd-v1
}

const (
	badApp     = "app.pipecd.yaml"
	badTask    = "taskdef.yaml"
	badService = "servicedef.yaml"
	planted    = "PLANTED"
	// obeyed is text that a terminal and a CI system obey.
	obeyed = "\x1b]0;x\a\x1b[2J\u202e\n::error::x"
)

// badInputs are made of tables, so that each kind of input meets each place.
func badInputs() (all []badInput) {
	for _, file := range []string{badApp, badTask, badService} {
		for name, content := range badContents() {
			all = append(all, badInput{name: file + ": " + name, lay: func(t *testing.T, dir string) {
				put(t, filepath.Join(dir, file), content)
			}})
		}
		for name, lay := range badFiles() {
			all = append(all, badInput{name: file + " is " + name, lay: func(t *testing.T, dir string) {
				name := filepath.Join(dir, file)
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
				lay(t, name)
			}})
		}
	}
	for _, v := range badValues() {
		for _, value := range v.values {
			all = append(all, badInput{name: fmt.Sprintf("%s: %s%.40q", v.file, v.key, value),
				lay: func(t *testing.T, dir string) {
					edit(t, filepath.Join(dir, v.file), v.old, v.key+value)
				}})
		}
	}
	for _, args := range badArguments() {
		all = append(all, badInput{name: fmt.Sprintf("%.80q", args), args: args})
	}
	for key, values := range map[string][]string{
		"AWS_REGION":   {"no region", "us-east-1/../x", "\x1b[2J", strings.Repeat("x", 10_000)},
		"SLUICE_SPEED": {"x", "-1", "0", "NaN", "1e300"},
	} {
		for _, value := range values {
			all = append(all, badInput{name: fmt.Sprintf("%s=%.40q", key, value), vars: map[string]string{key: value}})
		}
	}
	return all
}

// badContents are contents of files.
func badContents() map[string]string {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf(
			"a%d: &a%d [*a%d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d]\n", i+1, i+1, i)
	}
	return map[string]string{
		"empty":               "",
		"a comment":           "# nothing\n",
		"a scalar":            planted + "x",
		"a list":              "- " + planted + "\n",
		"null":                "null\n",
		"a number":            "7\n",
		"NUL":                 "family: a\x00b\n",
		"UTF-16":              "\xff\xfef\x00a\x00m\x00",
		"no UTF-8":            "family: \xc3\x28\n",
		"escape sequences":    "family: " + obeyed,
		"an unknown key":      "\"" + "k\\e[2J\\u202e" + "\": 1\n",
		"a command of a CI":   "::error::x: 1\n##[error]y: 2\n",
		"a bomb of aliases":   bomb,
		"an alias of itself":  "a: &x [*x]\n",
		"an alias of nothing": "a: *none\n",
		"deep lists":          strings.Repeat("[", 20_000),
		"deep maps in JSON":   strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000),
		"deep blocks":         deepBlocks(2_000),
		"a large file":        "family: " + strings.Repeat("x", 300<<10),
		"a long line":         "k: " + strings.Repeat("y", 100_000) + "\nk: 1\n",
		"the same key twice":  "family: a\nfamily: b\nserviceName: a\nserviceName: b\nname: a\nname: b\n",
		"an open quote":       "family: \"a\n",
		"an open flow":        "family: {a: [1, 2\n",
		"a tab":               "\tfamily: a\n",
		"an unknown tag":      "!!python/object:os.system a: b\n",
		"two documents":       "a: 1\n---\nb: 2\n",
		"a template of piped": "family: {{ .encryptedSecrets.password }}\n",
		"half of JSON":        `{"family": "a", `,
		"JSON with a comma":   `{"family": "a",}`,
		"a secret":            "dbPassword: " + planted + "\n",
		"a secret in a command": "family: web\ncontainerDefinitions: [{name: web, image: x, command: [--password, " +
			planted + "], nope: 1}]\nserviceName: web\nnope: 1\n",
	}
}

func deepBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// badFiles are what a file may be that is none.
func badFiles() map[string]func(*testing.T, string) {
	link := func(to string) func(*testing.T, string) {
		return func(t *testing.T, name string) {
			if err := os.Symlink(to, name); err != nil {
				t.Skip(err)
			}
		}
	}
	return map[string]func(*testing.T, string){
		"missing":  func(*testing.T, string) {},
		"a folder": func(t *testing.T, name string) { fail(t, os.Mkdir(name, 0o755)) },
		"60 MB": func(t *testing.T, name string) {
			put(t, name, "")
			fail(t,
				os.Truncate(name, 60<<20))
		},
		"a named pipe":                        pipe,
		"a link to a secret":                  link("../secret"),
		"a link to the process's environment": link("/proc/self/environ"),
		"a link to an endless device":         link("/dev/urandom"),
		"a link to zeros":                     link("/dev/zero"),
		"a link to itself":                    func(t *testing.T, name string) { link(filepath.Base(name))(t, name) },
		"a link out and in again": func(t *testing.T,
			name string) {
			link("../"+filepath.Base(filepath.Dir(name))+"/../secret")(t, name)
		},
	}
}

// badValue is a place in a file with values that it cannot have.
type badValue struct {
	file, old, key string
	values         []string
}

func badValues() []badValue {
	number := []string{`"x"`, "[]", "{}", "true", "1.5", "99999999999", ".nan", "1e400", "0x1fffffffff"}
	name := []string{`""`, "../web", `"a b"`, `"w\e[31m"`, "wéb", "[]", "{}", "1", strings.Repeat("x", 256),
		`"a\n::error::x"`, `"\u202eweb"`}
	size := []string{"257", `"-1"`, "[]", "0"}
	return []badValue{
		{badService, "desiredCount: 4", "desiredCount: ", append([]string{"-3", "-2147483648"}, number...)},
		{badService, "serviceName: web", "serviceName: ", name},
		{badTask, "family: web", "family: ", name},
		{badTask, "- name: web", "- name: ", name},
		{badTask, "containerPort: 80", "containerPort: ", append([]string{"99999", "-1", "0", "81"}, number...)},
		{badTask, "image: sim/web:v2", "image: ", []string{`""`, "[]", "{}", "1", `"x\e]0;y\a"`, `"x\ny"`}},
		{badTask, `cpu: "256"`, "cpu: ", size},
		{badTask, `memory: "512"`, "memory: ", append([]string{"513", "4096"}, size...)},
		{badApp, "scale: 50", "scale: ", append([]string{"0", "101", "-1", `"50 %%"`}, number...)},
		{badApp, "canary: 10", "canary: ", append([]string{"101", "-1"}, number[:5]...)},
		{badApp, "duration: 10s", "duration: ", []string{"1000000h", "-1s", "10", `"x"`, `""`, "[]", "7h", "1e9s",
			"99999999999h"}},
		{badApp, "kind: Application", "kind: ", []string{"ECSApp2", "[]", `"\e[2J"`, "1"}},
		{badApp, "apiVersion: pipecd.dev/v1beta1", "apiVersion: ", []string{"v2", "[]", "1"}},
		{badApp, "taskDefinitionFile: taskdef.yaml", "taskDefinitionFile: ",
			[]string{"../secret", "/etc/passwd", "x/../../secret", `"a\0b"`, "none.yaml", `"\e[2J"`, "[]"}},
	}
}

// badArguments are command lines.
func badArguments() (all [][]string) {
	for _, url := range []string{"ftp://h", "http://", "h:80", "http://u:" + planted + "@127.0.0.1:1",
		"http://127.0.0.1:1/?token=" + planted, "http://h:" + planted, "%zz", "http://[::1", "\x1b[2J", "://"} {
		all = append(all, []string{"plan", "DIR", "--endpoint-url", url})
	}
	for _, flag := range []string{"--tasks=-1", "--tasks=x", "--output=xml", "--nope", "--region=a b",
		"--auto-scaling-min=x", "--assume-role=" + planted, "--detailed-exitcode=maybe", "--\x1b[2J"} {
		all = append(all, []string{"plan", "DIR", flag})
	}
	all = append(all, [][]string{
		{"nope"}, {"plan", "DIR", "DIR"}, {"plan", "DIR", "-c", "DIR"}, {"plan", "none"}, {"plan", "/dev/null"},
		{"plan", "DIR/" + badTask + "/x"}, {"plan", "a\x00b"},
		{"plan", "DIR", "--auto-scaling-min", "9", "--auto-scaling-max", "3"},
		{"plan", "DIR", "--quick-sync", "--pipeline"},
		{"deploy", "DIR", "DIR"}, {"deploy", "DIR", "DIR/."}, {"deploy", "DIR", "--rollback-events", "NOPE"},
		{"history", "--limit", "x"}, {"history", "--limit", "-1"}, {"history", "slc-none", "--state", "DIR"},
		{"wait", "--timeout", "x"}, {"rehearse", "DIR", "--seeds", "0"}, {"rehearse", "DIR", "--seeds", "x"},
		{"rehearse", "DIR", "--faults", "nope\x1b[2J"}, {"rehearse", "DIR", "--output", "x"},
		{"sim", "--speed", "0"}, {"sim", "--speed", "NaN"}, {"sim", "--speed", "1e9"}, {"sim", "--speed", "x"},
		{"sim", "--seed", "-1"}, {"sim", "--listen", "0.0.0.0:0"}, {"sim", "--listen", "x"},
		{"sim", "--world", "DIR"}, {"sim", "--world", "none"}, {"sim", "--world", "/dev/zero"},
		{"sim", "--world", "DIR/" + badTask}, {"sim", "--world", "DIR/" + badApp},
		{"run", "DIR", "--count", "0"}, {"run", "DIR", "--count", "x"}, {"run", "DIR", "--command", "x"},
		{"run", "DIR", "--command", "web=[" + planted}, {"run", "DIR", "--env", planted},
		{"run", "DIR", "--tags", "x"},
		{"run", "DIR", "--overrides", "{"}, {"run", "DIR", "--overrides", `{"nope": 1}`},
		{"run", "DIR", "--overrides", "{}", "--overrides-file", "x"},
		{"run", "DIR", "--overrides-file", "/dev/zero"}, {"run", "DIR", "--overrides-file", "none"},
	}...)
	return all
}

func put(t *testing.T, name, content string) { fail(t, os.WriteFile(name, []byte(content), 0o600)) }

func edit(t *testing.T, name, from, to string) {
	t.Helper()
	data, err := os.ReadFile(name)
	fail(t, err)
	if !strings.Contains(string(data), from) {
		t.Fatalf("%s has no %s", name, from)
	}
	put(t, name, strings.Replace(string(data), from, to, 1))
}

func fail(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recorder counts the calls to AWS that are no reads.
type recorder struct {
	inner interface {
		Do(*http.Request) (*http.Response, error)
	}
	mu     sync.Mutex
	writes []string
}

var readCall = regexp.MustCompile(`^(Describe|List|Get|Lookup|BatchGet|Discover|Filter|Simulate)`)

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet { // no call to AWS: sluice asks the local AWS for its world
		return r.inner.Do(req)
	}
	operation := req.Header.Get("X-Amz-Target")
	operation = operation[strings.LastIndexByte(operation, '.')+1:]
	if operation == "" {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ = strings.Cut(string(body), "Action=")
	}
	if !readCall.MatchString(operation) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.writes = append(r.writes, operation)
	}
	return r.inner.Do(req)
}

// placed is an error with its place, or with the next step.
var placed = regexp.MustCompile(`(?m)^next: |^[^\n]*:\d+:\d+: `)

// hang is how long no input may take, on a machine however busy.
const hang = 2 * time.Minute

// refuse runs sluice on a bad input, and says what is wrong with the answer.
func (b badInput) refuse(t *testing.T, calls *recorder, sim *awssim.Sim) (problems []string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			problems = append(problems, fmt.Sprintf("it panics: %v", r))
		}
	}()
	code, text, writes := b.run(t, calls, sim)
	return b.judge(code, text, writes)
}

// run runs sluice and returns the exit code, all output, and the calls that are no reads. It panics
// as sluice does.
func (b badInput) run(t *testing.T, calls *recorder, sim *awssim.Sim) (code int, text string, writes []string) {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "app")
	if b.from == "" {
		b.from = "../../examples/pipecd-v1"
	}
	fail(t, os.CopyFS(dir, os.DirFS(b.from)))
	put(t, filepath.Join(top, "secret"), "AWS_SECRET_ACCESS_KEY="+planted+"\n")
	if b.lay != nil {
		b.lay(t, dir)
	}
	args := append([]string{}, b.args...)
	if len(args) == 0 {
		args = []string{"plan", "DIR"}
	}
	for i := range args {
		args[i] = strings.Replace(args[i], "DIR", dir, 1)
	}
	if args[0] != "sim" && args[0] != "nope" && !strings.Contains(strings.Join(args, " "), "--endpoint-url") {
		args = append(args, "--endpoint-url", awssim.Endpoint)
	}
	calls.writes = nil
	var out, errs bytes.Buffer
	env := session.Env{Args: args, In: strings.NewReader(""), Out: &out, Err: &errs, Rand: zeros{},
		OpenJournal: journal.Open,
		StateDir:    filepath.Join(top, "state"),
		Clock:       clock.Real(), HTTPClient: calls, Credentials: sim.Config().Credentials,
		Disk: session.Disk{Getwd: func() (string, error) { return top, nil }, FS: folder.New},
		Getenv: func(key string) string {
			return map[string]string{"AWS_REGION": sim.Region(), "GITHUB_ACTIONS": b.vars["GITHUB_ACTIONS"]}[key]
		},
		Notify: func(chan<- os.Signal) func() { return func() {} }, Host: "test", User: "ana", PID: 1,
		IsAlive:    func(int) bool { return false },
		IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 }}
	if len(b.vars) > 0 {
		env.Clock = nil
		env.Getenv = func(key string) string { return b.vars[key] }
		for key, value := range b.vars {
			t.Setenv(key, value)
		}
	}
	type answer struct {
		code  int
		panic any
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{code: -1}
		defer func() { a.panic = recover(); done <- a }()
		a.code = Main(env)
	}()
	var a answer
	select {
	case a = <-done:
	case <-time.After(hang):
		panic("it hangs")
	}
	if a.panic != nil {
		panic(a.panic)
	}
	return a.code, out.String() + errs.String(), calls.writes
}

func (b badInput) judge(code int, text string, writes []string) (problems []string) {
	wrong := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	wrong(strings.Contains(text, "sluice has a defect"), "it panics")
	wrong(code == 0, "exit 0")
	wrong(len(writes) > 0, "it writes: %v", writes)
	wrong(!placed.MatchString(text), "neither a place nor a next step")
	wrong(strings.Contains(text, planted), "a secret is printed")
	wrong(regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`).MatchString(
		text), "a character is printed that a terminal obeys")
	wrong(regexp.MustCompile(`(?m)^\s*::`).MatchString(text), "a line is a command of a CI system")
	if len(problems) > 0 {
		problems = append(problems, fmt.Sprintf("%.1500q", text))
	}
	return problems
}

// TestBadInputs: no hang, no panic, no planted secret, no escape byte, nothing written,
// and an error that says where or what next. Not parallel: variables are set.
func TestBadInputs(t *testing.T) {
	all := badInputs()
	if len(all) < 200 {
		t.Errorf("%d bad inputs are less than 200", len(all))
	}
	sim, calls := badGround(t)
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			for _, p := range b.refuse(t, calls, sim) {
				t.Error(p)
			}
		})
	}
	t.Logf("%d bad inputs", len(all))
}

// badFigure counts the bad inputs that are refused as they should be.
func badFigure(t *testing.T) result {
	sim, calls := badGround(t)
	all, good := badInputs(), 0
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			if len(b.refuse(t, calls, sim)) == 0 {
				good++
			}
		})
	}
	return result{fmt.Sprintf("%d of %d", good, len(all)), 0, good == len(all) && len(all) >= 200}
}

// badGround is a local AWS, and who counts what is asked of it.
func badGround(t *testing.T) (*awssim.Sim, *recorder) {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: clock.Real(), Seed: 1})
	fail(t, err)
	world, err := os.ReadFile("../../examples/canary/world.yaml")
	fail(t, err)
	fail(t, sim.Load("world.yaml", world))
	t.Setenv("AWS_REGION", sim.Region()) // without a Region every input is refused
	for _, key := range []string{"AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_ENDPOINT_URL"} {
		t.Setenv(key, "")
	}
	for _, key := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(key, filepath.Join(t.TempDir(), "none"))
	}
	return sim, &recorder{inner: sim.HTTPClient()}
}

// zeros is a source of random numbers that are all 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
