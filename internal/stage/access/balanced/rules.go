package balanced

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/view"
)

// loadFingerprints returns the fingerprints of the rules: as saved last, otherwise those of the
// snapshot.
func loadFingerprints(ctx context.Context, b traffic) (map[string]memory.RuleFingerprint, error) {
	routes, err := b.step.Memory.Routes.Load(ctx)
	if err != nil || routes.Fingerprints != nil {
		return routes.Fingerprints, err
	}
	marks := map[string]memory.RuleFingerprint{}
	for _, rule := range b.step.Snapshot.Rules {
		marks[rule.ARN] = memory.RuleFingerprint{Written: alb.Fingerprint(rule.Actions), Stage: -1}
	}
	return marks, nil
}

// updateFingerprints changes the fingerprints of the rules. It saves them if change reports that they differ.
func updateFingerprints(ctx context.Context, b traffic, change func(map[string]memory.RuleFingerprint) bool) error {
	marks, err := loadFingerprints(ctx, b)
	if err != nil || !change(marks) {
		return err
	}
	return b.step.Memory.Routes.Update(ctx, func(r *memory.Routes) { r.Fingerprints = marks })
}

// saveIntended checks that no other actor changed a rule, and saves the actions that are about to
// be written to it.
func saveIntended(ctx context.Context, b traffic, arn, name, live, next string) error {
	marks, err := loadFingerprints(ctx, b)
	if err != nil {
		return err
	}
	if !marks[arn].IsOwn(live, b.step.Stage.Index, false) {
		if live, err = resolveRuleEdit(ctx, b, arn, name, live); err != nil {
			return err
		}
	}
	if err := updateFingerprints(ctx, b, func(marks map[string]memory.RuleFingerprint) bool {
		marks[arn] = marks[arn].WithPending(live, next, b.step.Stage.Index)
		return true
	}); err != nil {
		return err
	}
	return step.SaveShiftTime(ctx, b.step)
}

// writeIntended writes a rule in another form, after it has checked that no other actor changed the rule, and has
// saved that form.
func writeIntended(ctx context.Context, b traffic, live, to alb.Rule) error {
	if err := saveIntended(ctx, b, live.ARN, live.Name(), alb.Fingerprint(live.Actions),
		alb.Fingerprint(to.Actions)); err != nil {
		return err
	}
	return b.rules.WriteRule(ctx, b.step.MakeWrite, live, to.Actions)
}

// writeOver writes a rule in another form, whatever form it has now.
func writeOver(ctx context.Context, b traffic, live, to alb.Rule) error {
	if err := step.SaveShiftTime(ctx, b.step); err != nil {
		return err
	}
	return b.rules.WriteRule(ctx, b.step.MakeWrite, live, to.Actions)
}

func errRuleEdited(b traffic, arn, name string) error {
	return &sluice.Error{Op: "write the " + name, Resource: arn, Kind: sluice.OutsideChange,
		Err: errors.New("another process or person edited the rule after the deployment began; sluice does not " +
			"overwrite it"),
		Next: "see the rule: " + view.DescribeRuleCommand(arn) +
			"; deploy again when no other process edits it"}
}

func newRouter(b traffic) route.Router {
	return route.Router{Driver: b.rules, Check: func(ctx context.Context, p route.Route, intent string) error {
		return saveIntended(ctx, b, p.ID, p.Name, p.Fingerprint, intent)
	}}
}

// PrepareCanaryRoute adds the canary group at weight 0 to the rules that forward to the primary
// group only. AWS refuses a task set whose group has no listener. It checks the health of groups at
// weight 0 too.
func (b traffic) PrepareCanaryRoute(ctx context.Context) error {
	if rules, err := readSharedRules(ctx, b); err != nil {
		return err
	} else if seen, err := alb.ChooseRules(rules, b.rules.Groups); err == nil && len(seen.Extend) == 0 {
		return nil
	}
	choice, err := b.rules.ReadChoice(ctx)
	if err != nil || len(choice.Extend) == 0 {
		return err
	}
	for _, rule := range choice.Extend {
		if err := writeIntended(ctx, b, rule, b.rules.WithWeights(rule, sluice.CanaryShare(0))); err != nil {
			return err
		}
	}
	b.step.EmitNote("added the canary target group at weight 0 to %s", countRules(b, len(choice.Extend)))
	return nil
}

// SetWeights writes the weights to every rule, reads them back and emits the shift.
func (b traffic) SetWeights(ctx context.Context, to sluice.Weights) error {
	if err := shiftWith(ctx, b, newRouter(b), to); err != nil {
		return err
	}
	if err := saveVerified(ctx, b); err != nil || !b.step.Plan.WaitsAfterShift() {
		return err
	}
	gains := sluice.Primary
	if to.Canary() > 0 {
		gains = sluice.Canary
	}
	return waitForNodes(ctx, b, func(ctx context.Context) error { return capacity.AwaitServing(ctx, b.step, gains) })
}

// saveVerified saves that the writes of this stage were read back.
func saveVerified(ctx context.Context, b traffic) error {
	return updateFingerprints(ctx, b, func(marks map[string]memory.RuleFingerprint) (news bool) {
		for arn, m := range marks {
			if m.Stage == b.step.Stage.Index && !m.Verified {
				m.Verified, news = true, true
				marks[arn] = m
			}
		}
		return news
	})
}

// RouteAllToPrimary moves all weight to the primary on the rules as they are.
func (b traffic) RouteAllToPrimary(ctx context.Context) error {
	asFound := route.Router{Driver: b.rules, Check: func(ctx context.Context, _ route.Route, _ string) error {
		return step.SaveShiftTime(ctx, b.step)
	}}
	if err := shiftWith(ctx, b, asFound, sluice.CanaryShare(0)); err != nil {
		return err
	}
	b.step.EmitWarning("the exact previous weights are unknown: sluice routes all traffic to the primary")
	return nil
}

func shiftWith(ctx context.Context, b traffic, router route.Router, to sluice.Weights) error {
	done, err := shiftUntilShown(ctx, b, router, to)
	if len(done.Written) > 0 {
		if err := step.SaveShiftTime(ctx, b.step); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	var all []string
	for _, p := range done.Routes {
		all = append(all, p.ID)
	}
	b.step.Host.Emit(sluice.TrafficShifted{FromPrimary: done.From.Primary(), FromCanary: done.From.Canary(),
		ToPrimary: to.Primary(), ToCanary: to.Canary(), Rules: all})
	b.step.EmitNote("Modified %s%s", countRules(b, len(done.Written)), writtenText(done.Written))
	return nil
}

// shiftUntilShown shifts until a read shows the weights. A read that does not show them may be
// older than the write. It reads the rules again if AWS was slow to accept a write: an edit between the read and the
// write is not overwritten.
func shiftUntilShown(ctx context.Context, b traffic, router route.Router, to sluice.Weights) (all route.Shift,
	err error) {
	for shifts, reads := 1, 1; ; {
		done, err := router.Shift(step.WithNotedReads(ctx, b.step.Clock.Now(), reads), b.step.MakeWrite, to)
		if shifts+reads > 2 {
			done.From, done.Written = all.From, append(all.Written, done.Written...)
		}
		all = done
		switch {
		case step.MayRetryRead(reads, err):
			reads++
			continue
		case shifts == step.MaxShiftTries || !errors.Is(err, route.ErrMismatch):
			return all, err
		}
		if err := b.step.PauseFor(ctx, step.ReadLag); err != nil {
			return all, err
		}
		shifts, reads = shifts+1, 1
	}
}

func writtenText(arns []string) string {
	if len(arns) == 0 {
		return ": the weights were set already"
	}
	return ": " + strings.Join(arns, ", ")
}

// RestoreRoutes writes every rule's former actions. Rules that another actor edited are left
// unchanged.
func (b traffic) RestoreRoutes(ctx context.Context) error {
	if len(b.step.Snapshot.Rules) == 0 {
		return nil
	}
	marks, err := loadFingerprints(ctx, b)
	if err != nil {
		return err
	}
	if same, err := areRestored(ctx, b, marks); same || err != nil {
		return err
	}
	live, err := readSnapshotRules(ctx, b)
	if err != nil {
		return err
	}
	var written []alb.Rule
	for _, was := range b.step.Snapshot.Rules {
		wrote, err := restoreRule(ctx, b, was, live, marks[was.ARN])
		if err != nil {
			return err
		}
		if wrote {
			written = append(written, was)
		}
	}
	if len(written) == 0 {
		return nil
	}
	emitRestored(b, live, written)
	b.step.EmitNote("restored %s", countRules(b, len(written)))
	return step.SaveShiftTime(ctx, b.step)
}

// areRestored reports whether the read of this poll shows every rule as it was before and as we wrote it last, and none
// must change for callers: then there is nothing to write.
func areRestored(ctx context.Context, b traffic, marks map[string]memory.RuleFingerprint) (bool, error) {
	live, err := readSharedRules(ctx, b)
	if err != nil || b.step.Plan.Primary == nil {
		return false, err
	}
	for _, was := range b.step.Snapshot.Rules {
		_, differs := b.step.Plan.Callers.Repaired(was.Forward, b.step.Plan.Primary.ARN)
		rule, shown := alb.FindRule(live, was.ARN)
		now := alb.Fingerprint(rule.Actions)
		if differs || !shown || now != alb.Fingerprint(was.Actions) || now != marks[was.ARN].Written {
			return false, nil
		}
	}
	return true, nil
}

// readSnapshotRules reads the rules until a read is newer than our last write to them. Two reads
// must show that a rule of the snapshot was deleted.
func readSnapshotRules(ctx context.Context, b traffic) (live []alb.Rule, err error) {
	err = readPastWrite(ctx, b, func() ([]alb.Rule, bool, error) {
		live, err = b.rules.Rules(ctx)
		return slices.DeleteFunc(slices.Clone(live), func(x alb.Rule) bool { return !isManaged(b, x.ARN) }), false, err
	})
	lacks := slices.ContainsFunc(b.step.Snapshot.Rules, func(was alb.Rule) bool {
		_, shown := alb.FindRule(live, was.ARN)
		return !shown && !b.rules.IsMissing(was.Listener)
	})
	if err != nil || !lacks {
		return live, err
	}
	if err := b.step.AwaitSecondRead(ctx); err != nil {
		return nil, err
	}
	return b.rules.Rules(ctx)
}

// emitRestored emits the weights that the first restored rule has now, and had before.
func emitRestored(b traffic, before, written []alb.Rule) {
	first, _ := alb.FindRule(before, written[0].ARN)
	from, to := b.rules.WeightsOf(first), b.rules.WeightsOf(written[0])
	if !to.Valid() {
		return
	}
	ev := sluice.TrafficShifted{FromPrimary: from.Primary(), FromCanary: from.Canary(), ToPrimary: to.Primary(),
		ToCanary: to.Canary()}
	for _, r := range written {
		ev.Rules = append(ev.Rules, r.ARN)
	}
	b.step.Host.Emit(ev)
}

// restoreRule writes the former actions of one rule if it has the actions that we wrote last.
func restoreRule(ctx context.Context, b traffic, was alb.Rule, live []alb.Rule,
	last memory.RuleFingerprint) (wrote bool, err error) {
	rule, shown := alb.FindRule(live, was.ARN)
	if !shown {
		if !b.rules.IsMissing(was.Listener) {
			step.NoteDeleted(b.step, "listener rule", was.ARN)
		}
		return false, nil
	}
	was = restoredRule(b, servable(b, was), rule)
	now, before := alb.Fingerprint(rule.Actions), alb.Fingerprint(was.Actions)
	switch {
	case now == before && (last.Written == "" || last.Written == now):
		return false, nil
	case now == before: // another actor wrote the former actions over ours
		return false, saveAdoptedShift(ctx, b)
	case !last.IsOwn(now, b.step.Stage.Index, true):
		b.step.EmitWarning("the %s (%s) was edited by another process or person; sluice does not restore it",
			was.Name(), was.ARN)
		return false, saveAdoptedShift(ctx, b)
	}
	return true, writeOver(ctx, b, rule, was)
}

// servable returns a rule of the snapshot with weights that callers can use once the canary is removed: a group that
// had no healthy target before the deployment gets none, and no rule is left without weight. It reports what differs.
func servable(b traffic, was alb.Rule) alb.Rule {
	p := b.step.Plan
	if p.Primary == nil {
		return was
	}
	to, differs := p.Callers.Repaired(was.Forward, p.Primary.ARN)
	if !differs {
		return was
	}
	better := b.rules.WithShares(was, to)
	b.step.EmitWarning("the %s was %s before; it is now %s, because a group without healthy targets serves no caller",
		was.Name(), was.Describe(), better.Describe())
	return better
}

// restoredRule returns what a rollback writes to a rule at first: its former actions. Where nodes
// take minutes to follow, a canary group that was added stays at weight 0: nodes that still use an
// earlier write send requests to it. [traffic.DetachCanary] removes it.
func restoredRule(b traffic, was, live alb.Rule) alb.Rule {
	if b.step.Plan.WaitsAfterShift() && hasCanaryGroup(b, live) && !hasCanaryGroup(b, was) {
		return b.rules.WithWeights(was, sluice.CanaryShare(0))
	}
	return was
}

// hasCanaryGroup reports whether a rule names the canary's group, with any weight.
func hasCanaryGroup(b traffic, rule alb.Rule) bool {
	_, ok := rule.Weight(b.rules.Groups.Canary)
	return ok
}

// DetachCanary removes the canary group from the rules that RestoreRoutes left it in, once it has no
// tasks.
func (b traffic) DetachCanary(ctx context.Context) error {
	if !b.step.Plan.WaitsAfterShift() {
		return nil
	}
	live, err := b.rules.Rules(ctx)
	if err != nil {
		return err
	}
	for _, was := range b.step.Snapshot.Rules {
		now, shown := alb.FindRule(live, was.ARN)
		if !shown || hasCanaryGroup(b, was) ||
			alb.Fingerprint(now.Actions) != alb.Fingerprint(b.rules.WithWeights(was, sluice.CanaryShare(0)).Actions) {
			continue
		}
		if err := b.rules.WriteRule(ctx, b.step.MakeWrite, now, was.Actions); err != nil {
			return err
		}
	}
	return nil
}

// sendsToCanary reports whether a rule gives the canary group weight.
func (b traffic) sendsToCanary(rule alb.Rule) bool {
	w, _ := rule.Weight(b.rules.Groups.Canary)
	return w > 0
}
