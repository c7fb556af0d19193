package journal_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	bg    = context.Background()
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
)

// ticking is a clock whose every Now is a second later, so that each row has a
// time of its own. It is for one goroutine.
type ticking struct {
	clock.Clock
	now time.Time
}

func (t *ticking) Now() time.Time {
	t.now = t.now.Add(time.Second)
	return t.now
}

// standing is a clock that stands where the test puts it.
type standing struct {
	clock.Clock
	now time.Time
}

func (s *standing) Now() time.Time { return s.now }

func newTicking() *ticking { return &ticking{now: epoch} }

// after is the time of the clock's n-th answer.
func after(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }

func open(t testing.TB, path string, c clock.Clock) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func inMemory(t testing.TB) *journal.Journal {
	t.Helper()
	return open(t, journal.Memory, newTicking())
}

func tempFile(t testing.TB) string {
	t.Helper()
	name := "a folder? 100% new"
	if runtime.GOOS == "windows" {
		name = "a folder 100% new" // no question marks there
	}
	return filepath.Join(t.TempDir(), name, "journal.db")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// web is a deployment of the service web.
func web(id string) journal.Deployment {
	return journal.Deployment{
		ID: id, Application: "web", Account: "123456789012", Region: "eu-west-1", Cluster: "prod", Service: "web",
		Trigger: "by hand", Plan: []byte(`{"stages":[]}`),
	}
}

func created(t testing.TB, j *journal.Journal, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must(t, j.CreateDeployment(bg, web(id)))
	}
}

func TestATakenTimeLeavesOutTheTimeBetweenAnEndAndARollback(t *testing.T) {
	c := &standing{now: epoch}
	j := open(t, journal.Memory, c)
	pass := func(d time.Duration, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(d)
	}
	pass(2*time.Minute, j.CreateDeployment(bg, journal.Deployment{ID: "d1"}))
	pass(3*24*time.Hour, j.EndDeployment(bg, "d1", sluice.Succeeded, "", ""))
	pass(10*time.Second, j.SetState(bg, "d1", journal.Running))
	pass(20*time.Second, j.SetState(bg, "d1", journal.Paused))
	pass(time.Hour, j.EndDeployment(bg, "d1", sluice.RolledBack, "", ""))
	pass(time.Second, j.SetState(bg, "d1", journal.Running))
	pass(0, j.EndDeployment(bg, "d1", sluice.RolledBack, "", ""))
	d, err := j.Deployment(bg, "d1")
	if want := 2*time.Minute + 31*time.Second; err != nil || d.Took() != want {
		t.Errorf("the deployment took %s (%v), want %s: 2m0s, a rollback of 30s after days, and one of 1s after an hour",
			d.Took(), err, want)
	}
}
