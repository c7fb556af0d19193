package stage

import (
	"context"
	"math"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// services hosts the variants as two services with deployment controller ECS. The primary is the
// service itself, which ECS updates. The canary is a second service.
type services struct {
	*Run
	beside ecs.Beside
}

func (r *Run) openServices() services {
	hand := r.hand
	hand.Name = plan.BesideName(r.hand.Name)
	hand.Confirm = nil // usually there is no canary service
	return services{Run: r, beside: ecs.Beside{Service: hand}}
}

func (services) kind() string { return "service" }

func (s services) create(ctx context.Context) (*ecs.Live, error) {
	rev, err := s.revision(ctx)
	if err != nil {
		return nil, err
	}
	id := sluice.NewActionID(s.Deployment, "service", "create")
	if err := s.hand.CreateRolling(ctx, s.act, id, *s.service.Input, rev, s.newClaim()); err != nil {
		return nil, err
	}
	return s.observe(ctx)
}

func (s services) ensureCanary(ctx context.Context, rev ecs.Revision, scale int) (member, error) {
	by, err := s.canaryID(ctx)
	if err != nil {
		return member{}, err
	}
	if err := s.awaitName(ctx); err != nil {
		return member{}, err
	}
	primary, err := s.observe(ctx)
	if err != nil {
		return member{}, err
	}
	count := shareOf(primary.Desired, scale)
	if err := s.counts(ctx, count); err != nil {
		return member{}, err
	}
	template, _ := definition.Beside(s.service, &primary.Raw)
	live, found, err := s.beside.EnsureService(ctx, s.act, ecs.WantedBeside{By: by, Template: template, Revision: rev,
		Count: count, Attach: s.access.attach(sluice.Canary)})
	if err != nil {
		return member{}, err
	}
	if found {
		s.Host.Emit(sluice.Adopted{Action: by, Resource: s.beside.Resource()})
	}
	m := s.canaryOf(live)
	m.Revision = rev.Name
	return m, nil
}

// countForPercent is how many tasks a percentage of the desired count is: at least one, rounded up
// as AWS does for task sets.
func shareOf(desired, percent int) int {
	return max(1, int(math.Ceil(float64(desired*percent)/100-1e-9)))
}

// percentForCount is the percentage that gives a number of tasks. If none does, it is the smallest
// that gives more.
func percentOf(desired, count int) int {
	p := 100 * count / desired
	if shareOf(desired, p) < count {
		p++
	}
	return p
}

// awaitNameFree waits until a canary service that is being deleted is INACTIVE. AWS creates no
// service of that name before.
func (s services) awaitName(ctx context.Context) error {
	return s.awaitGone(ctx, "the former canary service to be gone", func(ctx context.Context) (string, error) {
		if err := s.look(ctx); err != nil {
			return "", err
		}
		live, err := s.beside.Observe(ctx)
		if err != nil || !live.Goes() {
			return "", err
		}
		return live.Status, nil
	})
}

// startPrimary waits for propagation, rolls the service to the revision and follows the deployment.
// ECS stops old tasks without waiting for callers, so no caller may still be routed to a task that
// does not serve.
func (s services) startPrimary(ctx context.Context, live *ecs.Live, rev ecs.Revision) (member, error) {
	if err := s.access.settle(ctx); err != nil {
		return member{}, err
	}
	if err := s.rollTo(ctx, live, rev); err != nil {
		return member{}, err
	}
	live, err := s.observe(ctx)
	if err != nil {
		return member{}, err
	}
	return s.primaryOf(live), nil
}

// retireOldPrimary has no work: a rolling update removes the old tasks.
func (services) retireOld(context.Context, member) error { return nil }

func (services) kept(context.Context) ([]member, error) { return nil, nil }

// listOthers is the canary service, whichever deployment of sluice created it.
func (s services) others(ctx context.Context, _ member) ([]member, error) {
	live, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	return s.left(ctx, live, "")
}

func (s services) standing(ctx context.Context, v sluice.Variant) (*member, error) {
	live, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	return s.among(ctx, live, v)
}

func (s services) among(ctx context.Context, live *ecs.Live, v sluice.Variant) (_ *member, err error) {
	m := s.primaryOf(live)
	if v == sluice.Canary {
		if live, err = s.beside.Observe(ctx); err != nil || !live.Stands() && !live.Goes() || live.Maker() == "" {
			return nil, err
		}
		m = s.canaryOf(live)
	}
	return &m, nil
}

// primaryMember is the service itself, canaryMember the canary service. Each is alone in its target
// group.
func (s services) primaryOf(live *ecs.Live) member {
	set, _ := live.AsSet()
	return member{TaskSet: set, variant: sluice.Primary, label: "service " + s.hand.Name, of: s.hand, alone: true}
}

func (s services) canaryOf(live *ecs.Live) member {
	set, _ := live.AsSet()
	return member{TaskSet: set, variant: sluice.Canary, label: "canary service", of: s.beside.Service, alone: true}
}

// refreshMember reads a member. Until AWS shows the revision that the canary was just updated to,
// the result has no running task: the answer may be older than the write.
func (s services) again(ctx context.Context, m member) (*member, error) {
	primary, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	if m.variant == sluice.Primary {
		now := s.primaryOf(primary)
		return &now, nil
	}
	live, err := s.beside.Observe(ctx)
	if err != nil || live == nil || live.Status == "INACTIVE" {
		return nil, err
	}
	now := s.canaryOf(live)
	if now.Revision != m.Revision && now.Desired > 0 {
		now.Running, now.Pending, now.Steady = 0, now.Desired, false
	}
	return &now, nil
}

func (s services) tasks(ctx context.Context, v sluice.Variant) ([]ecs.Task, error) {
	if v == sluice.Primary {
		return s.hand.Tasks(ctx)
	}
	all, err := s.beside.Tasks(ctx)
	if sluice.KindOf(err) == sluice.NotFound {
		return nil, nil // there is no canary service
	}
	return all, err
}

func (s services) everyTask(ctx context.Context) (map[sluice.Variant][]ecs.Task, error) {
	all := map[sluice.Variant][]ecs.Task{}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		tasks, err := s.tasks(ctx, v)
		if err != nil {
			return nil, err
		}
		all[v] = tasks
	}
	return all, nil
}

func (s services) zero(ctx context.Context, m member) error {
	if m.Desired == 0 {
		return nil
	}
	return s.beside.Count(ctx, s.act, 0)
}

func (s services) remove(ctx context.Context, m member) error {
	return s.beside.Remove(ctx, s.act, sluice.ActionID(m.ExternalID))
}

func (services) revive(context.Context, member) (bool, error) { return false, nil }

// listLeftovers is the canary service: sluice creates nothing else for a rolling service.
func (s services) left(ctx context.Context, live *ecs.Live, _ string) ([]member, error) {
	canary, err := s.among(ctx, live, sluice.Canary)
	if err != nil || canary == nil {
		return nil, err
	}
	return []member{*canary}, nil
}
