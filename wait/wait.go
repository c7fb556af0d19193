// Package wait waits for a deployment of an Amazon ECS service and returns how it ended: succeeded,
// rolled back, superseded, failed and so on, and why.
//
// It does the same as `sluice wait`, for programs. Any tool may have started the deployment,
// before, during or after the call. It follows rolling updates, task sets and CodeDeploy
// deployments. It writes nothing.
//
// Start reading at [For].
package wait

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// Options select the deployment to wait for, and the account. Only Service is required; it is
// optional if Deployment is an ARN, or one of CodeDeploy.
type Options struct {
	Cluster string // name or ARN; empty is the default cluster
	Service string // name or ARN

	// TaskDefinition is the family:revision or ARN that must serve. For waits until it appears; if
	// it already serves, For returns success immediately.
	TaskDefinition string
	// Deployment is the ARN or ID of a service deployment, or "ecs-svc/<number>" of
	// a deployment or a task set, or "d-XXXXXXXXX" of CodeDeploy. With neither it is
	// the deployment that is current at the first poll.
	Deployment string

	Timeout          time.Duration // hard limit; 0: it follows from the service and is at least 10 minutes
	Bake             time.Duration // how long all tasks must run, watched, before a success counts
	ProgressDeadline time.Duration // limit without any progress; 0 is 10 minutes
	FailAfter        int           // stopped tasks of one cause that end the wait, unless a circuit breaker counts them; 0 is 3

	Region      string // empty: as the AWS SDK finds it
	Profile     string // of the AWS config files
	AssumeRole  string // ARN of a role to assume
	EndpointURL string // for every service; empty: AWS's own

	Credentials aws.CredentialsProvider // nil: the AWS SDK's chain
	HTTPClient  aws.HTTPClient          // nil: the AWS SDK's

	// Progress is called for each poll that changed something, by one goroutine.
	Progress func(Result)

	clock      clock.Clock // nil: the machine's
	apiOptions []func(*middleware.Stack) error
}

// Result is how the deployment ended, or its current state while Outcome is empty.
type Result struct {
	Outcome    sluice.Outcome
	Revision   string // family:revision that was waited for
	Deployment string // ARN of its service deployment, "ecs-svc/<number>", or "d-XXXXXXXXX" of CodeDeploy
	By         string // family:revision that serves after a rollback, or that superseded the deployment
	Detail     string // for users, one line
	Next       string // what the user should do, one sentence; empty after success
	Reasons    []Reason
	Logs       []Log
	Unread     []string // what could not be read; the outcome is valid without it
}

// Reason is one cause of failure; the leading one comes first.
type Reason struct {
	Kind  string // "exit code", "image not found", "load balancer health check" …
	Text  string // in AWS's words where AWS gives the reason
	Count int    // how often it occurred
	Task  string // id of one task that failed with this cause; may be empty
	Next  string // what to do about it, one sentence
}

// Log is the end of the output of a failed task's container.
type Log struct {
	Task, Container string
	Lines           []string // oldest first, at most 10
}

// Succeeded reports whether the revision serves.
func (r Result) Succeeded() bool { return r.Outcome == sluice.Succeeded }

// For waits until the deployment has ended or the timeout has passed. Both return a Result; every
// outcome except [sluice.Succeeded] requires an action.
//
// The error is a *[sluice.Error] when no verdict is possible: no credentials, a denial by AWS, an
// endpoint that cannot be reached at the first poll, a cluster or task definition that does not
// exist. When ctx ends, the error is ctx's cause, and the Result is the last one; the deployment
// continues.
func For(ctx context.Context, o Options) (Result, error) {
	o.fillDefaults()
	a, err := account.Open(ctx, account.Config{
		Region: o.Region, Profile: o.Profile, AssumeRole: o.AssumeRole, EndpointURL: o.EndpointURL,
		HTTPClient: o.HTTPClient, Credentials: o.Credentials, Clock: o.clock, APIOptions: o.apiOptions,
	})
	if err != nil {
		return Result{}, err
	}
	t := watch.Target{Cluster: o.Cluster, Service: o.Service, Wanted: verdict.Wanted{
		Revision: o.TaskDefinition, Deployment: o.Deployment, Timeout: o.Timeout, DefaultTimeout: true, Bake: o.Bake,
		Deadline: o.ProgressDeadline, FailAfter: o.FailAfter, AwaitsRelease: o.TaskDefinition == "" && o.Deployment == ""}}
	var last Result
	seen, err := watch.New(a, o.clock).Wait(ctx, t, func(s watch.Update) {
		last = newResult(s.Verdict)
		if o.Progress != nil {
			o.Progress(last)
		}
	})
	if err != nil {
		return last, err
	}
	return newResult(seen.Verdict), nil
}

func (o *Options) fillDefaults() {
	if o.ProgressDeadline <= 0 {
		o.ProgressDeadline = 10 * time.Minute
	}
	if o.clock == nil {
		o.clock = clock.Real()
	}
}

func newResult(v verdict.Verdict) Result {
	r := Result{Outcome: v.Outcome, Revision: v.Revision, Deployment: v.Deployment, By: v.By, Detail: v.Detail,
		Next: v.Next, Unread: v.Unread}
	for _, c := range v.Causes {
		r.Reasons = append(r.Reasons, Reason{Kind: string(c.Kind), Text: c.Text, Count: c.Count, Task: c.Task,
			Next: c.Kind.Advice()})
	}
	for _, l := range v.Logs {
		if len(l.Lines) > 0 {
			r.Logs = append(r.Logs, Log{Task: l.Task, Container: l.Container, Lines: l.Lines})
		}
	}
	return r
}
