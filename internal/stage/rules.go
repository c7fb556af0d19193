package stage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// ruleFingerprint is our fingerprint of a rule: of the actions written last, and of those before
// that until the write is known to have taken effect. Any other fingerprint means that another
// actor edited the rule.
type mark struct {
	Is    string `json:"is"`
	Was   string `json:"was,omitempty"`
	Stage int    `json:"stage"`           // index of the stage that wrote it
	Known bool   `json:"known,omitempty"` // it was read back: the fingerprint before is no longer ours
	// Unanswered are the shapes of calls without a response, because a process was killed in the
	// call. AWS may still carry out such a call after later ones.
	Late []string `json:"late,omitempty"`
}

// isOwn reports whether a fingerprint is ours as seen from a stage. A finished stage has read back
// what it wrote. With back, for a rollback, the fingerprint of a stale read is ours too.
func (m mark) ours(print string, stage int, back bool) bool {
	return print == m.Is || print == m.Was && (back || stage == m.Stage && !m.Known) || slices.Contains(m.Late, print)
}

// withPending is the fingerprint once another shape is about to be written.
func (m mark) then(live, next string, stage int) mark {
	if next != m.Is || stage != m.Stage {
		return mark{Is: next, Was: live, Stage: stage, Late: m.Late}
	}
	if !slices.Contains(m.Late, next) {
		m.Late = append(slices.Clone(m.Late), next)
	}
	m.Known = false
	return m
}

func (b balanced) marks(ctx context.Context) (map[string]mark, error) {
	marks, ok, err := saved[map[string]mark](ctx, b.Host, keyPrints)
	if err != nil || ok {
		return marks, err
	}
	marks = map[string]mark{}
	for _, rule := range b.former.Rules {
		marks[rule.ARN] = mark{Is: alb.Print(rule.Actions), Stage: -1}
	}
	return marks, nil
}

// saveIntended checks that no other actor changed a rule, and saves the actions that are about to
// be written to it.
func (b balanced) intend(ctx context.Context, arn, name, live, next string) error {
	marks, err := b.marks(ctx)
	if err != nil {
		return err
	}
	if !marks[arn].ours(live, b.Stage.Index, false) {
		if err := b.ruleEdited(ctx, arn, name); err != nil {
			return err
		}
		if marks, err = b.marks(ctx); err != nil {
			return err
		}
	}
	marks[arn] = marks[arn].then(live, next, b.Stage.Index)
	if err := save(ctx, b.Host, keyPrints, marks); err != nil {
		return err
	}
	return b.shifting(ctx)
}

// saveShiftTime saves when weights were written last. It is called before the write too: if the
// process is killed right after the write, the next one must know that load balancer nodes may lag.
func (b balanced) shifting(ctx context.Context) error {
	return save(ctx, b.Host, keyShifted, b.Clock.Now())
}

func (b balanced) edited(arn, name string) error {
	return &sluice.Error{Op: "write the " + name, Resource: arn, Kind: sluice.OutsideChange,
		Err:  errors.New("somebody else edited it since the deployment began; it is not overwritten"),
		Next: "look at it: aws elbv2 describe-rules --rule-arns " + arn + "; put it back, then run sluice resume or sluice rollback"}
}

func (b balanced) router() route.Router {
	return route.Router{Driver: b.rules, Check: func(ctx context.Context, p route.Path, intent string) error {
		return b.intend(ctx, p.ID, p.Name, p.Print, intent)
	}}
}

// prepareCanaryRoute adds the canary group at weight 0 to the rules that forward to the primary
// group only. AWS refuses a task set whose group has no listener. It checks the health of groups at
// weight 0 too.
func (b balanced) ready(ctx context.Context) error {
	choice, err := b.rules.Choose(ctx)
	if err != nil || len(choice.Extend) == 0 {
		return err
	}
	for _, rule := range choice.Extend {
		actions := b.rules.Extended(rule)
		if err := b.intend(ctx, rule.ARN, rule.Name(), alb.Print(rule.Actions), alb.Print(actions)); err != nil {
			return err
		}
		if err := b.rules.Write(ctx, b.act, rule, actions); err != nil {
			return err
		}
	}
	b.note("added the canary target group at weight 0 to %s", sluice.Plural(len(choice.Extend), "listener rule"))
	return nil
}

// setWeights writes the weights to every rule, reads them back and emits the shift.
func (b balanced) shift(ctx context.Context, to sluice.Weights) error {
	if err := b.shiftBy(ctx, b.router(), to); err != nil {
		return err
	}
	return b.known(ctx)
}

// saveVerified saves that the writes of this stage were read back.
func (b balanced) known(ctx context.Context) error {
	marks, err := b.marks(ctx)
	if err != nil {
		return err
	}
	news := false
	for arn, m := range marks {
		if m.Stage == b.Stage.Index && !m.Known {
			m.Known, news = true, true
			marks[arn] = m
		}
	}
	if !news {
		return nil
	}
	return save(ctx, b.Host, keyPrints, marks)
}

// routeAllToPrimary moves all weight to the primary on the rules as they are.
func (b balanced) seize(ctx context.Context) error {
	asFound := route.Router{Driver: b.rules, Check: func(ctx context.Context, _ route.Path, _ string) error { return b.shifting(ctx) }}
	if err := b.shiftBy(ctx, asFound, sluice.CanaryShare(0)); err != nil {
		return err
	}
	b.warn("exact former weights are unknown: everything goes to the primary now")
	return nil
}

func (b balanced) shiftBy(ctx context.Context, router route.Router, to sluice.Weights) error {
	done, err := b.shiftShown(ctx, router, to)
	if len(done.Written) > 0 {
		if err := b.shifting(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	var all []string
	for _, p := range done.Paths {
		all = append(all, p.ID)
	}
	b.Host.Emit(sluice.TrafficShifted{FromPrimary: done.From.Primary(), FromCanary: done.From.Canary(),
		ToPrimary: to.Primary(), ToCanary: to.Canary(), Rules: all})
	b.note("Modified %s%s", sluice.Plural(len(done.Written), "listener rule"), listed(done.Written))
	return nil
}

// shiftUntilShown shifts until a read shows the weights. A read that does not show them may be
// older than the write.
func (b balanced) shiftShown(ctx context.Context, router route.Router, to sluice.Weights) (route.Shift, error) {
	var all route.Shift
	for n := 1; ; n++ {
		done, err := b.shiftLately(ctx, router, to)
		if n > 1 {
			done.From, done.Written = all.From, append(all.Written, done.Written...)
		}
		if all = done; n == moves || !errors.Is(err, route.ErrOtherwise) {
			return all, err
		}
		if err := b.pause(ctx, lag); err != nil {
			return all, err
		}
	}
}

// shiftAfterRead shifts, and reads the rules again if AWS was slow to accept a write. An edit
// between the read and the write is not overwritten.
func (b balanced) shiftLately(ctx context.Context, router route.Router, to sluice.Weights) (route.Shift, error) {
	var all route.Shift
	for n := 1; ; n++ {
		done, err := router.Shift(relyingOnReads(ctx, b.Clock.Now(), n), b.act, to)
		if n > 1 {
			done.From, done.Written = all.From, append(all.Written, done.Written...)
		}
		if all = done; !retake(n, err) {
			return all, err
		}
	}
}

func listed(arns []string) string {
	if len(arns) == 0 {
		return ": the weights were so already"
	}
	return ": " + strings.Join(arns, ", ")
}

// restoreRoutes writes every rule's former actions. Rules that another actor edited are left
// unchanged.
func (b balanced) restore(ctx context.Context) error {
	if len(b.former.Rules) == 0 {
		return nil
	}
	marks, err := b.marks(ctx)
	if err != nil {
		return err
	}
	live, err := b.readFormer(ctx)
	if err != nil {
		return err
	}
	var written []alb.Rule
	for _, was := range b.former.Rules {
		wrote, err := b.restoreRule(ctx, was, live, marks[was.ARN])
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
	b.emitRestored(live, written)
	b.note("restored %s", sluice.Plural(len(written), "listener rule"))
	return b.shifting(ctx)
}

// readSnapshotRules reads the rules until a read is newer than our last write to them. Two reads
// must show that a rule of the snapshot was deleted.
func (b balanced) readFormer(ctx context.Context) (live []alb.Rule, err error) {
	for newer := false; !newer; {
		sent := b.Clock.Now()
		if live, err = b.rules.Rules(ctx); err != nil {
			return nil, err
		}
		ours := slices.DeleteFunc(slices.Clone(live), func(x alb.Rule) bool {
			return !slices.ContainsFunc(b.former.Rules, func(was alb.Rule) bool { return was.ARN == x.ARN })
		})
		if newer, err = b.isNewer(ctx, alb.Choice{Steered: ours}, sent); err != nil {
			return nil, err
		}
		if newer {
			break
		}
		if err := b.pause(ctx, claimSettle); err != nil {
			return nil, err
		}
	}
	lacks := slices.ContainsFunc(b.former.Rules, func(was alb.Rule) bool {
		return !b.rules.Lacks(was.Listener) && !slices.ContainsFunc(live, func(x alb.Rule) bool { return x.ARN == was.ARN })
	})
	if err != nil || !lacks {
		return live, err
	}
	if err := b.secondLook(ctx); err != nil {
		return nil, err
	}
	return b.rules.Rules(ctx)
}

// emitRestored emits the weights that the first restored rule has now, and had before.
func (b balanced) emitRestored(before, written []alb.Rule) {
	ev := sluice.TrafficShifted{}
	for _, r := range written {
		ev.Rules = append(ev.Rules, r.ARN)
	}
	to := b.sharesOf(written[0])
	if ev.ToPrimary, ev.ToCanary = to.Primary(), to.Canary(); !to.Valid() {
		return
	}
	if i := slices.IndexFunc(before, func(x alb.Rule) bool { return x.ARN == written[0].ARN }); i >= 0 {
		from := b.sharesOf(before[i])
		ev.FromPrimary, ev.FromCanary = from.Primary(), from.Canary()
	}
	b.Host.Emit(ev)
}

// sharesOf is how a rule splits requests between the two groups. It is not valid if the split is no
// whole percentage.
func (b balanced) sharesOf(rule alb.Rule) sluice.Weights {
	if b.Plan.Primary == nil {
		return sluice.Weights{}
	}
	primary, _ := rule.Weight(b.Plan.Primary.ARN)
	canary := 0
	if b.Plan.Canary != nil {
		canary, _ = rule.Weight(b.Plan.Canary.ARN)
	}
	if sum := primary + canary; sum > 0 && canary*100%sum == 0 {
		return sluice.CanaryShare(canary * 100 / sum)
	}
	return sluice.Weights{}
}

// restoreRule writes the former actions of one rule if it has the actions that we wrote last.
func (b balanced) restoreRule(ctx context.Context, was alb.Rule, live []alb.Rule, last mark) (wrote bool, err error) {
	i := slices.IndexFunc(live, func(x alb.Rule) bool { return x.ARN == was.ARN })
	if i < 0 {
		if !b.rules.Lacks(was.Listener) {
			b.lacks("listener rule", was.ARN)
		}
		return false, nil
	}
	now, before := alb.Print(live[i].Actions), alb.Print(was.Actions)
	switch {
	case now == before:
		return false, nil
	case !last.ours(now, b.Stage.Index, true):
		b.warn("the %s (%s) was edited by somebody else and is left as it is", was.Name(), was.ARN)
		return false, nil
	}
	if err := b.shifting(ctx); err != nil {
		return false, err
	}
	return true, b.rules.Write(ctx, b.act, live[i], was.Actions)
}

// sendsToCanary reports whether a rule gives the canary group weight.
func (b balanced) sendsToCanary(rule alb.Rule) bool {
	if b.Plan.Canary == nil {
		return false
	}
	w, _ := rule.Weight(b.Plan.Canary.ARN)
	return w > 0
}
