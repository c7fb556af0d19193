package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are those of the scripts, beside testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	// harmless: the last command wrote no code for a terminal, no command for a CI system, no planted secret
	"harmless": harmless,
	// applications NAME…: a folder for each, and world.yaml with a rolling service for each at v1
	"applications": applications,
	"exits":        exits,  // exits CODE sluice …: run it, and want that exit code
	"sim":          sim,    // sim WORLD [fast|KNOBS]: a local AWS, and the variables to reach it
	"fault":        inject, // fault LINE: inject it
	"reset":        reset,  // reset: the local AWS starts again with its world file
	"remove":       remove, // remove CLUSTER SERVICE: somebody deletes it
	// update CLUSTER SERVICE IMAGE: somebody deploys an image; FORCE instead: a new deployment
	"update":     update,
	"history":    history,    // history CLUSTER SERVICE: its service deployments, newest first
	"weights":    weights,    // weights BALANCER PRIMARY CANARY: somebody sets them on the default rule
	"silence":    silence,    // silence BALANCER: somebody lets its default rule respond by itself
	"claim":      claim,      // claim CLUSTER SERVICE ID: another machine deploys it
	"autoscale":  autoscale,  // autoscale CLUSTER SERVICE MIN MAX [in] [out] [scheduled]: somebody registers it so
	"targets":    targets,    // targets: the scalable targets, as AWS describes them
	"codedeploy": codedeploy, // codedeploy start|stop|continue …: somebody else at CodeDeploy
	"edit":       edit,       // edit FILE OLD NEW: in place
	"clear":      clearFaults,
	"lookups":    lookups, // lookups NAME PORT N: look it up and ask; stdout counts the answers
	"traffic":    traffic, // traffic BALANCER N: send requests; stdout counts the answers
	"start":      start,   // start NAME sluice …: run it beside the script
	"until":      until,   // until NAME REGEXP: wait for it in what NAME wrote
	"signal":     signal,  // signal NAME INT|HUP|KILL
	"enter":      enter,   // enter NAME: reach the sluice sim that was started as NAME; $BALANCER is its load balancer
	"ci":         ci,      // ci FILE JOB CODE: run a job of examples/ci as its CI system does, with repository/ checked out
	"finish":     finish,  // finish NAME CODE: wait for its end
}

// exits runs a command and wants its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [args...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if want := args[0]; want != strconv.Itoa(got) {
		ts.Fatalf("exit code %d, not %s", got, want)
	}
}

// harmful is what no terminal, CI system or log may get: characters that a terminal
// obeys, lines that a CI system does, the secret that scripts plant.
var harmful = regexp.MustCompile(
	`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]|(?m:^\s*::)|##\[|PLANTED`)

// harmless looks at what the last command wrote.
func harmless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: harmless")
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if text := ts.ReadFile(stream); harmful.MatchString(text) {
			ts.Fatalf("%s has %q", stream, harmful.FindString(text))
		}
	}
}

// edit replaces text that a file has once.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit file old new")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	old, text := strings.ReplaceAll(args[1], `\n`, "\n"), string(data)
	if n := strings.Count(text, old); n != 1 {
		ts.Fatalf("%s has %q %d times", args[0], old, n)
	}
	text = strings.Replace(text, old, strings.ReplaceAll(args[2], `\n`, "\n"), 1)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// traffic sends requests to a load balancer, one after the other, and writes how
// often each answer came: "v1 100".
func traffic(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: traffic balancer requests")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	url := args[0]
	if !strings.HasPrefix(url, "http://") {
		url = theSim(ts).url(ts, url)
	}
	counts := map[string]int{}
	for range n {
		counts[answer(url)]++
	}
	var rows []string
	for a, n := range counts {
		rows = append(rows, fmt.Sprintf("%s %d", a, n))
	}
	sort.Strings(rows)
	ts.Check(os.WriteFile(ts.MkAbs("traffic.txt"), []byte(strings.Join(rows, "\n")+"\n"), 0o644))
	fmt.Fprintln(ts.Stdout(), strings.Join(rows, "\n"))
}

var version = regexp.MustCompile(`\b(v\d+|previous)\b`)

func answer(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return "failed"
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if v := version.FindString(string(body)); resp.StatusCode == http.StatusOK && v != "" {
		return v
	}
	return resp.Status
}

// program finds a command of the script in its PATH.
func program(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		for _, suffix := range []string{"", ".exe"} {
			if path := filepath.Join(dir, name+suffix); isFile(path) {
				return path
			}
		}
	}
	ts.Fatalf("%s is not in PATH", name)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
