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

// prints are the fingerprints of each rule that are ours: as it was before the
// deployment, and as we have written it since. Any other means that somebody
// else edited the rule.
func (r *Run) prints(ctx context.Context) (map[string][]string, error) {
	prints, ok, err := saved[map[string][]string](ctx, r.Host, keyPrints)
	if err != nil || ok {
		return prints, err
	}
	prints = map[string][]string{}
	for _, rule := range r.former.Rules {
		prints[rule.ARN] = []string{alb.Print(rule.Actions)}
	}
	return prints, nil
}

// intend saves that a rule is about to become ours in another shape, after
// seeing that nobody else changed it.
func (r *Run) intend(ctx context.Context, arn, name, live, next string) error {
	prints, err := r.prints(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(prints[arn], live) {
		return r.edited(arn, name)
	}
	if !slices.Contains(prints[arn], next) {
		prints[arn] = append(prints[arn], next)
	}
	if err := save(ctx, r.Host, keyPrints, prints); err != nil {
		return err
	}
	return r.shifting(ctx)
}

// shifting saves when weights were written last. It is saved before the write
// too: killed right after it, nobody would know that the nodes may lag.
func (r *Run) shifting(ctx context.Context) error {
	return save(ctx, r.Host, keyShifted, r.Clock.Now())
}

func (r *Run) edited(arn, name string) error {
	return &sluice.Error{Op: "write the " + name, Resource: arn, Kind: sluice.OutsideChange,
		Err:  errors.New("somebody else edited it since the deployment began; it is not overwritten"),
		Next: "look at it: aws elbv2 describe-rules --rule-arns " + arn + "; put it back, then run sluice resume or sluice rollback"}
}

func (r *Run) router() route.Router {
	return route.Router{Driver: r.rules, Check: func(ctx context.Context, p route.Path, intent string) error {
		return r.intend(ctx, p.ID, p.Name, p.Print, intent)
	}}
}

// extend puts the canary group at weight 0 beside the primary on the rules that
// hold the primary alone: AWS refuses a task set whose group hangs on no
// listener, and checks the health of groups at weight 0 too.
func (r *Run) extend(ctx context.Context) error {
	choice, err := r.rules.Choose(ctx)
	if err != nil || len(choice.Extend) == 0 {
		return err
	}
	for _, rule := range choice.Extend {
		actions := r.rules.Extended(rule)
		if err := r.intend(ctx, rule.ARN, rule.Name(), alb.Print(rule.Actions), alb.Print(actions)); err != nil {
			return err
		}
		if err := r.rules.Write(ctx, r.act, rule, actions); err != nil {
			return err
		}
	}
	r.note("added the canary target group at weight 0 to %s", sluice.Plural(len(choice.Extend), "listener rule"))
	return nil
}

// shift brings every rule to the weights, reads them back and tells.
func (r *Run) shift(ctx context.Context, to sluice.Weights) error {
	return r.shiftBy(ctx, r.router(), to)
}

func (r *Run) shiftBy(ctx context.Context, router route.Router, to sluice.Weights) error {
	done, err := router.Shift(ctx, r.act, to)
	if len(done.Written) > 0 {
		if err := r.shifting(ctx); err != nil {
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
	r.Host.Emit(sluice.TrafficShifted{FromPrimary: done.From.Primary(), FromCanary: done.From.Canary(),
		ToPrimary: to.Primary(), ToCanary: to.Canary(), Rules: all})
	r.note("Modified %s%s", sluice.Plural(len(done.Written), "listener rule"), listed(done.Written))
	return nil
}

func listed(arns []string) string {
	if len(arns) == 0 {
		return ": the weights were so already"
	}
	return ": " + strings.Join(arns, ", ")
}

// restoreRules gives every rule its former actions back. Rules that somebody
// else edited are left and returned.
func (r *Run) restoreRules(ctx context.Context) (edited []alb.Rule, err error) {
	if len(r.former.Rules) == 0 {
		return nil, nil
	}
	prints, err := r.prints(ctx)
	if err != nil {
		return nil, err
	}
	live, err := r.rules.Rules(ctx)
	if err != nil {
		return nil, err
	}
	written := 0
	for _, was := range r.former.Rules {
		i := slices.IndexFunc(live, func(x alb.Rule) bool { return x.ARN == was.ARN })
		if i < 0 {
			r.warn("the %s is gone: somebody else deleted it", was.Name())
			continue
		}
		now, before := alb.Print(live[i].Actions), alb.Print(was.Actions)
		switch {
		case now == before:
		case !slices.Contains(prints[was.ARN], now):
			r.warn("the %s (%s) was edited by somebody else and is left as it is", was.Name(), was.ARN)
			edited = append(edited, live[i])
		default:
			if err := r.shifting(ctx); err != nil {
				return edited, err
			}
			if err := r.rules.Write(ctx, r.act, live[i], was.Actions); err != nil {
				return edited, err
			}
			written++
		}
	}
	if written == 0 {
		return edited, nil
	}
	r.note("restored %s", sluice.Plural(written, "listener rule"))
	return edited, r.shifting(ctx)
}

// sendsToCanary reports whether a rule gives the canary group weight.
func (r *Run) sendsToCanary(rule alb.Rule) bool {
	if r.Plan.Canary == nil {
		return false
	}
	w, _ := rule.Weight(r.Plan.Canary.ARN)
	return w > 0
}
