package watch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// errCodeDeploy means that CodeDeploy deploys the service, so its deployment is followed there.
var errCode = errors.New("the deployment controller is CODE_DEPLOY")

// codeDeployWaiter is one wait for a CodeDeploy deployment.
type codeFollower struct {
	*follower
	hand     codedeploy.Hand
	judge    verdict.BlueGreen
	of       Target // the service of the deployment, once it is known
	recalled bool   // replaced deployments were searched for the revision
	brief    bool   // do not search the account for the deployment group of the service
}

// PollCodeDeploy polls the CodeDeploy deployment of a service once: the one in progress, otherwise
// the newest one that its task sets name. Update.Code is nil if there is none.
func (w *Watch) Code(ctx context.Context, cluster, service string) (Seen, error) {
	f, err := w.follower(ctx, Target{Cluster: cluster, Service: service, Wanted: verdict.Wanted{Once: true}}, nil)
	if err != nil {
		return Seen{}, err
	}
	c := f.codeFollower()
	c.brief = true
	for {
		s, err := c.look(ctx)
		if err != nil || s.Verdict.NextLook > 0 || s.Verdict.State == verdict.Ended {
			return s, err
		}
	}
}

// runCodeDeploy polls until the verdict ends, as runService does.
func (f *follower) runCode(ctx, reading context.Context) (Seen, error) {
	c := f.codeFollower()
	_ = f.watch.clock.Sleep(reading, c.judge.First()) // ends early with the wait
	for {
		seen, err := c.look(reading)
		wait := seen.Verdict.NextLook
		switch {
		case ctx.Err() != nil:
			return c.seen(f.stands), context.Cause(ctx)
		case reading.Err() != nil:
			return c.giveUp(err), nil
		case err == nil && seen.Verdict.State == verdict.Ended:
			return seen, nil
		case err != nil && (hopeless(err) || givenUp(ctx, err) || !c.heard && account.Unsent(err)):
			return seen, err
		case err != nil:
			f.unread = append(f.unread, err.Error())
			if wait = f.left(again); wait <= 0 {
				return c.giveUp(err), nil
			}
		}
		_ = f.watch.clock.Sleep(reading, wait) // ends early with the wait
	}
}

// newCodeDeployWaiter starts a judge at the time the wait began: a moment ago, if the service had
// to be read first.
func (f *follower) codeFollower() *codeFollower {
	return &codeFollower{follower: f, hand: codedeploy.Hand{API: f.watch.account.CodeDeploy()}, of: f.target,
		judge: verdict.FollowBlueGreen(f.judge.Began(), f.target.Wanted)}
}

// remainingWait returns how long to wait, at most until the hard limit; 0 or less if that has
// passed.
func (f *follower) left(wait time.Duration) time.Duration {
	if f.target.Timeout <= 0 {
		return wait
	}
	return min(wait, f.judge.Began().Add(f.target.Timeout).Sub(f.now()))
}

func (c *codeFollower) seen(v verdict.Verdict) Seen {
	s := c.follower.seen(v)
	s.Code, s.Course = c.judge.Shown()
	return s
}

// timeOut ends the wait at its limit without another poll.
func (c *codeFollower) giveUp(err error) Seen {
	why := ""
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		why = err.Error()
	}
	var v verdict.Verdict
	c.judge, v = c.judge.GiveUp(c.now(), why)
	s := c.seen(v)
	c.show(s)
	return s
}

// pollCodeDeploy reads what is needed and judges it.
func (c *codeFollower) look(ctx context.Context) (Seen, error) {
	o := verdict.Observation{At: c.now()}
	if !c.judge.Follows() {
		if err := c.choose(ctx, &o); err != nil {
			return c.seen(c.stands), err
		}
	}
	n := c.judge.Needs(o.At)
	o.Code.Asked = n
	if err := c.readCode(ctx, n, &o); err != nil {
		return c.seen(c.stands), err
	}
	c.heard = true
	c.readService(ctx, n, &o)
	o.At, o.Unread, c.unread = c.now(), append(o.Unread, c.unread...), nil
	var v verdict.Verdict
	c.judge, v = c.judge.See(o)
	if tasks := c.judge.Explain(); len(tasks) > 0 {
		c.judge, v = c.judge.See(verdict.Observation{At: o.At, Service: o.Service, Logs: c.logs(ctx, tasks), Code: verdict.CodeLook{Asked: n}})
	}
	c.stands = v
	s := c.seen(v)
	c.show(s)
	return s, nil
}

// readCode reads the deployment and its target.
func (c *codeFollower) readCode(ctx context.Context, n verdict.CodeNeeds, o *verdict.Observation) (err error) {
	if n.Deployment != "" {
		if o.Code.Deployment, err = c.hand.Get(ctx, n.Deployment); err != nil {
			return err
		}
	}
	if n.Target != "" {
		if o.Code.Target, err = c.hand.Target(ctx, n.Target, c.of.Cluster, c.of.Service); err != nil {
			return err
		}
		c.learn(o.Code.Target)
	}
	d := o.Code.Deployment
	if d == nil {
		d, _ = c.judge.Shown()
	}
	if n.Revision && d != nil {
		arn, err := c.hand.RevisionOf(ctx, d)
		if c.failed(o, "the AppSpec", err); err == nil {
			o.Code.Revision = sluice.RevisionOf(arn)
		}
	}
	return nil
}

// learnService reads from the target which service is deployed, if only the deployment's id was
// given.
func (c *codeFollower) learn(t *verdict.CodeTarget) {
	if t == nil || c.of.Service != "" {
		return
	}
	if cluster, service, ok := strings.Cut(t.Name, ":"); ok {
		c.of.Cluster, c.of.Service = cluster, service
		c.boards = c.watch.of(cluster)
	}
}

// readService reads the service and its stopped tasks. It omits what cannot be read.
func (c *codeFollower) readService(ctx context.Context, n verdict.CodeNeeds, o *verdict.Observation) {
	if c.of.Service == "" {
		return
	}
	if n.Service && o.Service == nil {
		s, _, err := c.boards.services.get(ctx, c.of.Service, c.now())
		if c.failed(o, "the service", err); err == nil {
			o.Service, c.last = s, s
		}
	}
	if n.Fallen && !c.mute.fallen {
		fallen, err := c.fallen.Update(ctx, c.of.hand(c.watch))
		c.mute.fallen = c.failed(o, "stopped tasks", err)
		o.Fallen = fallen
	}
}

// chooseDeployment finds the wanted deployment of the service: the one in progress, otherwise the
// newest. If a revision is wanted, it finds the deployment of that revision.
func (c *codeFollower) choose(ctx context.Context, o *verdict.Observation) error {
	s, _, err := c.boards.services.get(ctx, c.target.Service, c.now())
	if err != nil || s == nil {
		return err
	}
	o.Service, c.last = s, s
	d, err := c.newest(ctx, s)
	if err != nil {
		return err
	}
	o.Code.Idle = d == nil
	if d == nil {
		return nil
	}
	if d.RollbackOf != "" { // follow the deployment that this one rolls back
		if d, err = c.hand.Get(ctx, d.RollbackOf); err != nil || d == nil {
			return err
		}
	}
	if want := c.target.Revision; want != "" {
		return c.chooseRevision(ctx, s, d, want)
	}
	c.judge = c.judge.Follow(d.ID)
	return nil
}

// chooseRevision follows d if it deploys the revision, otherwise the deployment that made the
// PRIMARY task set, if that set has the revision.
func (c *codeFollower) chooseRevision(ctx context.Context, s *verdict.Service, d *verdict.CodeDeployment, want string) error {
	arn, err := c.hand.RevisionOf(ctx, d)
	if err != nil {
		return err
	}
	if sluice.RevisionOf(arn) == want {
		c.judge = c.judge.Follow(d.ID)
		return nil
	}
	for _, ts := range s.TaskSets {
		if ts.Status == "PRIMARY" && ts.Revision == want && ts.ExternalID != "" && d.Ended() {
			c.judge = c.judge.Follow(ts.ExternalID)
			return nil
		}
	}
	return c.choosePast(ctx, d, want)
}

// choosePast follows the newest replaced deployment of the revision. It waits until the revision
// has not appeared for as long as AWS's responses may lag.
func (c *codeFollower) choosePast(ctx context.Context, d *verdict.CodeDeployment, want string) error {
	if c.recalled || !d.Ended() || c.now().Sub(c.judge.Began()) <= verdict.Lagging {
		return nil
	}
	id, err := c.hand.Brought(ctx, codedeploy.Group{Application: d.Application, Name: d.Group}, func(arn string) bool { return sluice.RevisionOf(arn) == want })
	if err != nil {
		return err
	}
	if c.recalled = true; id != "" {
		c.judge = c.judge.FollowPast(id)
	}
	return nil
}

// newestDeployment returns the deployment of the service that is in progress, otherwise the last
// attempted one; nil if CodeDeploy never deployed the service.
func (c *codeFollower) newest(ctx context.Context, s *verdict.Service) (*verdict.CodeDeployment, error) {
	id, err := c.hand.RunningOf(ctx, s.Cluster, s.Name)
	if err != nil {
		return nil, err
	}
	if id == "" {
		g, err := c.groupOf(ctx, s)
		if err != nil || g.Last.ID == "" {
			return nil, err
		}
		id = g.Last.ID
	}
	return c.hand.Get(ctx, id)
}

// groupOf returns the deployment group of the service; the zero Settings if it has none. One search
// of the account serves all waiters.
func (c *codeFollower) groupOf(ctx context.Context, s *verdict.Service) (codedeploy.Settings, error) {
	var by []string
	for _, ts := range s.TaskSets {
		by = append(by, ts.ExternalID)
	}
	g, ok, err := c.hand.GroupBy(ctx, by, s.Cluster, s.Name)
	if ok || err != nil || c.brief {
		return g, err
	}
	x, _, err := c.watch.groups.get(ctx, "", c.now())
	if err != nil {
		return g, err
	}
	g, err = x.Of(s.Cluster, s.Name, codedeploy.Group{})
	if kind := sluice.KindOf(err); kind == sluice.NotFound || kind == sluice.Conflict {
		c.unread = append(c.unread, err.Error())
		return g, nil
	}
	return g, err
}

// searchGroups returns the same index for every key.
func (w *Watch) search(ctx context.Context, keys []string) (map[string]codedeploy.Index, error) {
	x, err := codedeploy.Hand{API: w.account.CodeDeploy()}.Search(ctx)
	found := map[string]codedeploy.Index{}
	for _, k := range keys {
		found[k] = x
	}
	return found, err
}
