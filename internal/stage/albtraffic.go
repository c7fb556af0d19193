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
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// albTraffic routes by a load balancer: by the weights of two target groups on its listener rules, or
// in the default actions of its listeners. The writes to the rules are in albtraffic_rules.go.
type albTraffic struct {
	*Run
	rules *alb.Driver
}

func (r *Run) openALBTraffic() albTraffic {
	b := albTraffic{Run: r, rules: &alb.Driver{API: r.Account.ELB(), Groups: groupPair(r.Plan),
		Listeners: r.Plan.Listeners, Confirm: r.awaitSecondRead, Cache: &r.Facts.listeners}}
	if r.isRollback() {
		b.rules.Deleted = func(arn string) { r.noteDeleted("listener", arn) }
	}
	return b
}

// isUnreachable reports whether all listeners were deleted, so that no request reaches the target
// groups through them.
func (b albTraffic) isUnreachable() bool { return b.isRollback() && b.rules.HasNoListener() }

// readTargets reads the targets of a group. In a rollback a deleted group has no targets.
func (b albTraffic) readTargets(ctx context.Context, group string) (targets []sluice.Target, err error) {
	confirm := b.awaitSecondRead
	if slices.Contains(b.deletedResources, memory.DeletedResource{Kind: "target group", ARN: group}) {
		confirm = nil
	}
	err = route.ReadTwice(ctx, confirm, func() error {
		targets, err = alb.ReadHealth(ctx, b.Account.ELB(), group)
		return err
	})
	if b.isRollback() && sluice.KindOf(err) == sluice.NotFound {
		b.noteDeleted("target group", group)
		return nil, nil
	}
	return targets, err
}

func groupPair(p *plan.Plan) alb.TargetGroups {
	var out alb.TargetGroups
	if p.Primary != nil {
		out.Primary = p.Primary.ARN
	}
	if p.Canary != nil {
		out.Canary = p.Canary.ARN
	}
	out.RuleARNs = p.ListenerRules
	return out
}

func (b albTraffic) addToSnapshot(ctx context.Context, f *memory.Snapshot) error {
	if len(b.Plan.Listeners) == 0 {
		return nil
	}
	choice, err := b.rules.ReadChoice(ctx)
	f.Rules = choice.Rules()
	for _, r := range alb.MarkedRules(b.rules.LastRules(), choice, b.rules.Groups) {
		if f.UnmanagedRules == nil {
			f.UnmanagedRules = map[string]string{}
		}
		f.UnmanagedRules[r.ARN] = alb.Fingerprint(r.Actions)
	}
	return err
}

// isAsBefore reports whether a rule has the actions that it had before the deployment.
func (b albTraffic) isAsBefore(rule alb.Rule) bool {
	print := alb.Fingerprint(rule.Actions)
	if b.snapshot.UnmanagedRules[rule.ARN] == print {
		return true
	}
	return slices.ContainsFunc(b.snapshot.Rules, func(was alb.Rule) bool {
		return was.ARN == rule.ARN &&
			alb.Fingerprint(was.Actions) == print
	})
}

func (b albTraffic) removeStaleRecords(context.Context) error { return nil }

func (b albTraffic) attachmentOf(v sluice.Variant) ecs.Attachment {
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
func (b albTraffic) savePlannedShift(ctx context.Context, to sluice.Weights) error {
	if err := b.memory.CanaryGroup.Save(ctx, b.Plan.Canary.ARN); err != nil {
		return err
	}
	if err := b.savePercentages(ctx, to); err != nil {
		return err
	}
	return b.resolveListeners(ctx)
}

// savePercentages saves the shares that the stage is about to write, as PipeCD does.
func (r *Run) savePercentages(ctx context.Context, to sluice.Weights) error {
	if err := r.memory.PrimaryShare.Save(ctx, strconv.Itoa(to.Primary())); err != nil {
		return err
	}
	return r.memory.CanaryShare.Save(ctx, strconv.Itoa(to.Canary()))
}

// resolveListeners uses the listeners that an earlier stage saved, otherwise those of the plan, and
// saves them. Their rules are read again in any case.
func (b albTraffic) resolveListeners(ctx context.Context) error {
	cached, err := b.memory.Listeners.Load(ctx)
	if err != nil {
		return err
	}
	if cached != "" {
		b.rules.Listeners = strings.Split(cached, ",")
		return nil
	}
	if len(b.rules.Listeners) == 0 {
		return &sluice.Error{Op: "find the listeners", Resource: b.Plan.Primary.ARN, Kind: sluice.NotFound,
			Err:  errors.New("no listener forwards to the primary target group"),
			Next: "add both target groups to a listener rule"}
	}
	return b.memory.Listeners.Save(ctx, strings.Join(b.rules.Listeners, ","))
}

// canaryGetsTraffic reports whether a rule gives the canary group weight. It returns false only on
// a read that is newer than the last write to the rules.
func (b albTraffic) canaryGetsTraffic(ctx context.Context) (bool, error) {
	if b.Plan.Canary == nil || len(b.Plan.Listeners) == 0 {
		return false, nil
	}
	for {
		sent := b.Clock.Now()
		choice, err := b.rules.ReadChoice(ctx)
		if err != nil || slices.ContainsFunc(choice.Steered, b.sendsToCanary) {
			return err == nil, err
		}
		if newer, err := b.isNewer(ctx, choice, sent); newer || err != nil {
			return false, err
		}
		if err := b.pauseFor(ctx, readBackDelay); err != nil {
			return false, err
		}
	}
}

// isNewer reports whether a read of the rules that was sent at a time is newer than the last write
// to them. It is newer if it shows every rule as it was written last, or if unseenFor has passed
// since that write. Without a snapshot a lost deployment may have written, so only the time since
// the stage's start or last write counts.
func (b albTraffic) isNewer(ctx context.Context, choice alb.RuleChoice, sent time.Time) (bool, error) {
	at, wrote, err := b.loadShiftTime(ctx)
	if err != nil || b.snapshot == nil {
		return sent.Sub(b.wroteAt) >= unseenLimit, err
	}
	marks, err := b.loadFingerprints(ctx)
	other := slices.ContainsFunc(choice.Rules(),
		func(r alb.Rule) bool { return marks[r.ARN].Written != alb.Fingerprint(r.Actions) })
	return !wrote || !other || sent.Sub(at) >= unseenLimit, err
}

// mayBeOld reports whether a read shows a rule in a shape that we gave it before or wrote a moment
// ago. Such a read may be older than our last write.
func (b albTraffic) mayBeOld(ctx context.Context, rule alb.Rule) (bool, error) {
	at, wrote, err := b.loadShiftTime(ctx)
	if err != nil || !wrote || b.Clock.Now().Sub(at) >= unseenLimit {
		return false, err
	}
	marks, err := b.loadFingerprints(ctx)
	return marks[rule.ARN].IsOwn(alb.Fingerprint(rule.Actions), b.Stage.Index, true), err
}

// waitForPropagation waits until every node uses the weights that were written last. AWS does not
// report when that is.
func (b albTraffic) waitForPropagation(ctx context.Context) error {
	if b.Plan.WaitsAfterShift() {
		return b.waitForNodes(ctx, b.checkService)
	}
	at, ok, err := b.loadShiftTime(ctx)
	if err != nil || !ok {
		return err
	}
	return b.pauseFor(ctx, at.Add(b.Plan.ShiftPropagation()).Sub(b.Clock.Now()))
}

// stopTrafficTo does nothing: ECS deregisters the targets of tasks before it stops the tasks.
func (albTraffic) stopTrafficTo(context.Context, []member) error { return nil }

func (b albTraffic) maintainShare(context.Context) error { return nil }

// callersCacheAddresses is false: the load balancer immediately knows which tasks are being
// stopped.
func (b albTraffic) callersCacheAddresses(context.Context) (bool, error) { return false, nil }

// observeTargets reads the health of the member's targets. Targets of other members may be in the
// same target group.
func (b albTraffic) observeTargets(ctx context.Context, w *memberWatch, o *verdict.Observation) error {
	if o.Set.TargetGroup == "" {
		return nil
	}
	targets, err := b.readSharedTargets(ctx, o.Set.TargetGroup)
	if err != nil || b.isUnreachable() {
		return err // AWS does not check the health of targets without a listener
	}
	if o.Targets = append([]sluice.Target{}, targets...); w.hasOwnGroup {
		return nil
	}
	owners := b.Facts.ownersOf(w.ID)
	learn := owners.Update
	if w.farApart || !w.hasRead {
		learn = func(ctx context.Context, of ecs.Service, set sluice.TaskSet) error {
			return owners.UpdateFor(ctx, of, set, o.Targets)
		}
	}
	if err := learn(ctx, w.service, *o.Set); err != nil {
		return err
	}
	w.hasRead, o.IsOwnTarget = true, owners.Has
	return nil
}

// countDraining counts the draining targets of the member. Targets of other members may drain in
// the same target group at the same time.
func (b albTraffic) countDraining(ctx context.Context, w *memberWatch) (int, error) {
	if w.TargetGroup == "" {
		return 0, nil
	}
	targets, err := b.readSharedTargets(ctx, w.TargetGroup)
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return t.State != "draining" })
	if err != nil || len(targets) == 0 || w.hasOwnGroup {
		return len(targets), err
	}
	unknown := func(t sluice.Target) bool { return !w.leavingTargets.IsKnown(t.ID) }
	if slices.ContainsFunc(targets, unknown) {
		if err := w.leavingTargets.Update(ctx, w.service, w.ID); err != nil {
			return 0, err
		}
	}
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return w.leavingTargets.IsOfOtherSet(t.ID) })
	return len(targets), nil
}

// removeCanaryRoute restores the actions of rules that were extended to the canary's group. It
// restores the weights of the other rules if all weight was on the primary before.
func (b albTraffic) removeCanaryRoute(ctx context.Context) error {
	live, err := b.rules.Rules(ctx)
	if err != nil {
		return err
	}
	for _, was := range b.snapshot.Rules {
		if b.sendsToCanary(was) {
			continue
		}
		for _, now := range live {
			if now.ARN != was.ARN || alb.Fingerprint(now.Actions) == alb.Fingerprint(was.Actions) {
				continue
			}
			if err := b.saveIntended(ctx, now.ARN, now.Name(), alb.Fingerprint(now.Actions),
				alb.Fingerprint(was.Actions)); err != nil {
				return err
			}
			if err := b.rules.WriteRule(ctx, b.makeWrite, now, was.Actions); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCanaryUnrouted returns an error if a rule that was edited during the deployment sends
// requests to the canary. A rule that sent requests there before the deployment is allowed: its
// requests get the same response as before.
func (b albTraffic) checkCanaryUnrouted(ctx context.Context, canary member) error {
	if len(b.snapshot.Rules) == 0 {
		return nil
	}
	for {
		live, err := b.rules.Rules(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(live, func(rule alb.Rule) bool { return b.sendsToCanary(rule) && !b.isAsBefore(rule) })
		if i < 0 {
			return nil
		}
		if old, err := b.mayBeOld(ctx, live[i]); err != nil {
			return err
		} else if !old {
			w, _ := live[i].Weight(b.Plan.Canary.ARN)
			return &sluice.Error{Op: "delete the canary", Resource: canary.resourceName(),
				Kind: sluice.OutsideChange,
				Err: fmt.Errorf("an external change of the %s sends requests to the canary (weight %d): %w",
					live[i].Name(), w, errors.New("the canary keeps running")),
				Next: "set the canary's weight on that rule to 0, then run sluice rollback again"}
		}
		if err := b.pauseFor(ctx, readBackDelay); err != nil {
			return err
		}
	}
}
