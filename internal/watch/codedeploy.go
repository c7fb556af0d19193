package watch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// errCodeDeploy means that CodeDeploy deploys the service, so its deployment is followed there.
var errCodeDeploy = errors.New("the deployment controller is CODE_DEPLOY")

// codeDeployWaiter is one wait for a CodeDeploy deployment.
type codeDeployWaiter struct {
	*waiter
	client       codedeploy.Client
	judge        verdict.CodeDeployFollower
	service      Target    // the service of the deployment, once it is known
	searchedPast bool      // replaced deployments were searched for the revision
	skipsSearch  bool      // do not search the account for the deployment group of the service
	listeners    listeners // of the deployment group; the zero value: not read, or not known

	fresh freshTarget // read by the last poll, if this one follows it at once
}

// freshTarget is the target of a deployment, and when it was read.
type freshTarget struct {
	target *verdict.CodeTarget
	at     time.Time
}

// isOf reports whether it is the target of a deployment, as it is now.
func (f freshTarget) isOf(deployment string, now time.Time) bool {
	return f.target != nil && f.target.Deployment == deployment && now.Sub(f.at) < freshFor
}

// freshFor is how long a poll that follows another one at once, to read more, uses what that one has read.
const freshFor = time.Second

// listeners are the ARNs of the listeners of a deployment group; the zero value: the service names its rules.
type listeners struct {
	production, test string
	groups           []string // names of the two target groups
}

func listenersOf(g codedeploy.GroupSettings) listeners {
	return listeners{g.Listener, g.TestListener, g.TargetGroups}
}

// PollCodeDeploy polls the CodeDeploy deployment of a service once: the one in progress, otherwise
// the newest one that its task sets name. Update.Code is nil if there is none.
func (w *Watch) PollCodeDeploy(ctx context.Context, cluster, service string) (Update, error) {
	f, err := w.newWaiter(ctx, Target{Cluster: cluster, Service: service, Wanted: verdict.Wanted{ReadOnce: true}}, nil)
	if err != nil {
		return Update{}, err
	}
	c := f.newCodeDeployWaiter()
	c.skipsSearch = true
	for {
		s, err := c.pollCodeDeploy(ctx)
		if err != nil || s.Verdict.NextPoll > 0 || s.Verdict.State == verdict.Ended {
			return s, err
		}
	}
}

// runCodeDeploy polls until the verdict ends, as runService does.
func (f *waiter) runCodeDeploy(ctx, reading context.Context) (Update, error) {
	c := f.newCodeDeployWaiter()
	_ = f.watch.clock.Sleep(reading, c.judge.FirstInterval()) // ends early with the wait
	for {
		seen, err := c.pollCodeDeploy(reading)
		wait := seen.Verdict.NextPoll
		switch {
		case ctx.Err() != nil:
			return c.newUpdate(f.lastVerdict), context.Cause(ctx)
		case reading.Err() != nil:
			return c.timeOut(err), nil
		case err == nil && seen.Verdict.State == verdict.Ended:
			seen = c.confirmTraffic(reading, seen)
			c.reportChange(seen)
			return seen, nil
		case err != nil && (isPermanent(err) || isExhausted(ctx, err) || !c.hasAnswer && account.Unsent(err)):
			return seen, err
		case err != nil:
			f.unread = append(f.unread, err.Error())
			if wait = c.remainingWait(retryInterval); wait <= 0 {
				return c.timeOut(err), nil
			}
		}
		if err == nil {
			c.readTrafficBefore(reading, seen)
		}
		_ = f.watch.clock.Sleep(reading, wait) // ends early with the wait
	}
}

// readTrafficBefore is [waiter.readTrafficBefore] with the listeners of the deployment group.
func (c *codeDeployWaiter) readTrafficBefore(ctx context.Context, seen Update) {
	if seen.Code == nil || c.target.SkipsTraffic || c.before.isTried || c.lastRead.State == nil {
		return
	}
	if c.readListeners(ctx, seen); c.listeners.production != "" {
		c.waiter.readTrafficBefore(ctx, c.listeners)
	}
	c.before.isTried = true
}

// readListeners reads the listeners of the deployment group, unless they are known.
func (c *codeDeployWaiter) readListeners(ctx context.Context, seen Update) {
	if c.listeners.production != "" {
		return
	}
	g, err := codedeploy.GroupSettings{}, error(nil)
	if seen.Code != nil {
		g, err = c.client.ReadGroup(ctx, codedeploy.Group{Application: seen.Code.Application, Name: seen.Code.Group},
			c.service.Cluster, c.service.Service)
	} else { // its deployment was followed by its ID, or CodeDeploy has not deployed the service
		g, err = c.groupOf(ctx, c.service.Cluster, c.service.Service, []string{seen.Verdict.Deployment})
	}
	if err == nil {
		c.listeners = listenersOf(g)
	}
}

// newCodeDeployWaiter starts a judge at the time the wait began: a moment ago, if the service had
// to be read first.
func (f *waiter) newCodeDeployWaiter() *codeDeployWaiter {
	return &codeDeployWaiter{waiter: f, client: codedeploy.Client{API: f.watch.account.CodeDeploy()}, service: f.target,
		judge: verdict.FollowCodeDeploy(f.judge.Began(), f.target.Wanted)}
}

// remainingWait returns how long to wait, at most until the hard limit; 0 or less if that has
// passed.
func (c *codeDeployWaiter) remainingWait(wait time.Duration) time.Duration {
	if end := c.judge.Limit(); !end.IsZero() {
		return min(wait, end.Sub(c.now()))
	}
	return wait
}

func (c *codeDeployWaiter) newUpdate(v verdict.Verdict) Update {
	s := c.waiter.newUpdate(v)
	s.Code, s.CodeTarget = c.judge.LastRead()
	return s
}

// timeOut ends the wait at its limit without another poll.
func (c *codeDeployWaiter) timeOut(err error) Update {
	why := ""
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		why = err.Error()
	}
	var v verdict.Verdict
	c.judge, v = c.judge.TimeOut(c.now(), why)
	s := c.newUpdate(v)
	c.reportChange(s)
	return s
}

// pollCodeDeploy reads what is needed and judges it.
func (c *codeDeployWaiter) pollCodeDeploy(ctx context.Context) (Update, error) {
	o := verdict.Observation{At: c.now()}
	if !c.judge.IsFollowing() {
		c.stoppedReader, c.stoppedWasRead = ecs.StoppedReader{}, false // the judge knows none of the tasks that were returned
		if err := c.chooseDeployment(ctx, &o); err != nil {
			return c.newUpdate(c.lastVerdict), err
		}
		if c.judge.IsFollowing() {
			o.At = c.now() // a search of the account takes many reads
		}
	}
	n := c.judge.Needs(o.At)
	o.Code.Requested = n
	if err := c.readCodeDeploy(ctx, n, &o); err != nil {
		return c.newUpdate(c.lastVerdict), err
	}
	if now := c.now(); now.Sub(o.At) >= LongestRead { // an outage: other reads may be due before a success counts
		o.At = now
	}
	c.hasAnswer = true
	c.readService(ctx, n, &o)
	o.Unread, c.unread = append(o.Unread, c.unread...), nil
	var v verdict.Verdict
	c.judge, v = c.judge.See(o)
	if tasks := c.judge.NeededLogs(); len(tasks) > 0 {
		c.judge, v = c.judge.See(verdict.Observation{At: o.At, Service: o.Service, Logs: c.readLogs(ctx, tasks),
			Code: verdict.CodeObservation{Requested: n}})
	}
	c.lastVerdict = v
	s := c.newUpdate(v)
	c.reportPoll(s)
	return s, nil
}

// readCodeDeploy reads the deployment and its target.
func (c *codeDeployWaiter) readCodeDeploy(ctx context.Context, n verdict.CodeNeeds,
	o *verdict.Observation) (err error) {
	if n.Deployment != "" {
		if o.Code.Deployment, err = c.client.GetDeployment(ctx, n.Deployment); err != nil {
			return err
		}
	}
	if n.Target != "" && c.fresh.isOf(n.Target, c.now()) {
		o.Code.Target = c.fresh.target
	} else if n.Target != "" {
		at := c.now()
		if o.Code.Target, err = c.client.ReadTarget(ctx, n.Target, c.service.Cluster, c.service.Service); err != nil {
			return err
		}
		c.fresh = freshTarget{target: o.Code.Target, at: at}
		c.learnService(o.Code.Target)
	}
	d := o.Code.Deployment
	if d == nil {
		d, _ = c.judge.LastRead()
	}
	if n.Revision && d != nil {
		arn, err := c.client.RevisionOf(ctx, d)
		if c.noteUnreadable(o, "the AppSpec", err); err == nil {
			o.Code.Revision = sluice.RevisionOf(arn)
		}
	}
	return nil
}

// learnService reads from the target which service is deployed, if only the deployment's id was
// given.
func (c *codeDeployWaiter) learnService(t *verdict.CodeTarget) {
	if t == nil || c.service.Service != "" {
		return
	}
	if cluster, service, ok := strings.Cut(t.Name, ":"); ok {
		c.service.Cluster, c.service.Service = cluster, service
		c.readers = c.watch.readersOf(cluster)
	}
}

// readService reads the service and its stopped tasks. It omits what cannot be read.
func (c *codeDeployWaiter) readService(ctx context.Context, n verdict.CodeNeeds, o *verdict.Observation) {
	if c.service.Service == "" {
		return
	}
	if n.Service && o.Service == nil {
		s, err := c.readByName(ctx, c.service.Service, c.now())
		if c.noteUnreadable(o, "the service", err); err == nil {
			o.Service = s
		}
	}
	if n.StoppedTasks {
		c.readStopped(ctx, c.service.serviceClient(c.watch), o)
	}
	if n.Checks {
		o.Checks = c.readChecks(ctx, o, c.lastVerdict.Revision)
	}
}

// chooseDeployment finds the wanted deployment of the service: the one in progress, otherwise the
// newest. If a revision is wanted, it finds the deployment of that revision.
func (c *codeDeployWaiter) chooseDeployment(ctx context.Context, o *verdict.Observation) error {
	sent := c.now()
	s, err := c.readByName(ctx, c.target.Service, sent)
	if err != nil || s == nil {
		return err
	}
	o.Service = s
	d, err := c.newestDeployment(ctx, s)
	if err != nil {
		return err
	}
	o.Code.NoDeployment = d == nil
	if d == nil {
		return nil
	}
	if d.RollbackOf != "" { // follow the deployment that this one rolls back
		if d, err = c.client.GetDeployment(ctx, d.RollbackOf); err != nil || d == nil {
			return err
		}
	}
	if c.target.Revision != "" {
		return c.chooseRevision(ctx, s, d, sent)
	}
	c.judge = c.judge.FollowDeployment(d.ID, sent)
	return nil
}

// chooseRevision follows d if it deploys the revision, otherwise the deployment that made the PRIMARY task set,
// if that set has the revision. sent is when d and the service were requested.
func (c *codeDeployWaiter) chooseRevision(ctx context.Context, s *verdict.Service, d *verdict.CodeDeployment,
	sent time.Time) error {
	want := c.target.Revision
	arn, err := c.client.RevisionOf(ctx, d)
	if err != nil {
		return err
	}
	if sluice.RevisionOf(arn) == want {
		c.judge = c.judge.FollowDeployment(d.ID, sent)
		return nil
	}
	for _, ts := range s.TaskSets {
		if ts.Status == "PRIMARY" && ts.Revision == want && ts.ExternalID != "" && d.Ended() {
			c.judge = c.judge.FollowDeployment(ts.ExternalID, sent)
			return nil
		}
	}
	return c.choosePast(ctx, d, sent)
}

// choosePast follows the newest replaced deployment of the revision. It waits until the revision
// has not appeared for as long as AWS's responses may lag.
func (c *codeDeployWaiter) choosePast(ctx context.Context, d *verdict.CodeDeployment, sent time.Time) error {
	if c.searchedPast || !d.Ended() || c.now().Sub(c.judge.Began()) <= verdict.MaxReadLag {
		return nil
	}
	id, err := c.client.DeploymentOf(ctx, codedeploy.Group{Application: d.Application, Name: d.Group},
		func(arn string) bool { return sluice.RevisionOf(arn) == c.target.Revision })
	if err != nil {
		return err
	}
	if c.searchedPast = true; id != "" {
		c.judge = c.judge.FollowReplaced(id, sent)
	}
	return nil
}

// newestDeployment returns the deployment of the service that is in progress, otherwise the last
// attempted one; nil if CodeDeploy never deployed the service.
func (c *codeDeployWaiter) newestDeployment(ctx context.Context, s *verdict.Service) (*verdict.CodeDeployment, error) {
	id, err := c.client.RunningOfService(ctx, s.Cluster, s.Name)
	if err != nil {
		return nil, err
	}
	if id == "" {
		var by []string
		for _, ts := range s.TaskSets {
			by = append(by, ts.ExternalID)
		}
		g, err := c.groupOf(ctx, s.Cluster, s.Name, by)
		if err != nil || g.Last.ID == "" {
			c.listeners = listenersOf(g)
			return nil, err
		}
		id, c.listeners = g.Last.ID, listenersOf(g)
	}
	return c.client.GetDeployment(ctx, id)
}

// groupOf returns the deployment group of a service; the zero Settings if it has none. by are deployments of the service.
// If they do not name the group, the account is searched, once for all waiters. That takes many reads, and before AWS's
// responses can have lagged its result would not count.
func (c *codeDeployWaiter) groupOf(ctx context.Context, cluster, service string,
	by []string) (codedeploy.GroupSettings, error) {
	g, ok, err := c.client.GroupOfDeployments(ctx, by, cluster, service)
	isEarly := c.now().Sub(c.judge.Began()) < verdict.MaxReadLag
	if ok || err != nil || c.skipsSearch || isEarly {
		return g, err
	}
	x, _, err := c.watch.groups.readKey(ctx, "", c.now())
	if err != nil {
		return g, err
	}
	g, err = x.GroupOf(cluster, service, codedeploy.Group{})
	if kind := sluice.KindOf(err); kind == sluice.NotFound || kind == sluice.Conflict {
		c.unread = append(c.unread, err.Error())
		return g, nil
	}
	return g, err
}

// searchGroups returns the same index for every key.
func (w *Watch) searchGroups(ctx context.Context, keys []string) (map[string]codedeploy.Index, error) {
	x, err := codedeploy.Client{API: w.account.CodeDeploy()}.Search(ctx)
	found := map[string]codedeploy.Index{}
	for _, k := range keys {
		found[k] = x
	}
	return found, err
}

// confirmTraffic is [waiter.confirmTraffic] with the listeners of the deployment group. Without the group
// they are not known, and a test listener cannot be told from it.
func (c *codeDeployWaiter) confirmTraffic(ctx context.Context, seen Update) Update {
	if c.target.SkipsTraffic || seen.Verdict.Outcome != sluice.Succeeded && seen.Verdict.Outcome != sluice.RolledBack {
		return seen
	}
	c.target.Cluster, c.target.Service = c.service.Cluster, c.service.Service
	if c.readListeners(ctx, seen); c.listeners.production == "" {
		return seen
	}
	return c.waiter.confirmTraffic(ctx, seen, c.listeners, c.judge.Limit())
}
