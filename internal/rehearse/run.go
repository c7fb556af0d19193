package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// startTime returns when every rehearsal begins, so that the same case gives the same bytes. It is
// later than the real time, with which the SDK compares credentials.
func dawn() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// Rate is the number of requests per second of callers on each path, if the world has none.
const Rate = 200

// Result is the result of a rehearsal.
type Result struct {
	Outcome      sluice.Outcome // "" if no deployment was started
	Started      bool           // AWS has created a deployment or a task set for it
	Acted        bool           // an intervention may have ended it early
	Cause, Next  string
	Requests     float64       // made while the deployment ran
	Failed       float64       // lost ones of these
	WorstShare   float64       // highest share of the requests to the new version, 0 to 1
	Exposed      time.Duration // how long the new version had requests
	TimeToSafety time.Duration // from its first request to its last; 0 if it serves at the end or never did
	Took         time.Duration // of the deployment, in the world's time
	Stages       []Took
	State        string   // state of the service afterwards, in a line
	Violations   []string // each begins with the name of the promise: "P1: …"
	Calls        int      // attempts of calls to AWS, by all processes
	Paused       bool     // it was paused or failed to run, and was resumed
	Writes, Rows int      // of the first process: possible places of a [Kill]
	Losses       []string // the first lost requests, with causes
	Log          string   // events, interventions and kills, one per line
}

// StageTime is how long a stage took.
type Took struct {
	Stage string
	For   time.Duration
}

// Run runs a case to its end and checks it against the promises.
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

// CheckWorld returns an error if the world of a case cannot be built.
func Laid(c Case) (err error) {
	virtual := clock.NewVirtual(dawn())
	virtual.Run(func() { err = newField(c, virtual).lay() })
	if err == nil {
		return nil
	}
	return &sluice.Error{Op: "make a world of this shape", Resource: c.World.Cluster + "/" + c.World.Service, Err: err,
		Next: "--from-live takes the shape of the service that runs; what the file's key rehearse says goes before"}
}

// playCase runs the whole rehearsal, as the clock's first actor.
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

// wasEndedEarly reports whether an intervention may have ended the deployment before AWS created
// anything for it. A second deployment does not end it: it finds the claim.
func (f *field) wasEndedEarly() bool {
	for i := range f.given {
		if f.Hands[i].Does != Second {
			return true
		}
	}
	return false
}
