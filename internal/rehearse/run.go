package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// startTime returns when every rehearsal begins, so that the same case gives the same bytes. It is
// later than the real time, with which the SDK compares credentials.
func startTime() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// Rate is the number of requests per second of callers on each path, if the world has none.
const Rate = 200

// connectionHold is how long callers keep a connection through a Network Load Balancer open.
const connectionHold = 5 * time.Second

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
	Stages       []StageTime
	State        string   // state of the service afterwards, in a line
	Violations   []string // each begins with the name of the promise: "P1: …"
	Calls        int      // attempts of calls to AWS, by all processes
	Paused       bool     // it was paused or failed to run, and was resumed
	Writes, Rows int      // of the first process: possible places of a [Kill]
	Losses       []string // the first lost requests, with causes
	Log          string   // events, interventions and kills, one per line
}

// StageTime is how long a stage took.
type StageTime struct {
	Stage string
	For   time.Duration
}

// Run runs a case to its end and checks it against the promises.
func Run(c Case) Result {
	virtual := clock.NewVirtual(startTime())
	f := newRehearsal(c, virtual)
	f.runVirtual(virtual)
	return f.Result
}

func (f *Rehearsal) runVirtual(virtual *clock.Virtual) {
	defer func() {
		if p := recover(); p != nil {
			f.Fail("panic: %v", p)
		}
		f.Result.Log = f.log.String()
	}()
	virtual.Run(f.playCase)
}

// CheckWorld returns an error if the world of a case cannot be built.
func CheckWorld(c Case) (err error) {
	virtual := clock.NewVirtual(startTime())
	virtual.Run(func() { err = newRehearsal(c, virtual).buildWorld() })
	if err == nil {
		return nil
	}
	return &sluice.Error{Op: "build the simulated AWS", Resource: c.World.Cluster + "/" + c.World.Service, Err: err,
		Next: "use --from-live to read the shape of the running service; values under the file's key rehearse " +
			"take precedence"}
}

// playCase runs the whole rehearsal, as the clock's first actor.
func (f *Rehearsal) playCase() {
	if err := f.buildWorld(); err != nil {
		f.Fail("the simulated AWS cannot be built: %v", err)
		return
	}
	if err := f.openJournal(); err != nil {
		f.Fail("the journal cannot be opened: %v", err)
		return
	}
	defer f.journal.Close()
	if err := f.startDeployment(); err != nil {
		f.recordRefusal(err)
		return
	}
	f.scheduleInterventions()
	f.runUntilEnded()
	f.isOver, f.Result.Acted = true, f.wasEndedEarly()
	f.summarizeTraffic()
	f.Sim.ClearFaults()
	f.judgeEnd()
}

// wasEndedEarly reports whether an intervention may have ended the deployment before AWS created
// anything for it. A second deployment does not end it: it finds the claim.
func (f *Rehearsal) wasEndedEarly() bool {
	for i := range f.acted {
		if f.Interventions[i].Does != SecondSluice {
			return true
		}
	}
	return false
}
