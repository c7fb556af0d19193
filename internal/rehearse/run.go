package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// dawn is when every rehearsal begins, so that the same case gives the same bytes.
// It lies after the machine's now, with which the SDK compares credentials.
func dawn() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// Rate is the requests per second that callers make on each path, if the world
// does not say.
const Rate = 200

// Result is what came of a rehearsal.
type Result struct {
	Outcome      sluice.Outcome // "" if there was no deployment to end
	Started      bool           // AWS has made a deployment or a task set of it
	Acted        bool           // another process or person did what may end it early
	Cause, Next  string
	Requests     float64       // made while the deployment ran
	Failed       float64       // of them, lost
	WorstShare   float64       // highest share of the requests that the new version had, 0 to 1
	Exposed      time.Duration // how long it had any
	TimeToSafety time.Duration // from its first request to its last; 0 if it serves in the end, or never did
	Took         time.Duration // of the deployment, in the world's time
	Stages       []Took
	State        string   // how the service stands afterwards, in a line
	Violations   []string // of the promises, each beginning with its name: "P1: …"
	Calls        int      // attempts of calls to AWS, by all processes
	Paused       bool     // it was paused, or failed to run, and was taken up again
	Writes, Rows int      // that the first process made: where a [Kill] can be
	Losses       []string // the first requests that were lost, and why
	Log          string   // events, hands and deaths, a line each
}

// Took is how long a stage lasted.
type Took struct {
	Stage string
	For   time.Duration
}

// Run plays a case to its end and holds it against the promises.
func Run(c Case) Result {
	virtual := clock.NewVirtual(dawn())
	return newField(c, virtual).run(virtual)
}

func (f *field) run(virtual *clock.Virtual) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			f.broken("panic: %v", p)
			r = f.result
			r.Log = f.log.String()
		}
	}()
	virtual.Run(f.play)
	f.result.Log = f.log.String()
	return f.result
}

// Laid returns why the world of a case cannot be made, if it cannot.
func Laid(c Case) (err error) {
	virtual := clock.NewVirtual(dawn())
	virtual.Run(func() { err = newField(c, virtual).lay() })
	if err == nil {
		return nil
	}
	return &sluice.Error{Op: "make a world of this shape", Resource: c.World.Cluster + "/" + c.World.Service, Err: err,
		Next: "--from-live takes the shape of the service that runs; what the file's key rehearse says goes before"}
}

// play is the whole rehearsal, as the clock's first actor.
func (f *field) play() {
	if err := f.lay(); err != nil {
		f.broken("the world cannot be laid: %v", err)
		return
	}
	if err := f.remembers(); err != nil {
		f.broken("the journal cannot be opened: %v", err)
		return
	}
	defer f.journal.Close()
	if err := f.start(); err != nil {
		f.refused(err)
		return
	}
	f.hands()
	f.untilEnded()
	f.over, f.result.Acted = true, f.wasEndedEarly()
	f.tell()
	f.sim.ClearFaults()
	f.judge()
}

// wasEndedEarly reports whether a hand acted that may end a deployment before AWS makes
// anything of it. A second deployment does not: it finds the claim.
func (f *field) wasEndedEarly() bool {
	for i := range f.given {
		if f.Hands[i].Does != Second {
			return true
		}
	}
	return false
}
