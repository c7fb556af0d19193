package simtest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

var recordJournals = flag.Bool("record-journals", false,
	"record the saved rows of this version at each write of some flows; a later version must resume from them")

// oldFlows are the flows whose rows an earlier version saved.
var oldFlows = []string{"canary", "canary of an extended rule", "canary that crashes",
	"canary, rolled back after stage 4", "blue/green, rolled back after stage 3",
	"canary that suspends auto scaling, rolled back after stage 4", "canary scaled by others, and adopted",
	"canary, a rule edited and adopted", "rolling", "rolling, rolled back by sluice",
	"rolling that suspends auto scaling", "canary service: canary", "canary service: canary, rolled back after stage 4",
	"canary service: canary by name", "canary service: canary by name, rolled back after stage 4", "canary by name",
	"blue/green by name, rolled back after stage 3", "by name, an instance deregistered, and adopted",
	"steps before and after", "by itself, 23 tasks", "CodeDeploy, attributes too",
	"CodeDeploy, rolled back with a share moved",
	"CodeDeploy that suspends auto scaling, rolled back on request"}

// oldJournal is what an earlier version of sluice had saved of a deployment at each of its
// interruptions.
type oldJournal struct {
	flow  string
	text  string // of the case
	plan  string // as JSON
	kills []oldKill
}

// oldKill has the rows that a process left that was killed before its n-th write.
type oldKill struct {
	n     int
	write string
	saved map[string]string
}

// TestJournalsOfEarlierVersionsResume interrupts each flow before and after its writes, replaces
// the saved rows and the plan by those of an earlier version, and resumes. The end is that of the
// deployment without an interruption, and no request is lost.
func TestJournalsOfEarlierVersionsResume(t *testing.T) {
	if *recordJournals {
		recordOldJournals(t)
	}
	files, err := filepath.Glob("testdata/journals/*.txt")
	if err != nil || len(files) < len(oldFlows) {
		t.Fatalf("%d journals, want %d: %v", len(files), len(oldFlows), err)
	}
	for i, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			old := readOldJournal(t, file)
			c, err := Parse(old.text)
			if err != nil {
				t.Fatal(err)
			}
			unbroken := Run(c)
			step := min(8*lighter, len(old.kills))
			if *everyKill {
				step = 1
			}
			for k := (i + int(firstSeed()/1000%uint64(step))) % step; k < len(old.kills); k += step {
				for _, after := range []bool{false, true} {
					resumeOld(t, old, old.kills[k], after, c, unbroken)
				}
			}
		})
	}
}

// resumeOld kills the deployment before or after one write and resumes it from the rows of the
// earlier version. The write itself saves nothing, so the same rows serve for both.
func resumeOld(t *testing.T, old oldJournal, k oldKill, after bool, c rehearse.Case, unbroken rehearse.Result) {
	t.Helper()
	c.Kills = []rehearse.Kill{{N: k.n, After: after}}
	resumed := false
	r := runKilled(t, c, func(at, path string) {
		if !strings.HasSuffix(at, " "+k.write) {
			t.Errorf("killed %s, want %s: record the journals again with the version that wrote them", at, k.write)
		}
		replaceRows(t, path, old.plan, k.saved)
		resumed = true
	})
	if !resumed || len(r.Violations) > 0 || r.Outcome != unbroken.Outcome || r.State != unbroken.State ||
		r.Failed != unbroken.Failed {
		t.Errorf("%s, %s: %s: %s; %s; %.1f failed; %v\nnot killed: %s: %s; %.1f failed\n%s", old.flow,
			fmt.Sprint(c.Kills[0]),
			r.Outcome, r.Cause, r.State, r.Failed, r.Violations, unbroken.Outcome, unbroken.State, unbroken.Failed,
			r.Log)
	}
}

// runKilled runs a case on a journal in a file. onKilled sees that journal after each kill.
func runKilled(t *testing.T, c rehearse.Case, onKilled func(at, path string)) rehearse.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	return rehearse.RunExtended(withFiles(c), func(r *rehearse.Rehearsal) rehearse.Extension {
		x := newExtension(r, nil)
		x.JournalPath = path
		x.OnKilled = func(at string) { onKilled(at, path) }
		return x
	}).Report.Result
}

// openRows opens the tables of a journal.
func openRows(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// replaceRows replaces the plan and all saved rows.
func replaceRows(t *testing.T, path, plan string, saved map[string]string) {
	t.Helper()
	db := openRows(t, path)
	defer db.Close()
	exec := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE deployments SET plan = ?`, []byte(plan))
	exec(`DELETE FROM saved`)
	for key, value := range saved {
		exec(`INSERT INTO saved (deployment, key, value, at) SELECT id, ?, ?, began FROM deployments`, key,
			[]byte(value))
	}
}

// readRows returns the plan and the saved rows.
func readRows(t *testing.T, path string) (plan string, saved map[string]string) {
	t.Helper()
	db := openRows(t, path)
	defer db.Close()
	if err := db.QueryRow(`SELECT plan FROM deployments`).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(`SELECT key, value FROM saved`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	saved = map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			t.Fatal(err)
		}
		saved[key] = value
	}
	return plan, saved
}

// recordOldJournals writes a file for each of oldFlows. A value is written when it changes.
func recordOldJournals(t *testing.T) {
	t.Helper()
	for _, fl := range append(Flows(), OutsideFlows()...) {
		if !slices.Contains(oldFlows, fl.Name) || !regexp.MustCompile(*courses).MatchString(fl.Name) {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "flow %s\n", fl.Name)
		for line := range strings.Lines(Format(fl.Case)) {
			fmt.Fprintf(&b, "case %s", line)
		}
		before := map[string]string{}
		for n := 1; n <= Run(fl.Case).Writes; n++ {
			plan, at, saved := killedRows(t, fl.Case, n)
			if n == 1 {
				fmt.Fprintf(&b, "plan %s\n", plan)
			}
			for _, key := range sortedKeys(saved) {
				if before[key] != saved[key] {
					fmt.Fprintf(&b, "save %s\t%s\n", key, saved[key])
				}
			}
			fmt.Fprintf(&b, "kill %d %s\n", n, at)
			before = saved
		}
		name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(fl.Name), "-"), "-")
		if err := os.WriteFile("testdata/journals/"+name+".txt", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// killedRows kills a case before its n-th write and returns the rows that it leaves.
func killedRows(t *testing.T, c rehearse.Case, n int) (plan, write string, saved map[string]string) {
	t.Helper()
	c.Kills = []rehearse.Kill{{N: n}}
	runKilled(t, c, func(at, path string) {
		text, rows := readRows(t, path)
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err != nil {
			t.Error(err)
		}
		plan, write, saved = compact.String(), strings.TrimPrefix(at, "before "), rows
	})
	return plan, write, saved
}

func sortedKeys(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// readOldJournal reads a file of recordOldJournals.
func readOldJournal(t *testing.T, file string) (old oldJournal) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	saved := map[string]string{}
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "flow":
			old.flow = rest
		case "case":
			old.text += rest + "\n"
		case "plan":
			old.plan = rest
		case "save":
			key, value, _ := strings.Cut(rest, "\t")
			saved[key] = value
		case "kill":
			k := oldKill{saved: map[string]string{}}
			if _, err := fmt.Sscan(rest, &k.n, &k.write); err != nil {
				t.Fatalf("%s: %s: %v", file, line, err)
			}
			for key, value := range saved {
				k.saved[key] = value
			}
			old.kills = append(old.kills, k)
		}
	}
	return old
}
