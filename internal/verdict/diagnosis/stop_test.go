package diagnosis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestCausesAreNamedTheSameForTasksThatFailedAlike(t *testing.T) {
	elb := func(task string) Stopped {
		return Stopped{StoppedTask: sluice.StoppedTask{ID: task, StopCode: "ServiceSchedulerInitiated",
			StoppedReason: "Task failed ELB health checks in (target-group " +
				"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/0123456789abcdef)"}}
	}
	a, ok := ExplainStop(elb("a"), nil)
	if b, _ := ExplainStop(elb("b"), nil); !ok || a.Text != b.Text ||
		!strings.Contains(a.Text, "(target-group web-canary)") {
		t.Errorf("%q and %q", a.Text, b.Text)
	}
	killed := 137
	c, _ := ExplainStop(Stopped{StoppedTask: sluice.StoppedTask{StopCode: "EssentialContainerExited", Container: "web",
		ExitCode: &killed, ContainerReason: "OutOfMemoryError: Container killed due to memory usage"}}, nil)
	if want := "exit code 137 (killed: SIGKILL, often out of memory) of container web: OutOfMemoryError: Container " +
		"killed due to memory usage"; c.Text != want || c.Kind != OutOfMemory {
		t.Errorf("%s %q, want %q", c.Kind, c.Text, want)
	}
}

// A kind without a row has no advice.
func TestEveryKindHasOneRowWithAdvice(t *testing.T) {
	seen := map[Kind]bool{}
	for _, r := range table {
		if r.kind == "" || r.advice == "" || seen[r.kind] {
			t.Errorf("%q: advice %q, or a second row", r.kind, r.advice)
		}
		seen[r.kind] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		constants++
		if text, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value); !seen[Kind(text)] {
			t.Errorf("%s has no row", v.Names[0].Name)
		}
		return true
	})
	if constants != len(table) || constants == 0 {
		t.Errorf("%d kinds, %d rows", constants, len(table))
	}
}

// The same failure of a service's task and of a task that runs to its end has one kind.
func TestStoppedAndRunTasksHaveTheSameKind(t *testing.T) {
	code := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		stop, reason, container string
		exit                    *int
		kind                    Kind
	}{
		"exit":        {"EssentialContainerExited", "Essential container in task exited", "", code(3), ExitCode},
		"memory":      {"EssentialContainerExited", "", "OutOfMemoryError: Container killed", code(137), OutOfMemory},
		"pull":        {"TaskFailedToStart", "CannotPullContainerError: no such image", "", nil, ImageNotFound},
		"pull reason": {"TaskFailedToStart", "Task failed to start", "CannotPullContainerError: x", nil, ImageNotFound},
		"secret":      {"TaskFailedToStart", "unable to retrieve secret from asm", "", nil, SecretUnread},
		"start":       {"EssentialContainerExited", "", "CannotStartContainerError: x", code(127), NotStartable},
		"dependency":  {"TaskFailedToStart", agentText, "", code(1), NotReady},
		"dependent":   {"EssentialContainerExited", "", agentText, code(143), NotReady},
		"late secret": {"EssentialContainerExited", "cannot retrieve secret", "", code(1), ExitCode},
		"unknown":     {"TaskFailedToStart", "Something new", "", nil, OtherCause},
		"interface":   {"TaskFailedToStart", "Timeout waiting for network interface", "", nil, NetworkRefused},
	} {
		stopped, ok := ExplainStop(Stopped{StoppedTask: sluice.StoppedTask{ID: "t", StopCode: c.stop, Container: "web",
			StoppedReason: c.reason, ContainerReason: c.container, ExitCode: c.exit}}, nil)
		ran, failed := ExplainRun(sluice.TaskEnded{Task: "t", StopCode: c.stop, Reason: c.reason,
			Containers: []sluice.ContainerEnded{{Name: "web", ExitCode: c.exit, Reason: c.container}}}, "web", nil)
		if !ok || !failed || stopped.Kind != c.kind || ran.Kind != c.kind {
			t.Errorf("%s: %t %s, %t %s, want %s", name, ok, stopped.Kind, failed, ran.Kind, c.kind)
		}
	}
}

const agentText = "CannotStartContainerError: dependency graph: failed to resolve container ordering dependency " +
	"[setup(repo/ssm:v1) (STOPPED->RUNNING) -  Exit: 1] for target [web(repo/web:v1) (NONE->RUNNING)] as dependency " +
	"did not exit successfully."

// A container that waited is explained by the container that it waited for.
func TestADependencyIsNamed(t *testing.T) {
	for reason, want := range map[string]string{
		agentText: "container setup ended with exit code 1, so container web did not start",
		"CannotStartContainerError: dependency graph: container ordering dependency [db(x) (RUNNING->RUNNING)] for " +
			"target [web(y) (NONE->RUNNING)] has timed out.": "container db was not ready within its startTimeout, so " +
			"container web did not start",
		"dependency graph: failed to resolve container ordering dependency [copy(x) (STOPPED->RUNNING)] for target " +
			"[web(y) (NONE->RUNNING)] because dependency will never start": "container copy did not start, so container " +
			"web did not start",
		"CannotStartContainerError: x": "",
	} {
		if got := dependencyText(reason); got != want || IsWaiting(reason) != (want != "") {
			t.Errorf("%s: %q", reason, got)
		}
	}
}

// The threshold is the same for every caller that gives none.
func TestFailuresReachTheirLimit(t *testing.T) {
	one := 1
	var f Failures
	for n := range 5 {
		if f.Reach(0) != (n >= FailAfter) || n > 0 && f.Leading().Count != n {
			t.Errorf("%d failures: reached %t, %+v", n, f.Reach(0), f.Leading())
		}
		f = f.AddStopped([]Stopped{{StoppedTask: sluice.StoppedTask{ID: strings.Repeat("x", n+1), Container: "web",
			StopCode: "EssentialContainerExited", ExitCode: &one}}}, nil)
	}
	if needed := f.NeededLogs(); len(needed) != 1 || needed[0].ID != "xxxxx" {
		t.Errorf("logs of %v", needed)
	}
	f = f.AddLogs([]Log{{Task: "xxxxx", Container: "web", Lines: []string{"exec app: exec format error"}}}, nil)
	if c := f.Leading(); c.Kind != ExecFormat || c.Count != 5 || len(f.NeededLogs()) != 0 {
		t.Errorf("after its log: %+v, needs %v", c, f.NeededLogs())
	}
	if f = f.Reset(); f.Count() != 0 || f.Reach(1) || len(f.Logs()) != 1 {
		t.Errorf("after a healthy task: %+v", f)
	}
}
