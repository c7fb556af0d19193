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
	canary ecs.CanaryService
}

func (r *Run) newServices() services {
	hand := r.client
	hand.Name = plan.CanaryServiceName(r.client.Name)
	hand.Confirm = nil // usually there is no canary service
	return services{Run: r, canary: ecs.CanaryService{Service: hand}}
}

func (services) kindName() string { return "service" }

func (s services) createService(ctx context.Context) (*ecs.ServiceState, error) {
	rev, err := s.ensureRevision(ctx)
	if err != nil {
		return nil, err
	}
	id := sluice.NewActionID(s.Deployment, "service", "create")
	if err := s.client.CreateRolling(ctx, s.makeWrite, id, *s.service.Input, rev, s.newClaimTags()); err != nil {
		return nil, err
	}
	return s.observeService(ctx)
}

func (s services) ensureCanary(ctx context.Context, rev ecs.Revision, scale int) (member, error) {
	by, err := s.canaryID(ctx)
	if err != nil {
		return member{}, err
	}
	if err := s.awaitNameFree(ctx); err != nil {
		return member{}, err
	}
	primary, err := s.observeService(ctx)
	if err != nil {
		return member{}, err
	}
	count := countForPercent(primary.Desired, scale)
	if err := s.saveCanaryCount(ctx, count); err != nil {
		return member{}, err
	}
	template, _ := definition.NewCanaryService(s.service, &primary.Raw)
	live, found, err := s.canary.EnsureService(ctx, s.makeWrite, ecs.CanarySpec{By: by, Template: template,
		Revision: rev,
		Count:    count, Attach: s.traffic.attachmentOf(sluice.Canary)})
	if err != nil {
		return member{}, err
	}
	if found {
		s.Host.Emit(sluice.Adopted{Action: by, Resource: s.canary.Resource()})
	}
	m := s.canaryMember(live)
	m.Revision = rev.Name
	return m, nil
}

// countForPercent is how many tasks a percentage of the desired count is: at least one, rounded up
// as AWS does for task sets.
func countForPercent(desired, percent int) int {
	return max(1, int(math.Ceil(float64(desired*percent)/100-1e-9)))
}

// percentForCount is the percentage that gives a number of tasks. If none does, it is the smallest
// that gives more.
func percentForCount(desired, count int) int {
	p := 100 * count / desired
	if countForPercent(desired, p) < count {
		p++
	}
	return p
}

// awaitNameFree waits until a canary service that is being deleted is INACTIVE. AWS creates no
// service of that name before.
func (s services) awaitNameFree(ctx context.Context) error {
	return s.pollUntilDone(ctx, "the previous canary service to be deleted", func(ctx context.Context) (string, error) {
		if err := s.checkInterrupt(ctx); err != nil {
			return "", err
		}
		live, err := s.canary.Observe(ctx)
		if err != nil || !live.IsDraining() {
			return "", err
		}
		return live.Status, nil
	})
}

// startPrimary waits for propagation, rolls the service to the revision and follows the deployment.
// ECS stops old tasks without waiting for callers, so no caller may still be routed to a task that
// does not serve.
func (s services) startPrimary(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (member, error) {
	if err := s.traffic.waitForPropagation(ctx); err != nil {
		return member{}, err
	}
	if err := s.rollToRevision(ctx, live, rev); err != nil {
		return member{}, err
	}
	live, err := s.observeService(ctx)
	if err != nil {
		return member{}, err
	}
	return s.primaryMember(live), nil
}

// retireOldPrimary has no work: a rolling update removes the old tasks.
func (services) retireOldPrimary(context.Context, member) error { return nil }

func (services) listKept(context.Context) ([]member, error) { return nil, nil }

// listOthers is the canary service, whichever deployment of sluice created it.
func (s services) listOthers(ctx context.Context, _ member) ([]member, error) {
	live, err := s.observeService(ctx)
	if err != nil {
		return nil, err
	}
	return s.listLeftovers(ctx, live, "")
}

func (s services) findVariant(ctx context.Context, v sluice.Variant) (*member, error) {
	live, err := s.observeShared(ctx)
	if err != nil {
		return nil, err
	}
	return s.findVariantIn(ctx, live, v)
}

func (s services) findVariantIn(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (_ *member, err error) {
	m := s.primaryMember(live)
	if v == sluice.Canary {
		if live, err = s.observeCanary(ctx); err != nil || !live.IsActive() && !live.IsDraining() ||
			live.CreatedBy() == "" {
			return nil, err
		}
		m = s.canaryMember(live)
	}
	return &m, nil
}

// observeCanary reads the canary service, once per poll.
func (s services) observeCanary(ctx context.Context) (*ecs.ServiceState, error) {
	return readShared(s.Run, "canary service", func() (*ecs.ServiceState, error) { return s.canary.Observe(ctx) })
}

// primaryMember is the service itself, canaryMember the canary service. Each is alone in its target
// group.
func (s services) primaryMember(live *ecs.ServiceState) member {
	set, _ := live.AsTaskSet()
	return member{TaskSet: set, variant: sluice.Primary, label: "service " + s.client.Name, service: s.client,
		hasOwnGroup: true, live: live, events: live.Events()}
}

func (s services) canaryMember(live *ecs.ServiceState) member {
	set, _ := live.AsTaskSet()
	return member{TaskSet: set, variant: sluice.Canary, label: "canary service", service: s.canary.Service,
		hasOwnGroup: true, live: live, events: live.Events()}
}

// refreshMember reads a member. Until AWS shows the revision that the canary was just updated to,
// the result has no running task: the answer may be older than the write.
func (s services) refreshMember(ctx context.Context, m member) (*member, error) {
	primary, err := s.observeShared(ctx)
	if err != nil {
		return nil, err
	}
	if m.variant == sluice.Primary {
		now := s.primaryMember(primary)
		return &now, nil
	}
	live, err := s.observeCanary(ctx)
	if err != nil || live == nil || live.Status == "INACTIVE" {
		return nil, err
	}
	now := s.canaryMember(live)
	if now.Revision != m.Revision && now.Desired > 0 {
		now.Running, now.Pending, now.Steady = 0, now.Desired, false
	}
	return &now, nil
}

func (s services) listTasks(ctx context.Context, v sluice.Variant) ([]ecs.Task, error) {
	if v == sluice.Primary {
		return s.client.Tasks(ctx)
	}
	all, err := s.canary.Tasks(ctx)
	if sluice.KindOf(err) == sluice.NotFound {
		return nil, nil // there is no canary service
	}
	return all, err
}

func (s services) listAllTasks(ctx context.Context) (map[sluice.Variant][]ecs.Task, error) {
	all := map[sluice.Variant][]ecs.Task{}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		tasks, err := s.listTasks(ctx, v)
		if err != nil {
			return nil, err
		}
		all[v] = tasks
	}
	return all, nil
}

func (s services) scaleToZero(ctx context.Context, m member) error {
	if m.Desired == 0 {
		return nil
	}
	return s.canary.SetCount(ctx, s.makeWrite, 0)
}

func (s services) deleteMember(ctx context.Context, m member) error {
	return s.canary.Remove(ctx, s.makeWrite, sluice.ActionID(m.ExternalID))
}

func (services) restoreCapacity(context.Context, member) (bool, error) { return false, nil }

// listLeftovers is the canary service: sluice creates nothing else for a rolling service.
func (s services) listLeftovers(ctx context.Context, live *ecs.ServiceState, _ string) ([]member, error) {
	canary, err := s.findVariantIn(ctx, live, sluice.Canary)
	if err != nil || canary == nil {
		return nil, err
	}
	return []member{*canary}, nil
}
