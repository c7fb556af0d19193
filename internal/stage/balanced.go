package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// albTraffic routes by an Application Load Balancer: by the weights of two target groups on its
// listener rules. The writes to the rules are in rules.go.
type balanced struct {
	*Run
	rules *alb.Driver
}

func (r *Run) openBalanced() balanced {
	b := balanced{Run: r, rules: &alb.Driver{API: r.Account.ELB(), Pair: pair(r.Plan), Listeners: r.Plan.Listeners, Confirm: r.secondLook}}
	if r.returns() {
		b.rules.Deleted = func(arn string) { r.lacks("listener", arn) }
	}
	return b
}

// isUnreachable reports whether all listeners were deleted, so that no request reaches the target
// groups through them.
func (b balanced) isUnreachable() bool { return b.returns() && b.rules.Unreachable() }

// readTargets reads the targets of a group. In a rollback a deleted group has no targets.
func (b balanced) health(ctx context.Context, group string) (targets []sluice.Target, err error) {
	confirm := b.secondLook
	if slices.Contains(b.rest, absent{"target group", group}) {
		confirm = nil
	}
	err = route.Twice(ctx, confirm, func() error {
		targets, err = alb.Health(ctx, b.Account.ELB(), group)
		return err
	})
	if b.returns() && sluice.KindOf(err) == sluice.NotFound {
		b.lacks("target group", group)
		return nil, nil
	}
	return targets, err
}

func pair(p *plan.Plan) alb.Pair {
	var out alb.Pair
	if p.Primary != nil {
		out.Primary = p.Primary.ARN
	}
	if p.Canary != nil {
		out.Canary = p.Canary.ARN
	}
	out.Named = p.Named
	return out
}

func (b balanced) remember(ctx context.Context, f *Former) error {
	if len(b.Plan.Listeners) == 0 {
		return nil
	}
	choice, err := b.rules.Choose(ctx)
	f.Rules = choice.Rules()
	for _, r := range alb.Marked(b.rules.Live(), choice, b.rules.Pair) {
		if f.Marked == nil {
			f.Marked = map[string]string{}
		}
		f.Marked[r.ARN] = alb.Print(r.Actions)
	}
	return err
}

// isAsBefore reports whether a rule has the actions that it had before the deployment.
func (b balanced) asBefore(rule alb.Rule) bool {
	print := alb.Print(rule.Actions)
	if b.former.Marked[rule.ARN] == print {
		return true
	}
	return slices.ContainsFunc(b.former.Rules, func(was alb.Rule) bool { return was.ARN == rule.ARN && alb.Print(was.Actions) == print })
}

func (b balanced) begin(context.Context) error { return nil }

func (b balanced) attach(v sluice.Variant) ecs.Attachment {
	g := b.Plan.Primary
	if v == sluice.Canary {
		g = b.Plan.Canary
	}
	if g == nil {
		return ecs.Attachment{}
	}
	return ecs.Attachment{TargetGroup: g.ARN, Container: g.Container, Port: g.Port}
}

// savePlannedShift saves what the stage is about to do: the canary's group, the percentages, the
// listeners, in this order.
func (b balanced) announce(ctx context.Context, to sluice.Weights) error {
	if err := text(ctx, b.Host, KeyCanaryGroup, b.Plan.Canary.ARN); err != nil {
		return err
	}
	if err := text(ctx, b.Host, KeyPrimaryShare, strconv.Itoa(to.Primary())); err != nil {
		return err
	}
	if err := text(ctx, b.Host, KeyCanaryShare, strconv.Itoa(to.Canary())); err != nil {
		return err
	}
	return b.listeners(ctx)
}

// resolveListeners uses the listeners that an earlier stage saved, otherwise those of the plan, and
// saves them. Their rules are read again in any case.
func (b balanced) listeners(ctx context.Context) error {
	cached, ok, err := b.Host.Load(ctx, KeyListeners)
	if err != nil {
		return fmt.Errorf("read what was saved as %s: %w", KeyListeners, err)
	}
	if ok && len(cached) > 0 {
		b.rules.Listeners = strings.Split(string(cached), ",")
		return nil
	}
	if len(b.rules.Listeners) == 0 {
		return &sluice.Error{Op: "find the listeners", Resource: b.Plan.Primary.ARN, Kind: sluice.NotFound, Err: errors.New("no listener forwards to the primary target group"),
			Next: "add both target groups to a listener rule"}
	}
	return text(ctx, b.Host, KeyListeners, strings.Join(b.rules.Listeners, ","))
}

// canaryGetsTraffic reports whether a rule gives the canary group weight. It returns false only on
// a read that is newer than the last write to the rules.
func (b balanced) sends(ctx context.Context) (bool, error) {
	if b.Plan.Canary == nil || len(b.Plan.Listeners) == 0 {
		return false, nil
	}
	for {
		sent := b.Clock.Now()
		choice, err := b.rules.Choose(ctx)
		if err != nil || slices.ContainsFunc(choice.Steered, b.sendsToCanary) {
			return err == nil, err
		}
		if newer, err := b.isNewer(ctx, choice, sent); newer || err != nil {
			return false, err
		}
		if err := b.pause(ctx, claimSettle); err != nil {
			return false, err
		}
	}
}

// isNewer reports whether a read of the rules that was sent at a time is newer than the last write
// to them. It is newer if it shows every rule as it was written last, or if unseenFor has passed
// since that write. Without a snapshot a lost deployment may have written, so only the time since
// the stage's start or last write counts.
func (b balanced) isNewer(ctx context.Context, choice alb.Choice, sent time.Time) (bool, error) {
	at, wrote, err := saved[time.Time](ctx, b.Host, keyShifted)
	if err != nil || b.former == nil {
		return sent.Sub(b.wrote) >= unseenFor, err
	}
	marks, err := b.marks(ctx)
	other := slices.ContainsFunc(choice.Rules(), func(r alb.Rule) bool { return marks[r.ARN].Is != alb.Print(r.Actions) })
	return !wrote || !other || sent.Sub(at) >= unseenFor, err
}

// mayBeOld reports whether a read shows a rule in a shape that we gave it before or wrote a moment
// ago. Such a read may be older than our last write.
func (b balanced) mayBeOld(ctx context.Context, rule alb.Rule) (bool, error) {
	at, wrote, err := saved[time.Time](ctx, b.Host, keyShifted)
	if err != nil || !wrote || b.Clock.Now().Sub(at) >= unseenFor {
		return false, err
	}
	marks, err := b.marks(ctx)
	return marks[rule.ARN].ours(alb.Print(rule.Actions), b.Stage.Index, true), err
}

// propagation is how long after a change of weights a load balancer's nodes may still use the old
// ones. AWS does not report it and documents no bound; seconds are observed.
const propagation = 10 * time.Second

// waitForPropagation waits until every node uses the weights that were written last.
func (b balanced) settle(ctx context.Context) error {
	at, ok, err := saved[time.Time](ctx, b.Host, keyShifted)
	if err != nil || !ok {
		return err
	}
	return b.pause(ctx, at.Add(propagation).Sub(b.Clock.Now()))
}

// stopTrafficTo does nothing: ECS deregisters the targets of tasks before it stops the tasks.
func (balanced) part(context.Context, []member) error { return nil }

func (b balanced) tend(context.Context) error { return nil }

// callersCacheAddresses is false: the load balancer immediately knows which tasks are being
// stopped.
func (b balanced) exposed(context.Context) (bool, error) { return false, nil }

// observeTargets reads the health of the member's targets. Targets of other members may be in the
// same target group.
func (b balanced) see(ctx context.Context, w *watched, o *verdict.Observation) error {
	if o.Set.TargetGroup == "" {
		return nil
	}
	targets, err := b.health(ctx, o.Set.TargetGroup)
	if err != nil || b.isUnreachable() {
		return err // AWS does not check the health of targets without a listener
	}
	if o.Targets = append([]sluice.Target{}, targets...); w.alone {
		return nil
	}
	learn := w.mine.Update
	if w.far {
		learn = func(ctx context.Context, of ecs.Service, set sluice.TaskSet) error {
			return w.mine.Cover(ctx, of, set, o.Targets)
		}
	}
	if err := learn(ctx, w.of, *o.Set); err != nil {
		return err
	}
	o.Mine = w.mine.Has
	return nil
}

// countDraining counts the draining targets of the member. Targets of other members may drain in
// the same target group at the same time.
func (b balanced) left(ctx context.Context, w *watched) (int, error) {
	if w.TargetGroup == "" {
		return 0, nil
	}
	targets, err := b.health(ctx, w.TargetGroup)
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return t.State != "draining" })
	if err != nil || len(targets) == 0 || w.alone {
		return len(targets), err
	}
	if err := w.leaving.Update(ctx, w.of, w.ID); err != nil {
		return 0, err
	}
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return w.leaving.Other(t.ID) })
	return len(targets), nil
}

// removeCanaryRoute restores the actions of rules that were extended to the canary's group. It
// restores the weights of the other rules if all weight was on the primary before.
func (b balanced) reshape(ctx context.Context) error {
	live, err := b.rules.Rules(ctx)
	if err != nil {
		return err
	}
	for _, was := range b.former.Rules {
		if b.sendsToCanary(was) {
			continue
		}
		for _, now := range live {
			if now.ARN != was.ARN || alb.Print(now.Actions) == alb.Print(was.Actions) {
				continue
			}
			if err := b.intend(ctx, now.ARN, now.Name(), alb.Print(now.Actions), alb.Print(was.Actions)); err != nil {
				return err
			}
			if err := b.rules.Write(ctx, b.act, now, was.Actions); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCanaryUnrouted returns an error if a rule that was edited during the deployment sends
// requests to the canary. A rule that sent requests there before the deployment is allowed: its
// requests get the same response as before.
func (b balanced) released(ctx context.Context, canary member) error {
	if len(b.former.Rules) == 0 {
		return nil
	}
	for {
		live, err := b.rules.Rules(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(live, func(rule alb.Rule) bool { return b.sendsToCanary(rule) && !b.asBefore(rule) })
		if i < 0 {
			return nil
		}
		if old, err := b.mayBeOld(ctx, live[i]); err != nil {
			return err
		} else if !old {
			w, _ := live[i].Weight(b.Plan.Canary.ARN)
			return &sluice.Error{Op: "take the canary away", Resource: canary.resource(), Kind: sluice.OutsideChange,
				Err:  fmt.Errorf("the %s, edited by somebody else, sends requests to it (weight %d): %w", live[i].Name(), w, errors.New("the canary is left running")),
				Next: "set the canary's weight on that rule to 0, then run sluice rollback again"}
		}
		if err := b.pause(ctx, claimSettle); err != nil {
			return err
		}
	}
}
