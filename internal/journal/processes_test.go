package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func TestTwoHandlesSeeEachOthersRows(t *testing.T) {
	path := tempFile(t)
	engine, person := open(t, path, newTicking()), open(t, path, newTicking())
	created(t, engine, "d1")
	seq, err := person.AddCommand(bg, journal.Command{Deployment: "d1", Kind: journal.Approve, By: "ana"})
	must(t, err)
	got, err := engine.Commands(bg, "d1", 0)
	must(t, err)
	if len(got) != 1 || got[0].Seq != seq || got[0].By != "ana" {
		t.Errorf("%+v", got)
	}
	_, err = engine.Acquire(bg, "web", "d1", 1e9)
	must(t, err)
	if owner, _, err := person.Holder(bg, "web"); owner != "d1" || err != nil {
		t.Errorf("held by %q, %v", owner, err)
	}
}

// Several handles, each used by several goroutines: no event is lost, none has
// another's number, and exactly one gets the lease.
func TestWritersAtTheSameTime(t *testing.T) {
	const handles, writers, each = 3, 4, 10
	path := tempFile(t)
	created(t, open(t, path, clock.Real()), "d1")
	var all sync.WaitGroup
	var mu sync.Mutex
	held := 0
	for h := range handles {
		j := open(t, path, clock.Real())
		for w := range writers {
			all.Go(func() {
				me := fmt.Sprintf("%d.%d", h, w)
				if _, err := j.Acquire(bg, "web", me, 3600e9); err == nil {
					mu.Lock()
					held++
					mu.Unlock()
				}
				for range each {
					if _, err := j.AppendEvent(bg, sluice.Envelope{Deployment: "d1", Stage: me,
						Kind: "x"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	events, err := open(t, path, clock.Real()).Events(bg, "d1", 0, 0)
	must(t, err)
	by := map[string]int{}
	for i, e := range events {
		by[e.Stage]++
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has the number %d", i+1, e.Seq)
		}
	}
	for h := range handles {
		for w := range writers {
			if n := by[fmt.Sprintf("%d.%d", h, w)]; n != each {
				t.Errorf("writer %d.%d has %d events", h, w, n)
			}
		}
	}
	if held != 1 {
		t.Errorf("%d owners hold the lease", held)
	}
}

func TestOpenedByManyAtOnce(t *testing.T) {
	for range 20 {
		openByMany(t, tempFile(t))
	}
}

func openByMany(t *testing.T, path string) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			j, err := journal.Open(path, clock.Real())
			if err != nil {
				t.Error(err)
				return
			}
			defer j.Close()
			if err := j.CreateDeployment(bg, web(fmt.Sprint("d", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := open(t, path, clock.Real()).Deployments(bg, journal.Filter{})
	if err != nil || len(list) != 8 {
		t.Errorf("%d of 8 deployments, error: %v", len(list), err)
	}
}

// SQLite refuses at once to switch a new file to WAL while another connection has the write lock;
// the busy timeout has no effect there. The switch succeeds after a wait for that lock.
func TestSwitchToWALWaitsForAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	one, other := raw(t, path+"?_busy_timeout=60000"), raw(t, path+"?_busy_timeout=60000")
	one.SetMaxOpenConns(1)
	_, err := one.Exec(`BEGIN IMMEDIATE; CREATE TABLE mine (x)`)
	must(t, err)
	waits := 0
	try := func() error {
		_, err := other.Exec(`PRAGMA journal_mode = WAL`)
		return err
	}
	must(t, journal.RetryWhileBusy(try, func() error {
		waits++
		_, err := one.Exec(`COMMIT`)
		return err
	}))
	if waits != 1 {
		t.Errorf("waited %d times, want once", waits)
	}

	failed := errors.New("no other process")
	if err := journal.RetryWhileBusy(func() error { return failed }, nil); !errors.Is(err, failed) {
		t.Errorf("error %v, want that of the statement", err)
	}
}

// A process that never gives the lock back is named after the busy timeout.
func TestSwitchToWALGivesUpWithTheWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	one, other := raw(t, path), raw(t, path)
	one.SetMaxOpenConns(1)
	_, err := one.Exec(`BEGIN IMMEDIATE; CREATE TABLE mine (x)`)
	must(t, err)
	_, locked := other.Exec(`BEGIN IMMEDIATE`)
	if locked == nil {
		t.Fatal("two connections have the write lock")
	}
	err = journal.RetryWhileBusy(func() error {
		_, err := other.Exec(`PRAGMA journal_mode = WAL`)
		return err
	}, func() error { return locked })
	if !errors.Is(err, locked) {
		t.Errorf("error %v, want that of the wait", err)
	}
}

const childEnv = "SLUICE_JOURNAL_TEST_CHILD"

// TestKilledProcessLosesNothing kills a process that saves, and finds all that
// it was told is saved.
func TestKilledProcessLosesNothing(t *testing.T) {
	if path := os.Getenv(childEnv); path != "" {
		saveForEver(t, path)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	created(t, open(t, path, clock.Real()), "d1")
	child := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLosesNothing$")
	child.Env = append(os.Environ(), childEnv+"="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	told := 0
	for lines := bufio.NewScanner(out); told < 50 && lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "saved %d", &told); err != nil {
			t.Errorf("the child says %q", lines.Text())
		}
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	if told < 50 {
		t.Fatalf("the child ended after %d", told)
	}
	j := open(t, path, clock.Real())
	for n := 1; n <= told; n++ {
		v, ok, err := j.Load(bg, "d1", fmt.Sprint("key", n))
		if err != nil || !ok || string(v) != fmt.Sprint(n) {
			t.Fatalf("key%d: %q, there: %v, %v", n, v, ok, err)
		}
	}
	must(t, j.Save(bg, "d1", "after", nil))
}

func saveForEver(t *testing.T, path string) {
	j := open(t, path, clock.Real())
	for n := 1; ; n++ {
		must(t, j.Save(bg, "d1", fmt.Sprint("key", n), []byte(fmt.Sprint(n))))
		fmt.Println("saved", n)
	}
}
