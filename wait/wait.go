// Package wait waits for a deployment of an Amazon ECS service and tells how it
// ended: succeeded, rolled back, superseded, failed and so on, and why.
//
// It does what `sluice wait` does, for programs. The deployment may have been
// started by anything, before, during or after the call; rolling updates, task
// sets and deployments of CodeDeploy are followed. It reads only.
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

// Options say which deployment is waited for, and in which account. Only Service
// is required, and not even that where Deployment is one of CodeDeploy.
type Options struct {
	Cluster string // name or ARN; empty is the default cluster
	Service string // name or ARN

	// TaskDefinition is the family:revision or ARN that has to serve. It is waited
	// for until it appears; if it serves already, that is success at once.
	TaskDefinition string
	// Deployment is the ARN or ID of a service deployment, or "ecs-svc/<number>" of
	// a deployment or a task set, or "d-XXXXXXXXX" of CodeDeploy. With neither it is
	// the deployment that is current at the first look.
	Deployment string

	Timeout          time.Duration // hard limit; 0 is 3 minutes
	ProgressDeadline time.Duration // limit without any progress; 0 is 10 minutes
	FailAfter        int           // stopped tasks of one cause that end the wait, without a circuit breaker; 0 is 3

	Region      string // empty: as the AWS SDK finds it
	Profile     string // of the AWS config files
	AssumeRole  string // ARN of a role to take on
	EndpointURL string // for every service; empty: AWS's own

	Credentials aws.CredentialsProvider // nil: the AWS SDK's chain
	HTTPClient  aws.HTTPClient          // nil: the AWS SDK's

	// Progress is called for each look that changed something, by one goroutine.
	Progress func(Result)

	clock      clock.Clock // nil: the machine's
	apiOptions []func(*middleware.Stack) error
}

// Result is how it ended, or how it stands while Outcome is empty.
type Result struct {
	Outcome    sluice.Outcome
	Revision   string // family:revision that was waited for
	Deployment string // ARN of its service deployment, "ecs-svc/<number>", or "d-XXXXXXXXX" of CodeDeploy
	By         string // family:revision that was rolled back to, or that superseded it
	Detail     string // for people, one line
	Next       string // what to do, one sentence; empty after success
	Reasons    []Reason
	Logs       []Log
	Unread     []string // what AWS did not let us read; the outcome stands without it
}

// Reason is one cause of failure; the leading one comes first.
type Reason struct {
	Kind  string // "exit code", "image not found", "load balancer health check" …
	Text  string // in AWS's words, as far as they are AWS's
	Count int    // how often it was seen
	Task  string // id of one task that failed so; may be empty
	Next  string // what to do about it, one sentence
}

// Log is the end of what the container of a failed task printed.
type Log struct {
	Task, Container string
	Lines           []string // oldest first, at most 10
}

// Succeeded reports whether the revision serves.
func (r Result) Succeeded() bool { return r.Outcome == sluice.Succeeded }

// For waits until the deployment has ended or the timeout has passed; both are a
// Result, and every outcome but [sluice.Succeeded] is one to act on.
//
// The error is a *[sluice.Error] when nothing can be judged: no credentials, a
// refusal by AWS, an endpoint that cannot be reached at the first look, a cluster or
// task definition that does not exist. When ctx ends, it is ctx's cause, with the Result
// as last seen; the deployment goes on.
func For(ctx context.Context, o Options) (Result, error) {
	o.fill()
	a, err := account.Open(ctx, account.Config{
		Region: o.Region, Profile: o.Profile, AssumeRole: o.AssumeRole, EndpointURL: o.EndpointURL,
		HTTPClient: o.HTTPClient, Credentials: o.Credentials, Clock: o.clock, APIOptions: o.apiOptions,
	})
	if err != nil {
		return Result{}, err
	}
	t := watch.Target{Cluster: o.Cluster, Service: o.Service, Wanted: verdict.Wanted{
		Revision: o.TaskDefinition, Deployment: o.Deployment, Timeout: o.Timeout, Deadline: o.ProgressDeadline, FailAfter: o.FailAfter}}
	var last Result
	seen, err := watch.New(a, o.clock).Wait(ctx, t, func(s watch.Seen) {
		last = result(s.Verdict)
		if o.Progress != nil {
			o.Progress(last)
		}
	})
	if err != nil {
		return last, err
	}
	return result(seen.Verdict), nil
}

func (o *Options) fill() {
	if o.Timeout <= 0 {
		o.Timeout = 3 * time.Minute
	}
	if o.ProgressDeadline <= 0 {
		o.ProgressDeadline = 10 * time.Minute
	}
	if o.clock == nil {
		o.clock = clock.Real()
	}
}

func result(v verdict.Verdict) Result {
	r := Result{Outcome: v.Outcome, Revision: v.Revision, Deployment: v.Deployment, By: v.By, Detail: v.Detail, Next: v.Next, Unread: v.Unread}
	for _, c := range v.Causes {
		r.Reasons = append(r.Reasons, Reason{Kind: string(c.Kind), Text: c.Text, Count: c.Count, Task: c.Task, Next: c.Kind.Advice()})
	}
	for _, l := range v.Logs {
		if len(l.Lines) > 0 {
			r.Logs = append(r.Logs, Log{Task: l.Task, Container: l.Container, Lines: l.Lines})
		}
	}
	return r
}
