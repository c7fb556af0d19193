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
	return f.Report.Result
}

func (f *Rehearsal) runVirtual(virtual *clock.Virtual) {
	defer func() {
		if p := recover(); p != nil {
			f.Report.Fail("panic: %v", p)
		}
		f.Report.Result.Log = f.Report.log.String()
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
		f.Report.Fail("the simulated AWS cannot be built: %v", err)
		return
	}
	if err := f.Processes.openJournal(); err != nil {
		f.Report.Fail("the journal cannot be opened: %v", err)
		return
	}
	defer f.Processes.journal.Close()
	if err := f.Processes.startDeployment(); err != nil {
		f.recordRefusal(err)
		return
	}
	f.Acts.scheduleAll()
	f.answers.rememberRoutes()
	f.Processes.runUntilEnded()
	f.Env.IsOver, f.Report.Result.Acted = true, f.Acts.wasEndedEarly()
	f.Report.Result.Writes, f.Report.Result.Rows = f.Processes.first.writes, f.Processes.first.rows
	f.callers.summarizeTraffic()
	f.Env.Sim.ClearFaults()
	f.judgeEnd()
}
