package account

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Call is one attempt, passed to Config.OnCall after it ended.
type Call struct {
	Service   string // IAM prefix: "ecs"
	Operation string // "CreateTaskSet"
	Resource  string // as [ResourceOf] names it; may be empty for reads
	Action    sluice.ActionID
	Write     bool
	Attempt   int           // from 1
	At        time.Time     // when it was sent
	Took      time.Duration // until its response or its end
	Waited    time.Duration // for backoff and rate before it was sent
	Err       error         // as the SDK returned it; nil: success
}

// gate permits, limits, sends and retries every call of one client.
type gate struct {
	service     string // IAM prefix
	endpoint    string // custom endpoint, or ""
	owner       string // account and Region whose rates are used
	region      string
	clock       clock.Clock
	jitter      func() float64
	limits      *Limits
	credentials aws.CredentialsProvider // nil: the SDK finds them during the attempt
	profile     string                  // of the shared config files
	onCall      func(Call)
	onBegin     func(operation, resource string) (end func())
	silence     *silence // of calls without a LongRetry
	onSilence   func(sluice.Unanswered)
}

// request is one call of a client, before it is sent.
type request struct {
	operation string // "ecs:CreateTaskSet"
	resource  string
	tags      string // the keys of tags that it adds or removes
	write     bool
	hasRow    bool // the write table has a row for it
	canRepeat bool // an attempt without a response may be repeated
	action    Action
}

// attachGate adds the gate to the SDK's stack. The gate is the last step of Initialize, where the
// input is complete; each attempt after it is serialized and signed again. errorWrapper is the
// first step, for errors that occur before the gate.
func (g gate) attachGate(stack *middleware.Stack) error {
	if err := stack.Initialize.Add(errorWrapper{g}, middleware.Before); err != nil {
		return err
	}
	return stack.Initialize.Add(g, middleware.After)
}

// attachToSTS adds the gate to a single call of the SDK's credential chain.
func (g gate) attachToSTS(o *awssts.Options) {
	g.endpoint = aws.ToString(o.BaseEndpoint)
	o.Retryer = aws.NopRetryer{}
	o.APIOptions = append(append([]func(*middleware.Stack) error{}, o.APIOptions...), g.attachGate)
}

// ID returns the middleware's name in the SDK's stack.
func (g gate) ID() string { return "SluiceGate" }

// HandleInitialize passes a call of the SDK through the gate.
func (g gate) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, meta middleware.Metadata, err error,
) {
	if g.endpoint != "" {
		// DiscoverInstances would prepend "data-" to the host of a custom endpoint.
		ctx = smithyhttp.DisableEndpointHostPrefix(ctx, true)
	}
	err = g.runCall(ctx, g.newRequest(ctx, in.Parameters), func(ctx context.Context) error {
		out, meta, err = next.HandleInitialize(ctx, in)
		if err == nil {
			err = checkComplete(g.operationName(ctx), in.Parameters, out.Result, meta)
		}
		return err
	})
	return out, meta, err
}

// operationName returns the operation of ctx: "ecs:CreateTaskSet".
func (g gate) operationName(ctx context.Context) string {
	return g.service + ":" + middleware.GetOperationName(ctx)
}

func (g gate) newRequest(ctx context.Context, input any) request {
	r := request{operation: g.operationName(ctx), action: actionOf(ctx)}
	r.write = IsWrite(r.operation)
	if !r.write {
		r.canRepeat, r.resource = true, readResource(input)
		return r
	}
	r.resource, r.hasRow = ResourceOf(r.operation, input)
	r.tags = tagsIn(input)
	r.canRepeat = r.hasRow && writeTable[r.operation].canRepeat(input)
	return r
}

// runCall sends r once per attempt until it succeeds or must not be tried again.
func (g gate) runCall(ctx context.Context, r request, send func(context.Context) error) error {
	if err := r.checkPermitted(); err != nil {
		return err
	}
	if g.onBegin != nil {
		defer g.onBegin(r.operation, r.resource)()
	}
	var backoff time.Duration
	unanswered, p := false, longRetryOf(ctx)
	for n := 1; ; n++ {
		waited, err := g.prepareAttempt(ctx, r, p, backoff)
		if err != nil {
			return g.unsentError(r, err, unanswered)
		}
		at := g.clock.Now()
		f, ok := g.sendOnce(ctx, r, n, waited, send)
		optional := isOptional(ctx) && !r.write
		if !optional && (ok || f.class == classRefused) {
			g.noteAnswer(p, r)
		}
		if ok {
			return nil
		}
		if optional {
			return g.failedError(ctx, r, f, n, false)
		}
		unanswered = unanswered || r.write && f.class.isUnclear()
		wait, again := g.planRetry(p, r, &f, n, at)
		if !again || f.class.isUnclear() && !r.canRepeat {
			return g.failedError(ctx, r, f, n, unanswered)
		}
		backoff = wait
	}
}

// planRetry returns whether another attempt may follow the nth attempt, sent at that time, and
// after how long.
func (g gate) planRetry(p *LongRetry, r request, f *fault, n int, at time.Time) (time.Duration, bool) {
	if f.class == classRefused || f.class == classStopped {
		return 0, false
	}
	since := g.noteSilence(p, r, *f, at)
	if p == nil {
		return f.nextAttempt(n, g.jitter)
	}
	f.silentFor = g.clock.Now().Sub(since)
	return p.nextLongAttempt(n, *f, g.jitter)
}

// prepareAttempt returns when the next attempt may be sent: after the backoff, with credentials,
// with a recent read of the claim and with a token of each bucket. It checks the claim again if it
// had to wait for a token.
func (g gate) prepareAttempt(ctx context.Context, r request, p *LongRetry, backoff time.Duration) (waited time.Duration,
	err error) {
	if p != nil && backoff > 0 {
		err = p.sleepChecked(ctx, g, backoff)
	} else {
		err = g.sleep(ctx, backoff)
	}
	if err != nil {
		return 0, err
	}
	if err := g.getCredentials(ctx); err != nil {
		return 0, err
	}
	if err := r.checkClaim(g.clock.Now()); err != nil {
		return 0, err
	}
	wait, err := g.takeTokens(ctx, r)
	if err != nil {
		return 0, err
	}
	return backoff + wait, nil
}

// takeTokens takes a token of each bucket. If the write must no longer be sent then, it keeps the
// tokens for its next attempt.
func (g gate) takeTokens(ctx context.Context, r request) (wait time.Duration, err error) {
	if r.write && g.limits.usePaid(g.owner, r, g.clock.Now()) {
		return 0, nil
	}
	wait, err = g.limits.takeAll(ctx, g, r.operation, r.callPriority(ctx))
	if err != nil || wait == 0 {
		return 0, err
	}
	if err := r.checkClaim(g.clock.Now()); err != nil {
		g.limits.keepPaid(g.owner, r, g.clock.Now())
		return 0, err
	}
	return wait, nil
}

// sleep waits for d. It returns immediately if ctx has ended.
func (g gate) sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return contextEnd(ctx)
	}
	if d <= 0 {
		return nil
	}
	err := g.clock.Sleep(ctx, d)
	if err != nil && ctx.Err() != nil {
		return contextEnd(ctx)
	}
	return err
}

// getCredentials gets the credentials before the attempt. Assuming a role is a call of its own,
// with its own attempts, outside the time limit of this attempt.
func (g gate) getCredentials(ctx context.Context) error {
	if g.credentials == nil {
		return nil
	}
	_, err := g.credentials.Retrieve(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return contextEnd(ctx)
	}
	return noCredentialsError(err, g.profile)
}

// sendOnce sends r once.
func (g gate) sendOnce(ctx context.Context, r request, n int, waited time.Duration,
	send func(context.Context) error) (fault, bool) {
	tried, cancel := g.clock.WithTimeout(ctx, g.clock.NetworkTime(attemptTimeout))
	defer cancel()
	at := g.clock.Now()
	recordSent(ctx, r, at)
	err := send(tried)
	g.reportCall(r, Call{Attempt: n, At: at, Took: g.clock.Now().Sub(at), Waited: waited, Err: err})
	if err == nil {
		return fault{}, true
	}
	return classify(ctx, tried, err), false
}

func (g gate) reportCall(r request, c Call) {
	if g.onCall == nil {
		return
	}
	c.Service, c.Operation = g.service, r.operation[len(g.service)+1:]
	c.Resource, c.Action, c.Write = r.resource, r.action.ID, r.write
	g.onCall(c)
}
