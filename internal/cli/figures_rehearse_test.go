package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// simulationFigures are those of the machinery that kills and breaks sluice.
func simulationFigures() []figure {
	drawn := &simulation{}
	return []figure{
		{"drawn deployments without a broken promise, 20,000 seeds from five distant starts", "all", drawn.kept},
		{"of them, in virtual time under faults", "≥ 1,000 per minute", drawn.rate},
		{"killed in simulation at every write and row: the same end", "all of ≥ 150",
			points("./internal/rehearse/simtest", "TestKilledAnywhere")},
		{"killed by SIGKILL at every write: the same end", "all", points("./cmd/sluice", "TestKilledForReal")},
		{"AWS's responses removed or replaced by a proxy: the requested end, no request lost", "all", outages},
		{"each write denied, refused or unanswered: a clean end by the commands that are printed", "all", deniedWrites},
		{"broken rules that the simulation notices in 1,000 seeds", "all of ≥ 15", brokenRules},
		{"mutations that a test notices", "all", mutations},
		{"sluice rehearse: a pipeline of 45 minutes, all scenarios", "< 60 s", rehearseTime},
	}
}

// tested runs tests of a package with flags and returns what they print.
func tested(t *testing.T, pkg, name string, flags ...string) (out string, ok bool) {
	t.Helper()
	c := exec.Command("go", append([]string{"test", pkg, "-run", "^" + name + "$", "-count=1", "-timeout", "2h", "-v"},
		flags...)...)
	c.Dir = "../.."
	text, err := c.CombinedOutput()
	if err != nil {
		t.Logf("%s", text)
	}
	return string(text), err == nil
}

// simulation is the runs of two figures.
type simulation struct {
	seeds, deployments int
	rates              []float64 // deployments a minute, by start
	ok                 bool
}

// starts are where the drawn seeds begin, 4,000 each.
var starts = []string{"1", "100200300000", "31415926000", "271828182845000", "900000000000000"}

// run simulates unless it was done.
func (s *simulation) run(t *testing.T) {
	if len(s.rates) > 0 {
		return
	}
	s.ok = true
	for _, start := range starts {
		out, ok := tested(t, "./internal/rehearse/simtest", "TestSimulation", "-seeds", "4000", "-first", start)
		number := func(what string) int { n, _ := strconv.Atoi(found(out, what)); return n }
		s.ok = s.ok && ok
		s.seeds, s.deployments = s.seeds+number(`(\d+) seeds`), s.deployments+number(`seeds, (\d+) deployments`)
		s.rates = append(s.rates, float64(number(`deployments, (\d+) a minute`)))
	}
}

func (s *simulation) kept(t *testing.T) result {
	s.run(t)
	return result{fmt.Sprintf("%d seeds, %d deployments", s.seeds, s.deployments), 0, s.ok}
}

// rate is that of the median start.
func (s *simulation) rate(t *testing.T) result {
	s.run(t)
	slices.Sort(s.rates)
	return least(s.rates[len(s.rates)/2], 1000, "per minute")
}

func found(out, what string) string {
	if m := regexp.MustCompile(what).FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return "nothing"
}

func points(pkg, name string) func(*testing.T) result {
	return func(t *testing.T) result {
		out, ok := tested(t, pkg, name, "-kills")
		n, _ := strconv.Atoi(found(out, `(\d+) kill points`))
		return result{fmt.Sprintf("%d of %[1]d", n), 0, ok && n >= 150}
	}
}

func outages(t *testing.T) result {
	out, ok := tested(t, "./internal/rehearse/simtest", "TestOutages", "-outages")
	m := regexp.MustCompile(`(\d+) deployments interrupted: (\d+) ended as asked for.*; (\d+) of (\d+) requests lost`).FindStringSubmatch(out)
	if m == nil {
		t.Fatal("it tells no numbers")
	}
	return result{fmt.Sprintf("%s of %s, %s of %s requests lost", m[2], m[1], m[3], m[4]), 0, ok && m[1] == m[2] &&
		m[3] == "0"}
}

func deniedWrites(t *testing.T) result {
	out, ok := tested(t, "./internal/cli", "TestEachWriteDeniedInTurn", "-denials")
	m := regexp.MustCompile(`(\d+) writes denied or broken: (\d+) clean ends`).FindStringSubmatch(out)
	if m == nil {
		t.Fatal("it tells no numbers")
	}
	return result{m[2] + " of " + m[1], 0, ok && m[1] == m[2]}
}

func brokenRules(t *testing.T) result {
	return caught(t, "./internal/rehearse/simtest", "TestMutantsAreCaught", "-mutants")
}

func mutations(t *testing.T) result {
	out, ok := tested(t, "./internal/mutants", "TestMutationsAreCaught", "-all")
	runs := regexp.MustCompile(`(?m)^=== RUN   TestMutationsAreCaught/\d+/(.*)$`).FindAllStringSubmatch(out, -1)
	runs = slices.DeleteFunc(runs, func(m []string) bool { return strings.HasPrefix(m[1], "unchanged_") })
	n := strings.Count(out, ": caught by ")
	return result{fmt.Sprintf("%d of %d", n, len(runs)), 0, ok && n == len(runs) && n >= 300}
}

// caught counts the subtests of a test that break a rule each.
func caught(t *testing.T, pkg, name, flag string) result {
	out, ok := tested(t, pkg, name, flag)
	n, all := strings.Count(out, "    --- PASS: "+name+"/"), strings.Count(out, "=== RUN   "+name+"/")
	return result{fmt.Sprintf("%d of %d", n, all), 0, ok && n == all && all >= 15}
}

// rehearseTime is the canary of the examples with waits of half an hour in all,
// past AWS's usual drains: three quarters of an hour.
func rehearseTime(t *testing.T) result {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/canary")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "sluice.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.NewReplacer("duration: 10s", "duration: 16m", "    - name: ECS_PRIMARY_ROLLOUT\n",
		"    - {name: WAIT, with: {duration: 16m30s}}\n    - name: ECS_PRIMARY_ROLLOUT\n").Replace(string(text))
	if err := os.WriteFile(file, []byte(longer), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(built(t), "rehearse", dir)
	began := time.Now()
	out, err := c.CombinedOutput()
	took := time.Since(began)
	good, _ := time.ParseDuration(found(string(out), `good +succeeded .* (\S+)\n`))
	if err != nil || good < 45*time.Minute {
		t.Fatalf("%v, %s\n%s", err, good, out)
	}
	return most(took.Seconds(), 60, "s")
}
