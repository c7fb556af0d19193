package watch

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// DefaultDeadline is the limit without any progress.
const DefaultDeadline = 10 * time.Minute

// Judge runs the waits of one process, such as a provider of infrastructure code. Waits with the same
// account, role, Region and endpoint share clients, limits and reads. Make one with [NewJudge]. Safe for
// concurrent use.
type Judge struct {
	base   account.Config // of every account: clock, limits
	scaled bool

	mu     sync.Mutex
	opened map[accountKey]*Watch
}

// accountKey identifies the clients that waits share.
type accountKey struct{ region, profile, role, endpoint string }

// NewJudge returns a Judge. base has the clock; a request sets Region, profile, role and endpoint. scaled says
// that the clock is faster than the machine's time: then only a local AWS is read. [account.ProcessClock]
// returns both.
func NewJudge(base account.Config, scaled bool) *Judge {
	if base.Limits == nil {
		base.Limits = account.NewLimits()
	}
	return &Judge{base: base, scaled: scaled, opened: map[accountKey]*Watch{}}
}

// Request selects the deployment to wait for, and the account. Only Service is required, and TaskDefinition or
// Deployment should be given. Without both it is the deployment that is current at the first poll.
type Request struct {
	Cluster string // name or ARN; empty is the default cluster
	Service string // name or ARN

	TaskDefinition string // family:revision or ARN that must serve
	// Deployment is an ARN or ID of a service deployment, or "ecs-svc/<number>", or "d-XXXXXXXXX" of CodeDeploy.
	Deployment string
	// JustStarted says that a deployment of TaskDefinition has just been started, perhaps of the revision that
	// served before. An end that the first poll returns then counts only if it lasts for ten seconds.
	JustStarted bool

	Timeout time.Duration // hard limit; 0: it follows from the service and is at least LeastTimeout
	// LeastTimeout is the shortest limit that follows from the service; 0: 10 minutes.
	LeastTimeout time.Duration
	Bake         time.Duration // how long all tasks must run, watched, before a success counts

	Region      string // empty: as the AWS SDK finds it
	Profile     string // of the AWS config files; empty: as the AWS SDK finds it
	AssumeRole  string // ARN of a role to assume
	EndpointURL string // for every service; empty: AWS's own

	// Report is called for each line of progress, in the words of `sluice wait`, by one goroutine. It may be nil.
	Report func(line string)
}

// Result is how the deployment ended. Its texts may be printed: they have no characters that control a terminal,
// and nothing that looks like a secret.
type Result struct {
	Outcome      sluice.Outcome
	Revision     string   // family:revision that was waited for
	Deployment   string   // ARN of its service deployment, "ecs-svc/<number>", or "d-XXXXXXXXX"
	RolledBackTo string   // family:revision that serves after a rollback; otherwise empty
	Detail       string   // the outcome and its cause in one line
	Message      string   // Detail, the last lines of failed containers, and what to do; empty after success
	Reasons      []string // one line per cause, the leading one first; empty after success
}

// Succeeded reports whether the revision serves.
func (r Result) Succeeded() bool { return r.Outcome == sluice.Succeeded }

// Wait waits until the deployment has ended or the timeout has passed, with the verdict of `sluice wait`. It
// writes nothing to AWS.
//
// The error is a *[sluice.Error] if no verdict is possible: no credentials, a denial by AWS, an endpoint that
// cannot be reached, a cluster or task definition that does not exist. If ctx ends, Wait returns its cause
// immediately.
func (j *Judge) Wait(ctx context.Context, r Request) (Result, error) {
	w, err := j.open(ctx, r)
	if err != nil {
		return Result{}, err
	}
	t := Target{Cluster: r.Cluster, Service: r.Service, Wanted: verdict.Wanted{Revision: r.TaskDefinition,
		Deployment: r.Deployment, JustStarted: r.JustStarted, Timeout: r.Timeout, DefaultTimeout: true,
		LeastTimeout: r.LeastTimeout, Bake: r.Bake, Deadline: DefaultDeadline}}
	var changes Changes
	last, err := w.Wait(ctx, t, func(u Update) {
		for _, e := range changes.Events(u) {
			if line := sluice.WaitText(e); line != "" && r.Report != nil {
				r.Report(printable.Text(line))
			}
		}
	})
	return newResult(last.Verdict), err
}

// open returns the watch of the request's account and Region. It opens each only once.
func (j *Judge) open(ctx context.Context, r Request) (*Watch, error) {
	key := accountKey{r.Region, r.Profile, r.AssumeRole, r.EndpointURL}
	j.mu.Lock()
	w := j.opened[key]
	j.mu.Unlock()
	if w != nil {
		return w, nil
	}
	c := j.base
	c.Region, c.Profile, c.AssumeRole, c.EndpointURL = r.Region, r.Profile, r.AssumeRole, r.EndpointURL
	a, err := account.Open(ctx, c)
	if err == nil && j.scaled {
		err = a.SpeedAllowed()
	}
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if w = j.opened[key]; w == nil { // another wait may have opened it
		w = New(a, j.base.Clock)
		j.opened[key] = w
	}
	return w, nil
}

func newResult(v verdict.Verdict) Result {
	r := Result{Outcome: v.Outcome, Revision: v.Revision, Deployment: v.Deployment, Detail: printable.Text(v.Detail)}
	if v.Outcome == sluice.RolledBack {
		r.RolledBackTo = v.By
	}
	if v.Outcome == sluice.Succeeded || v.Outcome == "" {
		return r
	}
	for _, c := range v.Causes {
		r.Reasons = append(r.Reasons, printable.Text(c.String()))
	}
	lines := []string{v.Detail}
	for _, l := range v.Logs {
		for _, text := range l.Lines {
			lines = append(lines, "log of "+l.Container+": "+text)
		}
	}
	if v.Next != "" {
		lines = append(lines, "next: "+v.Next)
	}
	r.Message = printable.Text(strings.Join(lines, "\n"))
	return r
}
