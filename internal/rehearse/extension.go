package rehearse

import (
	"net/http"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Extension adds to a rehearsal what only tests need, see internal/rehearse/simtest. Each field may
// be nil.
type Extension struct {
	// AddImages replaces the images of the application. fresh is what the new version does.
	AddImages func(all image.Catalog, fresh image.Behaviour) error
	// Build adds to the world before its state is recorded.
	Build func() error
	// JournalPath is the file of the journal; empty: it is in memory.
	JournalPath string
	// OnKilled is called after a process was killed, at the operation, and before the next one starts.
	OnKilled func(at string)
	// Acts are further acts of an [Intervention], by their first word.
	Acts map[string]func(args []int)
	// Outside answers the requests of gates; nil: they can read nothing outside of AWS.
	Outside http.RoundTripper
	// OnWriting receives each write before it is sent.
	OnWriting func(operation string, input any)
	// OnRow receives each write of the journal after it was made.
	OnRow func(operation string)
	// OnEvent receives each event of the deployment after it is in the journal.
	OnEvent func(sluice.Envelope)
	// CheckEnd checks the end after the checks of every rehearsal.
	CheckEnd func(sluice.Outcome)
}

// RunExtended runs a case to its end, with the extension that extend returns for the rehearsal.
func RunExtended(c Case, extend func(*Rehearsal) Extension) *Rehearsal {
	virtual := clock.NewVirtual(startTime())
	f := newRehearsal(c, virtual)
	f.extension = extend(f)
	f.runVirtual(virtual)
	return f
}

// Prepare builds the world of a case for a deployment that runs outside of the rehearsal.
func Prepare(c Case, k clock.Clock, extend func(*Rehearsal) Extension) (*Rehearsal, error) {
	f := newRehearsal(c, k)
	f.extension = extend(f)
	if err := f.buildWorld(); err != nil {
		return nil, err
	}
	f.Deployment.startedAt = k.Now()
	return f, nil
}

// Judge returns the result of a deployment that ran outside of the rehearsal. settle waits until
// the state of the service is steady.
func (f *Rehearsal) Judge(o sluice.Outcome, cause string, settle func(time.Duration)) Result {
	f.Report.Result.Outcome, f.Report.Result.Cause, f.Env.IsOver = o, cause, true
	f.Env.InWorld(func(*world.Tx) {}) // up to now
	f.callers.summarizeTraffic()
	f.callers.checkLossless()
	settle(steadyWait)
	f.finishEnd(o)
	f.Report.Result.Log = f.Report.log.String()
	return f.Report.Result
}
