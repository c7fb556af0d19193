package dataplane_test

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// taskProgram is what the test binary is when it runs as a task: a server that
// says its environment, and ends as TASK_PROGRAM says.
func taskProgram() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	fmt.Println("listening on", os.Getenv("PORT"))
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, os.Getenv("GREETING"), os.Getenv("SLUICE_ADDRESS"), os.Getenv("SLUICE_SERVICE"),
			os.Getenv("AWS_SECRET_ACCESS_KEY"))
	})
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	go func() { _ = http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil) }()
	for range term {
		if os.Getenv("TASK_PROGRAM") != "stubborn" {
			fmt.Fprint(os.Stderr, "got SIGTERM") // a last line without an end
			os.Exit(0)
		}
		fmt.Fprintln(os.Stderr, "got SIGTERM, which is ignored")
	}
}

func ourselves(t *testing.T) image.Behaviour {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return image.Behaviour{Version: "program", Command: []string{exe}}
}

func (b *bench) logged(what string) bool {
	for _, e := range b.w.Entries() {
		if e.Kind == "output" && strings.Contains(e.Text, what) {
			return true
		}
	}
	return false
}

func TestHostImageServesAndDies(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "leaked")
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	task := b.taskOf(ourselves(t), map[string]string{"TASK_PROGRAM": "polite", "GREETING": "hello"})
	b.register(g, task)
	b.until("a real health check passes", func() bool { b.pass(5 * time.Second); return b.count(g, "healthy") == 1 })
	if got := b.get(l.Bound, "/"); got.body != "hello "+task.Address.String()+" web \n" {
		t.Errorf("%+v", got)
	}
	if got := b.get(task.Address.String()+":8080", "/"); runtime.GOOS == "linux" && got.status != 200 {
		t.Errorf("at the task's own address: %+v", got)
	}
	if !b.logged("listening on ") {
		t.Error("its output is not in the log")
	}
	b.term(task)
	if got := <-b.exits; got != task.ARN+" web 0" {
		t.Errorf("after SIGTERM: %s", got)
	}
	if !b.logged("got SIGTERM") {
		t.Error("its last line, which has no end, is not in the log")
	}
	if got := b.get(l.Bound, "/"); got.status != 502 {
		t.Errorf("after its end: %+v", got)
	}
	b.until("the target is found out", func() bool { b.pass(5 * time.Second); return b.count(g, "unhealthy") == 1 })
}

func TestHostImageExitCodes(t *testing.T) {
	b := newBench(t)
	env := map[string]string{"TASK_PROGRAM": "stubborn"}
	exits := b.taskOf(ourselves(t), env)
	b.until("it serves", func() bool { return b.get(b.address(exits), "/").status == 200 })
	b.get(b.address(exits), "/exit")
	if got := <-b.exits; got != exits.ARN+" web 3" {
		t.Errorf("os.Exit(3): %s", got)
	}
	killed := b.taskOf(ourselves(t), env)
	b.until("it serves", func() bool { return b.get(b.address(killed), "/").status == 200 })
	b.term(killed)
	b.until("it has heard SIGTERM", func() bool { return b.logged("got SIGTERM") || len(b.exits) > 0 })
	b.kill(killed)
	if got := <-b.exits; got != killed.ARN+" web 137" {
		t.Errorf("SIGKILL: %s", got)
	}
	missing := b.taskOf(image.Behaviour{Version: "x", Command: []string{"./there-is-no-such-program"}}, nil)
	if got := <-b.exits; got != missing.ARN+" web 127" || !b.logged("not started: ") {
		t.Errorf("no program: %s", got)
	}
}

func TestCloseEndsPrograms(t *testing.T) {
	b := newBench(t)
	task := b.taskOf(ourselves(t), map[string]string{"TASK_PROGRAM": "stubborn"})
	at := b.address(task)
	b.until("it serves", func() bool { return b.get(at, "/").status == 200 })
	b.plane.Close()
	if got := b.get(at, "/"); got.err == nil {
		t.Errorf("the program outlived the data plane: %+v", got)
	}
	if len(b.exits) != 0 {
		t.Errorf("the world was told %s", <-b.exits)
	}
	b.open()
}
