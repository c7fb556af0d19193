package balanced

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// traffic routes by a load balancer: by the weights of two target groups on its listener rules, or
// in the default actions of its listeners. The writes to the rules are in rules.go.
type traffic struct {
	step  *step.Step
	rules *alb.Driver
}

var _ step.CanaryRules = traffic{}

// Open returns the access of a step. It makes no call to AWS.
func Open(s *step.Step) step.Access {
	b := traffic{step: s, rules: &alb.Driver{API: s.Account.ELB(), Groups: groupPair(s.Plan),
		Listeners: s.Plan.Listeners, Confirm: s.AwaitSecondRead, Cache: &s.Facts.Listeners}}
	if s.IsRollback() {
		b.rules.Deleted = func(arn string) { step.NoteDeleted(s, "listener", arn) }
	}
	return b
}

// IsUnreachable reports whether all listeners were deleted, so that no request reaches the target
// groups through them.
func (b traffic) IsUnreachable() bool { return b.step.IsRollback() && b.rules.HasNoListener() }

// readTargets reads the targets of a group. In a rollback a deleted group has no targets.
func readTargets(ctx context.Context, b traffic, group string) ([]sluice.Target, error) {
	confirm := b.step.AwaitSecondRead
	if slices.Contains(b.step.DeletedResources, memory.DeletedResource{Kind: "target group", ARN: group}) {
		confirm = nil
	}
	targets, err := route.ReadTwice(ctx, confirm, func() ([]sluice.Target, error) {
		return alb.ReadHealth(ctx, b.step.Account.ELB(), group)
	})
	if b.step.IsRollback() && sluice.KindOf(err) == sluice.NotFound {
		step.NoteDeleted(b.step, "target group", group)
		return nil, nil
	}
	return targets, err
}

func groupPair(p *plan.Plan) alb.TargetGroups {
	return alb.TargetGroups{Primary: p.Primary.OptionalARN(), Canary: p.Canary.OptionalARN(), RuleARNs: p.ListenerRules}
}

func (b traffic) AddToSnapshot(ctx context.Context, f *memory.Snapshot) error {
	if len(b.step.Plan.Listeners) == 0 {
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
func isAsBefore(b traffic, rule alb.Rule) bool {
	print := alb.Fingerprint(rule.Actions)
	if b.step.Snapshot.UnmanagedRules[rule.ARN] == print {
		return true
	}
	was, ok := alb.FindRule(b.step.Snapshot.Rules, rule.ARN)
	return ok && alb.Fingerprint(was.Actions) == print
}

// isManaged reports whether the deployment writes the rule.
func isManaged(b traffic, arn string) bool {
	_, ok := alb.FindRule(b.step.Snapshot.Rules, arn)
	return ok
}

func (b traffic) AttachmentOf(v sluice.Variant) ecs.Attachment {
	g := b.step.Plan.Primary
	if v == sluice.Canary {
		g = b.step.Plan.Canary
	}
	if g == nil {
		return ecs.Attachment{}
	}
	return ecs.Attachment{TargetGroup: g.ARN, Container: g.Container, Port: g.Port}
}

// SavePlannedShift saves what the stage is about to do: the canary's group, the percentages, the
// listeners, in this order.
func (b traffic) SavePlannedShift(ctx context.Context, to sluice.Weights) error {
	if err := b.step.Memory.CanaryGroup.Save(ctx, b.step.Plan.Canary.ARN); err != nil {
		return err
	}
	if err := step.SavePercentages(ctx, b.step, to); err != nil {
		return err
	}
	return resolveListeners(ctx, b)
}

// resolveListeners uses the listeners that an earlier stage saved, otherwise those of the plan, and
// saves them. Their rules are read again in any case.
func resolveListeners(ctx context.Context, b traffic) error {
	cached, err := b.step.Memory.Listeners.Load(ctx)
	if err != nil {
		return err
	}
	if cached != "" {
		b.rules.Listeners = strings.Split(cached, ",")
		return nil
	}
	if len(b.rules.Listeners) == 0 {
		return &sluice.Error{Op: "find the listeners", Resource: b.step.Plan.Primary.ARN, Kind: sluice.NotFound,
			Err:  errors.New("no listener forwards to the primary target group"),
			Next: "add both target groups to a listener rule"}
	}
	return b.step.Memory.Listeners.Save(ctx, strings.Join(b.rules.Listeners, ","))
}

// CanaryGetsTraffic reports whether a rule gives the canary group weight. It returns false only on
// a read that is newer than the last write to the rules.
func (b traffic) CanaryGetsTraffic(ctx context.Context) (sends bool, err error) {
	if b.step.Plan.Canary == nil || len(b.step.Plan.Listeners) == 0 {
		return false, nil
	}
	err = readPastWrite(ctx, b, func() ([]alb.Rule, bool, error) {
		choice, err := b.rules.ReadChoice(ctx)
		sends = err == nil && slices.ContainsFunc(choice.Steered, b.sendsToCanary)
		return choice.Rules(), sends, err
	})
	return sends, err
}

// readPastWrite repeats a read of the rules until it is newer than the last write to them, or until it reports that it
// suffices.
func readPastWrite(ctx context.Context, b traffic, read func() (rules []alb.Rule, suffices bool, err error)) error {
	for {
		sent := b.step.Clock.Now()
		rules, suffices, err := read()
		if suffices || err != nil {
			return err
		}
		if newer, err := isNewer(ctx, b, rules, sent); newer || err != nil {
			return err
		}
		if err := b.step.PauseFor(ctx, step.ReadBackDelay); err != nil {
			return err
		}
	}
}

// isNewer reports whether a read of the rules that was sent at a time is newer than the last write
// to them. It is newer if it shows every rule as it was written last, or if [step.UnseenLimit] has passed
// since that write. Without a snapshot a lost deployment may have written, so only the time since
// the stage's start or last write counts.
func isNewer(ctx context.Context, b traffic, rules []alb.Rule, sent time.Time) (bool, error) {
	at, wrote, err := step.LoadShiftTime(ctx, b.step)
	if err != nil || b.step.Snapshot == nil {
		return sent.Sub(b.step.WroteAt) >= step.UnseenLimit, err
	}
	marks, err := loadFingerprints(ctx, b)
	other := slices.ContainsFunc(rules,
		func(r alb.Rule) bool { return marks[r.ARN].Written != alb.Fingerprint(r.Actions) })
	return !wrote || !other || sent.Sub(at) >= step.UnseenLimit, err
}

// mayBeOld reports whether a read shows one of the rules in a shape that we gave it before or wrote a moment
// ago. Such a read may be older than our last write.
func mayBeOld(ctx context.Context, b traffic, rules ...alb.Rule) (bool, error) {
	at, wrote, err := step.LoadShiftTime(ctx, b.step)
	if err != nil || !wrote || b.step.Clock.Now().Sub(at) >= step.UnseenLimit {
		return false, err
	}
	marks, err := loadFingerprints(ctx, b)
	return slices.ContainsFunc(rules, func(r alb.Rule) bool {
		return marks[r.ARN].IsOwn(alb.Fingerprint(r.Actions), b.step.Stage.Index, true)
	}), err
}

// WaitForPropagation waits until every node uses the weights that were written last. AWS does not
// report when that is.
func (b traffic) WaitForPropagation(ctx context.Context) error {
	if b.step.Plan.WaitsAfterShift() {
		return waitForNodes(ctx, b, b.checkService)
	}
	at, ok, err := step.LoadShiftTime(ctx, b.step)
	if err != nil || !ok {
		return err
	}
	return b.step.PauseFor(ctx, at.Add(b.step.Plan.ShiftPropagation()).Sub(b.step.Clock.Now()))
}

// ObserveTargets reads the health of the member's targets. Targets of other members may be in the
// same target group.
func (b traffic) ObserveTargets(ctx context.Context, w *step.MemberWatch, o *verdict.Observation) error {
	if o.Set.TargetGroup == "" {
		return nil
	}
	targets, err := readSharedTargets(ctx, b, o.Set.TargetGroup)
	if err != nil || b.IsUnreachable() {
		return err // AWS does not check the health of targets without a listener
	}
	if o.Targets = append([]sluice.Target{}, targets...); w.HasOwnGroup {
		return nil
	}
	owners := b.step.Facts.OwnersOf(w.ID)
	if err := owners.Update(ctx, w.Service, *o.Set, o.Targets); err != nil {
		return err
	}
	o.IsOwnTarget = owners.Has
	return nil
}

// CountDraining counts the draining targets of the member. Targets of other members may drain in
// the same target group at the same time.
func (b traffic) CountDraining(ctx context.Context, w *step.MemberWatch) (int, error) {
	if w.TargetGroup == "" {
		return 0, nil
	}
	targets, err := readSharedTargets(ctx, b, w.TargetGroup)
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return t.State != "draining" })
	if err != nil || len(targets) == 0 || w.HasOwnGroup {
		return len(targets), err
	}
	unknown := func(t sluice.Target) bool { return !w.LeavingTargets.IsKnown(t.ID) }
	if slices.ContainsFunc(targets, unknown) {
		if err := w.LeavingTargets.Update(ctx, w.Service, w.ID); err != nil {
			return 0, err
		}
	}
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return w.LeavingTargets.IsOfOtherSet(t.ID) })
	return len(targets), nil
}

// RemoveCanaryRoute restores the actions of rules that were extended to the canary's group. It
// restores the weights of the other rules if all weight was on the primary before. If a rule gave the primary no weight
// meanwhile, it waits until every node follows.
func (b traffic) RemoveCanaryRoute(ctx context.Context) error {
	live, err := b.rules.Rules(ctx)
	if err != nil {
		return err
	}
	moves := false
	for _, was := range b.step.Snapshot.Rules {
		if b.sendsToCanary(was) {
			continue
		}
		was = servable(b, was)
		now, shown := alb.FindRule(live, was.ARN)
		if !shown || alb.Fingerprint(now.Actions) == alb.Fingerprint(was.Actions) {
			continue
		}
		if err := writeIntended(ctx, b, now, was); err != nil {
			return err
		}
		weight, _ := now.Weight(b.rules.Groups.Primary)
		moves = moves || weight == 0
	}
	if moves {
		return b.WaitForPropagation(ctx)
	}
	return nil
}

// CheckCanaryUnrouted returns an error if a rule that was edited during the deployment sends
// requests to the canary. A rule that sent requests there before the deployment is allowed: its
// requests get the same response as before.
func (b traffic) CheckCanaryUnrouted(ctx context.Context, canary step.Member) error {
	if len(b.step.Snapshot.Rules) == 0 {
		return nil
	}
	for {
		live, err := b.rules.Rules(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(live, func(rule alb.Rule) bool { return b.sendsToCanary(rule) && !isAsBefore(b, rule) })
		if i < 0 {
			return nil
		}
		if old, err := mayBeOld(ctx, b, live[i]); err != nil {
			return err
		} else if !old {
			w, _ := live[i].Weight(b.step.Plan.Canary.ARN)
			return &sluice.Error{Op: "delete the canary", Resource: canary.ResourceName(),
				Kind: sluice.OutsideChange,
				Err: fmt.Errorf("an external change of the %s sends requests to the canary (weight %d): %w",
					live[i].Name(), w, errors.New("the canary keeps running")),
				Next: b.unroutedAdvice(live[i], w)}
		}
		if err := b.step.PauseFor(ctx, step.ReadBackDelay); err != nil {
			return err
		}
	}
}

// unroutedAdvice says how a rule stops sending requests to the canary without a loss. weight is that of the canary. If no
// other group has weight, the primary gets it: without any weight callers would get 503.
func (b traffic) unroutedAdvice(rule alb.Rule, weight int) string {
	canary, primary := b.step.Plan.Canary.ARN, b.rules.Groups.Primary
	if slices.ContainsFunc(rule.Forward, func(s sluice.Share) bool { return s.Group != canary && s.Weight > 0 }) {
		return "set the canary's weight on that rule to 0, then run sluice rollback again"
	}
	to := b.rules.WithShares(rule, []sluice.Share{{Group: primary, Weight: weight}})
	return "forward that rule to the group of the primary: " + alb.RepairCommand(rule, to.Actions) +
		"; then run sluice rollback again"
}

// readSharedTargets reads the targets of a group, once per poll. The result is the caller's.
func readSharedTargets(ctx context.Context, b traffic, group string) ([]sluice.Target, error) {
	all, err := step.ReadShared(b.step, "targets "+group,
		func() ([]sluice.Target, error) { return readTargets(ctx, b, group) })
	return slices.Clone(all), err
}

// readSharedRules reads the rules, once per poll. No write may depend on the result.
func readSharedRules(ctx context.Context, b traffic) ([]alb.Rule, error) {
	return step.ReadShared(b.step, step.RulesKey, func() ([]alb.Rule, error) { return b.rules.Rules(ctx) })
}
