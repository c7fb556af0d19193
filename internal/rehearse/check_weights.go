package rehearse

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// ruleChecks checks the listener rules: their weights at each change, and their actions at the end.
type ruleChecks struct {
	env     *Environment
	report  *Report
	scaling *ScalingChecks
	seconds *SecondSluices
	writes  *WriteChecks

	initialActions map[string][]world.Action // of the rules that forward to the two groups
	weights        map[string][2]int32       // of those rules, after the last change
	editedBefore   map[string][2]int32       // by another actor before the first write
	editedWeights  map[string][2]int32       // by another actor since the first write
	edits          map[string][][2]int32     // all of these: an adopted one is restored
	editedAt       time.Time                 // time of the last such edit
	canaryReadyAt  time.Time                 // since when the canary's group has a healthy target; zero: it has none
	ruleDriftAt    time.Time                 // when another actor set a rule to weights that it never had
	rollsBack      bool                      // the rollback has begun
}

func newRuleChecks(env *Environment, report *Report) *ruleChecks {
	return &ruleChecks{env: env, report: report, initialActions: map[string][]world.Action{},
		weights: map[string][2]int32{}, editedBefore: map[string][2]int32{}, editedWeights: map[string][2]int32{},
		edits: map[string][][2]int32{}}
}

// maxUnseenEdit is how long a write in progress may miss an edit, or a target that became healthy: AWS has no
// compare-and-set for rules. Sluice writes within ten seconds after its read.
const maxUnseenEdit = 12 * time.Second

// checkWeights checks that a growing share is on a group that can serve it, and that the shares add
// up to the whole (P4).
func (c *ruleChecks) checkWeights(tx *world.Tx, r *world.Rule) {
	was, ours := c.weights[r.ARN]
	if !ours {
		return
	}
	now := c.env.weightsOf(r)
	c.weights[r.ARN] = now
	if c.env.externalActs {
		if c.writes.hasWritten {
			c.editedWeights[r.ARN], c.editedAt = now, c.env.Clock.Now()
			c.edits[r.ARN] = append(c.edits[r.ARN], now)
			c.recordRuleDrift(r, now)
		} else {
			c.editedBefore[r.ARN] = now
		}
	} else if now != was && c.editedWeights[r.ARN] == was && was[0]+was[1] == 1000 && c.env.Case.OutsidePolicy == "" &&
		c.hasReadyCanary() && c.env.Clock.Now().Sub(c.editedAt) > maxUnseenEdit {
		c.report.AddViolation("P7", "weights %d and %d of %s, an external change, were overwritten with %d and %d",
			was[0], was[1], r.Name(), now[0], now[1])
	}
	if c.env.externalActs || c.seconds.Exist() {
		return
	}
	if first := stickySeconds(c.initialActions[r.ARN]); stickySeconds(r.Actions) != first &&
		!c.env.Case.HasIntervention(EditRule) {
		c.report.AddViolation("P3", "rule %s had a stickiness of %d s, and has %d s while its weights move", r.Name(),
			first,
			stickySeconds(r.Actions))
	}
	if now == was {
		return
	}
	c.scaling.checkSuspended(tx)
	if now == [2]int32{} && r.ForwardAction() != nil {
		c.report.AddViolation("P4", "weights %d and %d of %s were set to 0 and 0", was[0], was[1], r.Name())
	}
	if sum := now[0] + now[1]; sum != 100 && !c.isInitialSum(r, sum) && !slices.Contains(c.edits[r.ARN], now) {
		c.report.AddViolation("P4", "weights %d and %d of %s do not add up to 100 or to the sum before", now[0], now[1],
			r.Name())
	}
	for i, g := range []shape.Group{c.env.Case.World.Primary, c.env.Case.World.Canary} {
		if now[i] > was[i] || now[i] > 0 && was[i] == 0 {
			c.checkReady(tx, g, now[i])
		}
	}
}

// noteTarget stores since when the canary's group has a healthy target.
func (c *ruleChecks) noteTarget(tx *world.Tx) {
	if !c.env.hasHealthyTarget(tx, c.env.Case.World.Canary) {
		c.canaryReadyAt = time.Time{}
	} else if c.canaryReadyAt.IsZero() {
		c.canaryReadyAt = c.env.Clock.Now()
	}
}

// hasReadyCanary reports whether the canary's group has had a healthy target for so long that no read shows it empty.
func (c *ruleChecks) hasReadyCanary() bool {
	return !c.canaryReadyAt.IsZero() && c.env.Clock.Now().Sub(c.canaryReadyAt) > maxUnseenEdit
}

// isSumOf reports whether the weights keep the sum before. One group cannot have more than 999 of it.
func isSumOf(sum, before int32) bool { return sum == before || before > 999 && sum == 999 }

// isInitialSum reports whether weights add up to those of a rule before the first write: at the start, or as another
// actor set them since then. Sluice may have read either.
func (c *ruleChecks) isInitialSum(r *world.Rule, sum int32) bool {
	first := c.env.weightsOf(&world.Rule{Actions: c.initialActions[r.ARN]})
	edited, ok := c.editedBefore[r.ARN]
	return isSumOf(sum, first[0]+first[1]) || ok && isSumOf(sum, edited[0]+edited[1])
}

// checkReady checks that the group has a healthy target for each task that its task set should
// have. If the world itself has faults, one is enough.
func (c *ruleChecks) checkReady(tx *world.Tx, g shape.Group, weight int32) {
	group, ok := tx.TargetGroups.Get(g.ARN)
	switch {
	case !ok && c.env.Case.World.AlternatesGroups() && c.env.Case.HasIntervention(EditRuleGroup):
		return // ECS or CodeDeploy gave it the weight
	case !ok:
		c.report.AddViolation("P4", "weight %d on %s, which was deleted", weight, g.Name())
		return
	}
	healthy := group.Count("healthy")
	if c.env.Case.MayLoseRequests() {
		return
	}
	if healthy == 0 {
		c.report.AddViolation("P4", "weight %d on %s, which has no healthy target", weight, g.Name())
		return
	}
	if c.env.Case.IsUnsteady() {
		return
	}
	want := 0
	for _, ts := range c.env.TaskSets(tx) {
		if ts.Status != "DRAINING" &&
			slices.ContainsFunc(ts.Attached, func(a world.Attachment) bool { return a.TargetGroup == g.ARN }) &&
			ts.Computed > want {
			want = ts.Computed
		}
	}
	if healthy < want {
		c.report.AddViolation("P4", "weight %d on %s, which has %d healthy targets of %d", weight, g.Name(), healthy,
			want)
	}
}

// checkRules checks that every rule is as before. After a success its weights may differ if they
// still send everything to the primary.
func (c *ruleChecks) checkRules(tx *world.Tx, fresh bool) {
	for arn, was := range c.initialActions {
		r, ok := tx.Rules.Get(arn)
		if !ok {
			if c.env.Case.HasIntervention(EditRuleDelete) || c.env.Case.HasIntervention(EditRuleListener) {
				continue
			}
			c.report.AddViolation("P3", "rule %s was deleted", arn)
			continue
		}
		now := c.env.weightsOf(r)
		switch {
		case c.env.Case.HasIntervention(EditRule):
		// the two groups alternate, or the files exchange them; another check covers that all tasks serve
		case (c.env.Case.World.AlternatesGroups() || fresh && c.env.Case.Exchanged) &&
			(now == [2]int32{100, 0} || now == [2]int32{0, 100}):
		case fresh && now[1] == 0 && now[0] > 0 && stickySeconds(was) == stickySeconds(r.Actions) &&
			(len(was[0].Forward.Groups) == len(r.Actions[0].Forward.Groups) || c.env.Case.LeavesCanary()):
		case !fresh && world.ActionsText(was) == world.ActionsText(r.Actions) &&
			stickySeconds(was) == stickySeconds(r.Actions):
		default:
			c.report.AddViolation("P3", "rule %s is %s (sticky %d); it was %s (sticky %d)", r.Name(),
				world.ActionsText(r.Actions), stickySeconds(r.Actions), world.ActionsText(was), stickySeconds(was))
		}
	}
}

func stickySeconds(actions []world.Action) int32 {
	for _, a := range actions {
		if a.Forward != nil && a.Forward.Sticky {
			return a.Forward.StickySeconds
		}
	}
	return 0
}

// restoreRules restores the initial actions of every rule and what was deleted, as a stopped rollback advises. A rule that
// ECS or CodeDeploy shifted to a group that can serve stays. One whose initial group is empty gets the other one, if that
// can serve.
func (c *ruleChecks) restoreRules() {
	c.env.ActOutside(func(tx *world.Tx) {
		for _, r := range c.env.Routes {
			c.env.restoreDeleted(tx, r)
			if c.env.Case.World.AlternatesGroups() && c.env.isRoute(tx, r) && c.env.canServe(tx, r) {
				continue
			}
			if was, ok := c.initialActions[r.ARN]; ok && world.ActionsText(was) != world.ActionsText(r.Actions) {
				tx.SetActions(r, was)
			}
			if was := r.Actions; c.env.Case.World.AlternatesGroups() && !c.env.canServe(tx, r) {
				if tx.SetActions(r, exchangeWeights(was)); !c.env.canServe(tx, r) {
					tx.SetActions(r, was)
				}
			}
		}
	})
}

// exchangeWeights returns the actions with the weights of the two groups exchanged.
func exchangeWeights(actions []world.Action) []world.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if a.Forward == nil || len(a.Forward.Groups) != 2 {
			continue
		}
		forward := *a.Forward
		forward.Groups = slices.Clone(forward.Groups)
		g := forward.Groups
		g[0].Weight, g[1].Weight = g[1].Weight, g[0].Weight
		out[i].Forward = &forward
	}
	return out
}
