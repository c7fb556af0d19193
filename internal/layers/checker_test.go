package layers

import (
	"strings"
	"testing"
)

// The checks must be known to fail. Each case is a file of the module that does
// not exist, and what is said about it; nothing is said where want is empty.
func TestChecks(t *testing.T) {
	const ours = `import "` + module + "/"
	cases := []struct {
		what, file, src string
		want            string
	}{
		// arrows
		{"adapters do not import account", "internal/route/a.go", ours + `internal/account"`,
			"internal/route/a.go:2: internal/route imports internal/account: adapters do not import account"},
		{"adapters do not import each other", "internal/ecs/a.go", ours + `internal/route/alb"`,
			"internal/ecs imports internal/route/alb: packages of layer 2 (adapters: operations on AWS) do not " +
				"import each other"},
		{"a driver imports route", "internal/route/alb/a.go", ours + `internal/route"`, ""},
		{"route does not import its drivers", "internal/route/a.go", ours + `internal/route/alb"`,
			"do not import each other"},
		{"definition before appfile", "internal/definition/a.go", ours + `internal/appfile"`,
			"do not import each other"},
		{"appfile after definition", "internal/appfile/a.go", ours + `internal/definition"`, ""},
		{"plan after both", "internal/plan/a.go", ours + `internal/appfile"`, ""},
		{"a stage knows no journal", "internal/stage/a.go", ours + `internal/journal"`,
			"a stage knows its host, not the journal"},
		{"a stage knows no engine", "internal/stage/a.go", ours + `internal/engine"`,
			"imports only point down, and layer 4 is above layer 3"},
		{"a stage watches", "internal/stage/a.go", ours + `internal/watch"`, ""},
		{"watch knows no stage", "internal/watch/a.go", ours + `internal/stage"`, "do not import each other"},
		{"a stage uses adapters", "internal/stage/a.go", ours + `internal/account"`, ""},
		{"the engine does not simulate", "internal/engine/a.go", ours + `awssim"`,
			"only cli/local and rehearse import awssim"},
		{"rehearse does", "internal/rehearse/a.go", ours + `awssim/world"`, ""},
		{"the local commands do", "internal/cli/local/a.go", ours + `awssim"`, ""},
		{"other commands do not", "internal/cli/deploy/a.go", ours + `awssim"`, "only cli/local and rehearse"},
		{"what people see reads no AWS", "internal/cli/show/a.go", ours + `internal/ecs"`,
			"layer 5 (front ends: command line, plugins, pages) may not import layer 2"},
		{"what people see has no commands", "internal/cli/show/a.go", ours + `internal/cli/session"`,
			"packages of layer 5"},
		{"the words import nothing", "a.go", ours + `internal/clock"`, "do not import each other"},
		{"clock is below all", "internal/clock/a.go", `import "github.com/google/uuid"`,
			"its row allows the standard library only"},
		{"a command has one front end", "cmd/sluice/a.go", ours + `internal/engine"`, "imports its one front end"},
		{"its own", "cmd/sluice/a.go", ours + `internal/cli"`, ""},
		{"no library without a row", "internal/verdict/a.go", `import "golang.org/x/sync/errgroup"`, "its row allows"},
		{"configuration is account's", "internal/ecs/a.go", `import "` + sdk + `config"`,
			"only account makes AWS clients"},
		{"a command has no shapes of AWS", "internal/cli/a.go", `import "` + sdkServices + `ecs/types"`,
			"internal/cli/a.go:2: internal/cli imports " + sdkServices + "ecs/types: front ends do not import packages " +
				"of AWS services"},
		{"nor has a plugin", "internal/piped/a.go", `import "` + sdkServices + `ecs"`, "front ends do not import"},
		{"nor has the Go API", "wait/a.go", `import "` + sdkServices + `ecs"`, "front ends do not import"},
		{"nor has the engine", "internal/engine/a.go", `import "` + sdkServices + `ecs"`, "its row allows"},
		{"a front end's test has", "internal/cli/a_test.go", `import "` + sdkServices + `ecs"`, ""},
		{"a front end has pointers", "internal/cli/a.go", `import "` + sdkCore + `"`, ""},
		{"a task knows no stage", "internal/stage/task/a.go", ours + `internal/stage"`, "do not import each other"},
		{"a survey knows no journal", "internal/survey/a.go", ours + `internal/journal"`,
			"a survey reads AWS, not the journal"},
		{"a new package has no layer", "internal/shiny/a.go", "",
			"internal/shiny is in no layer: give it a row in layerTable"},
		{"nor has a new part of the simulator", "awssim/shiny/a.go", "", "awssim/shiny has no row in simulatorTable"},

		// arrows of tests
		{"a test uses the local AWS", "internal/ecs/a_test.go", ours + `awssim"`, ""},
		{"a test does not look up", "internal/ecs/a_test.go", ours + `internal/stage"`, "imports only point down"},
		{"a stage is tested in the engine", "internal/stage/a_test.go", ours + `internal/engine"`, ""},
		{"and its bench has one", "internal/stage/stagetest/a.go", ours + `internal/engine"`, ""},
		{"not in a front end", "internal/stage/a_test.go", ours + `internal/cli"`, "imports only point down"},
		{"a bench is for tests", "internal/engine/a.go", ours + `internal/stage/stagetest"`, "imported by tests only"},
		{"a suite is for tests", "internal/route/alb/a.go", ours + `internal/route/routetest"`,
			"imported by tests only"},
		{"the simulation is for tests", "internal/cli/a.go", ours + `internal/rehearse/simtest"`,
			"imported by tests only"},
		{"nor does rehearse run it", "internal/rehearse/a.go", ours + `internal/rehearse/simtest"`,
			"imported by tests only"},
		{"a test runs the simulation", "internal/cli/a_test.go", ours + `internal/rehearse/simtest"`, ""},
		{"the simulation rehearses", "internal/rehearse/simtest/a.go", ours + `internal/rehearse"`, ""},
		{"the simulation plays no command line", "internal/rehearse/simtest/a.go", ours + `internal/cli"`,
			"imports only point down"},
		{"a test runs a suite", "internal/route/alb/a_test.go", ours + `internal/route/routetest"`, ""},

		// the simulator
		{"awssim never imports sluice", "awssim/ecs/a.go", ours + `internal/clock"`,
			"the simulator knows nothing of sluice"},
		{"nor do its tests", "awssim/ecs/a_test.go", ours + `internal/clock"`, "the simulator knows nothing of sluice"},
		{"nor does it import the words", "awssim/ecs/a.go", `import "` + module + `"`, "it may import awssim/world"},
		{"a service and its controller", "awssim/ecs/a.go", ours + `awssim/scheduler"`, ""},
		{"a service and the controller of another", "awssim/ecs/a.go", ours + `awssim/loadbalancer"`,
			"controllers share state only through world"},
		{"a service and a service", "awssim/ecs/a.go", ours + `awssim/elbv2"`,
			"controllers share state only through world"},
		{"a controller and a controller", "awssim/scheduler/a.go", ours + `awssim/loadbalancer"`,
			"controllers share state only through world"},
		{"a controller and a service", "awssim/loadbalancer/a.go", ours + `awssim/elbv2"`,
			"controllers share state only through world"},
		{"world and a controller", "awssim/world/a.go", ours + `awssim/scheduler"`,
			"world imports the standard library and awssim/image only"},
		{"world and images", "awssim/world/a.go", ours + `awssim/image"`, ""},
		{"world has no SDK", "awssim/world/a.go", `import "` + sdkServices + `ecs"`,
			"its row allows the standard library only"},
		{"world is passive", "awssim/world/a.go", "func f() { go f() }", "go statement"},

		// names
		{"no util", "internal/stage/util/a.go", "", "name it by a noun or a verb of the field"},

		// calls
		{"go", "internal/stage/a.go", "func f() { go f() }", "internal/stage/a.go:2: go statement"},
		{"time.Now", "internal/stage/a.go", "import \"time\"\nvar _ = time.Now", "internal/stage/a.go:3: time.Now"},
		{"time.Now renamed", "internal/journal/a.go", "import t \"time\"\nfunc f() { t.Sleep(1) }", "time.Sleep"},
		{"time with a dot", "internal/journal/a.go", `import . "time"`, "with a dot"},
		{"a method of the same name", "internal/stage/a.go",
			"type T struct{}\nfunc (T) Now() {}\nfunc f(time T) { time.Now() }", ""},
		{"context.WithTimeout", "internal/ecs/a.go", "import \"context\"\nfunc f() { context.WithTimeout(nil, 1) }",
			"context.WithTimeout"},
		{"chance", "internal/plan/a.go", `import "math/rand/v2"`, "imports math/rand/v2"},
		{"chance through a library", "internal/engine/a.go", "import \"github.com/oklog/ulid/v2\"\nvar _ = ulid.Make()",
			"ulid/v2.Make"},
		{"a front end may", "internal/cli/a.go", "import \"time\"\nfunc f() { go f(); time.Now() }", ""},
		{"a test may", "internal/stage/a_test.go", "import \"time\"\nfunc f() { go f(); time.Now() }", ""},
		{"time's values are fine", "internal/stage/a.go", "import \"time\"\nconst d = 3 * time.Second", ""},

		// state
		{"a variable", "internal/stage/a.go", "var n int", "package-level variable n has no value"},
		{"a cache", "internal/stage/a.go", "var m = map[string]int{}\nfunc f() { m[\"a\"] = 1 }",
			"package-level variable m is assigned at internal/stage/a.go:3"},
		{"a counter", "internal/stage/a.go", "var n = 1\nfunc f() { n++ }", "n is assigned"},
		{"an address", "internal/stage/a.go", "var n = 1\nfunc f() { g(&n) }\nfunc g(*int) {}",
			"n has its address taken"},
		{"delete", "internal/stage/a.go", "var m = map[string]int{\"a\": 1}\nfunc f() { delete(m, \"a\") }",
			"m is changed by delete"},
		{"a mutex", "internal/stage/a.go", "import \"sync\"\nvar mu = sync.Mutex{}", "mu is made to change"},
		{"a pointer", "internal/stage/a.go", "type T struct{}\nvar p = &T{}", "p holds a pointer"},
		{"a call", "internal/stage/a.go", "var m = make(map[string]int)", "m calls a function"},
		{"a function", "internal/stage/a.go", "var f = func() {}", "f holds a function"},
		{"a cache behind a function", "internal/stage/a.go",
			"import \"sync\"\nvar f = sync.OnceValue(g)\nfunc g() int { return 1 }", "f is made to change"},
		{"a thing made", "internal/stage/a.go", "var t = g()\nfunc g() *int { return nil }", "t calls a function"},
		{"maps made for a table", "internal/stage/a.go", "var t = []map[int]int{make(map[int]int)}",
			"t calls a function"},
		{"a table of functions", "internal/stage/a.go",
			"type T struct{}\nfunc (T) n() string { return \"\" }\nfunc g[X any]() int { return 1 }\n" +
				"var t = map[string]func() int{T{}.n(): g[T], \"b\": func() int { return g[T]() }}", ""},
		{"a sentinel", "internal/stage/a.go", "import \"errors\"\nvar ErrX = errors.New(\"x\")", ""},
		{"a pattern", "internal/stage/a.go", "import \"regexp\"\nvar re = regexp.MustCompile(`x`)", ""},
		{"a table", "internal/stage/a.go",
			"type K string\nvar t = map[K][]byte{K(\"a\"): []byte(\"b\")}\nfunc f() { t := 1; t = 2; _ = t }", ""},
		{"an embedded file", "internal/stage/a.go", "import _ \"embed\"\n//go:embed a.txt\nvar a string", ""},
		{"an assertion", "internal/stage/a.go", "type T struct{}\nvar _ error = f()\nfunc f() error { return nil }",
			""},

		// clients
		{"a hand makes no client", "internal/ecs/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\nvar _ = awsecs.NewFromConfig", "only account makes AWS clients"},
		{"a hand is given one", "internal/ecs/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\nfunc f(*awsecs.Client) {}", ""},
		{"and pages", "internal/ecs/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\nvar _ = awsecs.NewListTasksPaginator", ""},
		{"but does not wait with it", "internal/ecs/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\nvar _ = awsecs.NewServicesStableWaiter", "only account makes AWS clients"},
		{"thought has shapes", "internal/definition/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\ntype T = awsecs.CreateServiceInput", ""},
		{"thought has no client", "internal/definition/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\ntype T = awsecs.Client", "for shapes here"},
		{"front ends make none", "internal/cli/a.go", "import awsecs \"" + sdkServices + "ecs\"\nvar _ = awsecs.New",
			"for shapes here"},
		{"account does", "internal/account/a.go", "import awsecs \"" + sdkServices +
			"ecs\"\nvar _ = awsecs.NewFromConfig", ""},
		{"tests do", "internal/ecs/a_test.go", "import awsecs \"" + sdkServices + "ecs\"\nvar _ = awsecs.NewFromConfig",
			""},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			f, err := parseFile(c.file, []byte("package p\n"+c.src+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			expect(t, allChecks(f), c.want)
		})
	}
}

func allChecks(files ...*file) []string {
	var bad []string
	for _, c := range checks {
		bad = append(bad, c.check(files)...)
	}
	return bad
}

func expect(t *testing.T, got []string, want string) {
	t.Helper()
	all := strings.Join(got, "\n")
	if want == "" && all != "" || !strings.Contains(all, want) {
		t.Errorf("said\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), want)
	}
}

func TestStateIsSeenAcrossFiles(t *testing.T) {
	a, _ := parseFile("internal/plan/a.go", []byte("package plan\nvar names = []string{}\n"))
	b, _ := parseFile("internal/plan/b.go", []byte("package plan\nfunc f() { names = append(names, \"x\") }\n"))
	expect(t, allChecks(a, b), "names is assigned at internal/plan/b.go:2")
}

func TestCommandsCarryOnlyWhatTheyNeed(t *testing.T) {
	a, _ := parseFile("cmd/sluice/main.go", []byte("package main\nimport _ \""+module+"/internal/cli\"\n"))
	b, _ := parseFile("internal/cli/a.go", []byte("package cli\nimport _ \"google.golang.org/grpc\"\n"))
	expect(t, allChecks(a, b), "cmd/sluice carries google.golang.org/grpc, through internal/cli")
	c, _ := parseFile("internal/pulumi/a.go",
		[]byte("package pulumi\nimport _ \"github.com/pulumi/pulumi/sdk/v3/proto/go\"\n"))
	d, _ := parseFile("cmd/pulumi-resource-sluice/main.go",
		[]byte("package main\nimport _ \""+module+"/internal/pulumi\"\n"))
	expect(t, allChecks(c, d), "")
}

func TestText(t *testing.T) {
	const number = "98765" + "4321098"
	for line, want := range map[string]string{
		"arn:aws:ecs:us-east-1:123456789012:cluster/web": "",
		"arn:aws:iam::aws:policy/ReadOnlyAccess":         "",
		"arn:aws:ecs:us-east-1:" + number + ":cluster/web": "x:1: account " + number +
			" in an ARN",
		"arn:aws-cn:iam::" + number + ":role/x": "x:1: account " + number,
		"look in /wo" +
			"rk/main": "x:1: a path of somebody's machine: /wo" +
			"rk/",
		"/ro" + "ot/.cache": "x:1: a path",
		"https://example.com/wo" + "rk/a and ./wo" + "rk/b and src/ro" + "ot/x":       "",
		"\x00 arn:aws:ecs:us-east-1:" + number + ":cluster/in-a-binary is not a text": "",
	} {
		expect(t, checkText("x", []byte(line)), want)
	}
}
