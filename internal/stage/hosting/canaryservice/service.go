package canaryservice

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// services hosts the variants as two services with deployment controller ECS. The primary is the
// service itself, which ECS updates. The canary is a second service.
type services struct {
	step   *step.Step
	canary ecs.CanaryService
}

var _ step.StandingCanary = services{}

// New returns the hosting of a step. It makes no call to AWS.
func New(s *step.Step) step.Hosting {
	hand := s.Client
	hand.Name = plan.CanaryServiceName(s.Client.Name)
	hand.Confirm = nil // usually there is no canary service
	return services{step: s, canary: ecs.CanaryService{Service: hand}}
}

func (services) KindName() string { return "service" }

func (s services) CreateService(ctx context.Context) (*ecs.ServiceState, error) {
	rev, err := revision.Ensure(ctx, s.step)
	if err != nil {
		return nil, err
	}
	id := sluice.NewActionID(s.step.Deployment, "service", "create")
	if err := s.step.Client.CreateRolling(ctx, s.step.MakeWrite, id, *s.step.Service.Input, rev,
		step.NewClaimTags(s.step)); err != nil {
		return nil, err
	}
	return s.step.ObserveService(ctx)
}

func (s services) EnsureCanary(ctx context.Context, rev ecs.Revision, scale int) (step.Member, error) {
	by, err := s.step.CanaryID(ctx)
	if err != nil {
		return step.Member{}, err
	}
	if err := s.awaitNameFree(ctx); err != nil {
		return step.Member{}, err
	}
	primary, err := s.step.ObserveService(ctx)
	if err != nil {
		return step.Member{}, err
	}
	count := step.CountForPercent(primary.Desired, scale)
	if err := s.saveCanaryCount(ctx, count); err != nil {
		return step.Member{}, err
	}
	template, _ := definition.NewCanaryService(s.step.Service, &primary.Raw)
	live, found, err := s.canary.EnsureService(ctx, s.step.MakeWrite, ecs.CanarySpec{By: by, Template: template,
		Revision: rev,
		Count:    count, Attach: s.step.Access.AttachmentOf(sluice.Canary)})
	if err != nil {
		return step.Member{}, err
	}
	if found {
		s.step.Host.Emit(sluice.Adopted{Action: by, Resource: s.canary.Resource()})
	}
	m := s.canaryMember(live)
	m.Revision = rev.Name
	return m, nil
}

// awaitNameFree waits until a canary service that is being deleted is INACTIVE. AWS creates no
// service of that name before.
func (s services) awaitNameFree(ctx context.Context) error {
	return capacity.PollUntilDone(ctx, s.step, "the previous canary service to be deleted",
		func(ctx context.Context) (capacity.Remaining, error) {
			if err := s.step.CheckInterrupt(ctx); err != nil {
				return capacity.Remaining{}, err
			}
			live, err := s.canary.Observe(ctx)
			if err != nil || !live.IsDraining() {
				return capacity.Remaining{}, err
			}
			return capacity.Remaining{Text: live.Status, Count: 1}, nil
		})
}

// StartPrimary waits for propagation, rolls the service to the revision and follows the deployment.
// ECS stops old tasks without waiting for callers, so no caller may still be routed to a task that
// does not serve.
func (s services) StartPrimary(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (step.Member, error) {
	if err := s.step.Access.WaitForPropagation(ctx); err != nil {
		return step.Member{}, err
	}
	if err := rolling.UpdateTo(ctx, s.step, live, rev); err != nil {
		return step.Member{}, err
	}
	live, err := s.step.ObserveService(ctx)
	if err != nil {
		return step.Member{}, err
	}
	return s.primaryMember(live), nil
}

// ListOthers is the canary service, whichever deployment of sluice created it.
func (s services) ListOthers(ctx context.Context, _ step.Member) ([]step.Member, error) {
	live, err := s.step.ObserveService(ctx)
	if err != nil {
		return nil, err
	}
	return s.ListLeftovers(ctx, live, "")
}

func (s services) FindVariantIn(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (*step.Member, error) {
	if v == sluice.Primary {
		m := s.primaryMember(live)
		return &m, nil
	}
	canary, err := s.observeCanary(ctx)
	if err != nil || !canary.IsActive() && !canary.IsDraining() || canary.CreatedBy() == "" {
		return nil, err
	}
	m := s.canaryMember(canary)
	return &m, nil
}

// observeCanary reads the canary service, once per poll.
func (s services) observeCanary(ctx context.Context) (*ecs.ServiceState, error) {
	return step.ReadShared(s.step, "canary service", func() (*ecs.ServiceState, error) { return s.canary.Observe(ctx) })
}

// primaryMember is the service itself, canaryMember the canary service. Each is alone in its target
// group.
func (s services) primaryMember(live *ecs.ServiceState) step.Member {
	set, _ := live.AsTaskSet()
	return step.Member{TaskSet: set, Variant: sluice.Primary, Label: "service " + s.step.Client.Name,
		Service:     s.step.Client,
		HasOwnGroup: true, Live: live, Events: live.Events()}
}

func (s services) canaryMember(live *ecs.ServiceState) step.Member {
	set, _ := live.AsTaskSet()
	return step.Member{TaskSet: set, Variant: sluice.Canary, Label: "canary service", Service: s.canary.Service,
		HasOwnGroup: true, Live: live, Events: live.Events()}
}

// RefreshMember reads a member. Until AWS shows the revision that the canary was just updated to,
// the result has no running task: the answer may be older than the write.
func (s services) RefreshMember(ctx context.Context, m step.Member) (*step.Member, error) {
	primary, err := step.ObserveShared(ctx, s.step)
	if err != nil {
		return nil, err
	}
	if m.Variant == sluice.Primary {
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

func (s services) ListAllTasks(ctx context.Context) (map[sluice.Variant][]ecs.Task, error) {
	primary, err := s.step.Client.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	canary, err := s.canary.Tasks(ctx)
	if sluice.KindOf(err) == sluice.NotFound {
		canary, err = nil, nil // there is no canary service
	}
	return map[sluice.Variant][]ecs.Task{sluice.Primary: primary, sluice.Canary: canary}, err
}

func (s services) ScaleToZero(ctx context.Context, m step.Member) error {
	if m.Desired == 0 {
		return nil
	}
	return s.canary.SetCount(ctx, s.step.MakeWrite, 0)
}

func (s services) DeleteMember(ctx context.Context, m step.Member) error {
	return s.canary.Remove(ctx, s.step.MakeWrite, sluice.ActionID(m.ExternalID))
}

// ListLeftovers is the canary service: sluice creates nothing else for a rolling service.
func (s services) ListLeftovers(ctx context.Context, live *ecs.ServiceState, _ string) ([]step.Member, error) {
	canary, err := s.FindVariantIn(ctx, live, sluice.Canary)
	if err != nil || canary == nil {
		return nil, err
	}
	return []step.Member{*canary}, nil
}
