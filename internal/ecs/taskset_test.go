package ecs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// sets returns the client of the task sets of web.
func (b *bench) sets() ecs.TaskSets {
	return ecs.TaskSets{Service: b.service("web"),
		Template: awsecs.CreateServiceInput{LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: network()}}
}

// canarySet describes a task set of an image at 50 percent, in the target group of the canary.
func (b *bench) canarySet(image string) ecs.WantedTaskSet {
	return ecs.WantedTaskSet{By: "d1/1/create task set", Label: "task set of canary", Revision: b.register("web", image),
		Scale: 50, Attach: ecs.Attachment{TargetGroup: b.targetGroup("canary"), Container: "app", Port: 80}}
}

// The ID of the action finds a task set again: after a lost response, and in another process.
func TestTaskSetIsCreatedOnce(t *testing.T) {
	for fault, isFound := range map[string]bool{"": false, "lost-reply ecs:CreateTaskSet times=1": false,
		"lost-reply ecs:CreateTaskSet times=20": true, "no-send ecs:CreateTaskSet times=20": false} {
		onWorld(t, func(b *bench) {
			want := b.canarySet("sim/web:v2")
			if fault != "" {
				b.inject(fault)
			}
			set, found, err := b.sets().EnsureSet(b.ctx, b.act, want)
			b.check(err)
			again, foundAgain, err := b.sets().EnsureSet(b.ctx, b.act, want)
			b.check(err)
			live := b.observe("web")
			if len(live.TaskSets) != 2 || set.ID != again.ID || !foundAgain || found != isFound {
				t.Errorf("%q: %d task sets, %s (%v), then %s (%v)", fault, len(live.TaskSets), set.ID, found, again.ID,
					foundAgain)
			}
			if set.Scale != 50 || set.TargetGroup != want.Attach.TargetGroup || set.Revision != want.Revision.Name ||
				live.CreatedByAction(want.By).ID != set.ID || live.TaskSet(set.ID).Status != "ACTIVE" {
				t.Errorf("%q: %+v", fault, set)
			}
		})
	}
}

// A task set that exists is scaled, and not if it has that scale.
func TestTaskSetIsScaledIfItDiffers(t *testing.T) {
	onWorld(t, func(b *bench) {
		want := b.canarySet("sim/web:v2")
		for _, scale := range []int{50, 50, 100, 100} {
			want.Scale = scale
			set, _, err := b.sets().EnsureSet(b.ctx, b.act, want)
			if err != nil || set.Scale != float64(scale) || b.observe("web").TaskSet(set.ID).Scale != set.Scale {
				t.Errorf("%d: %+v %v", scale, set, err)
			}
		}
		if n := b.calls["UpdateTaskSet"]; n != 1 {
			t.Errorf("%d updates", n)
		}
	})
}

func TestTaskSetOfADeletedServiceIsNotFound(t *testing.T) {
	onWorld(t, func(b *bench) {
		sets := b.sets()
		sets.Name = "gone"
		_, _, err := sets.EnsureSet(b.ctx, b.act, b.canarySet("sim/web:v2"))
		if sluice.KindOf(err) != sluice.NotFound || sluice.NextStep(err) == "" || b.calls["CreateTaskSet"] > 0 {
			t.Errorf("%v; %v", err, b.calls)
		}
	})
}

// The end of a canary on task sets: another PRIMARY, and the former one deleted, twice.
func TestPromoteAndDelete(t *testing.T) {
	onWorld(t, func(b *bench) {
		former := *b.observe("web").Primary()
		set, _, err := b.sets().EnsureSet(b.ctx, b.act, b.canarySet("sim/web:v2"))
		b.check(err)
		b.check(b.sets().Promote(b.ctx, b.act, set, "task set of canary"))
		if live := b.observe("web"); live.Primary().ID != set.ID || live.Serving() != set.Revision {
			t.Errorf("PRIMARY is %+v", live.Primary())
		}
		b.check(b.sets().Delete(b.ctx, b.act, former, "task set of primary"))
		b.until("the former task set is deleted", func() bool { return b.observe("web").TaskSet(former.ID) == nil })
		b.check(b.sets().Delete(b.ctx, b.act, former, "task set of primary"))
	})
}

// A task set keeps its tags, which DescribeTaskSets returns.
func TestTaskSetsTagged(t *testing.T) {
	onWorld(t, func(b *bench) {
		sets := b.sets()
		sets.Template.Tags = []ecstypes.Tag{{Key: aws.String("owner"), Value: aws.String("ann")}}
		set, _, err := sets.EnsureSet(b.ctx, b.act, b.canarySet("sim/web:v2"))
		b.check(err)
		ids, err := b.service("web").TaskSetsTagged(b.ctx, func(tags map[string]string) bool {
			return tags["owner"] == "ann"
		})
		if err != nil || len(ids) != 1 || ids[0] != set.ID {
			t.Errorf("%v %v", ids, err)
		}
	})
}

// A service is created for task sets: what belongs to a task set is not sent.
func TestServiceForTaskSets(t *testing.T) {
	onWorld(t, func(b *bench) {
		s := b.service("new")
		b.check(s.Create(b.ctx, b.act, "d1/0/create service", awsecs.CreateServiceInput{
			LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: network(), Role: aws.String("")},
			map[string]string{"sluice:deployment": "d1"}))
		live := b.observe("new")
		if live.Controller != "EXTERNAL" || live.Desired != 1 || live.Serving() != "" || live.Primary() != nil ||
			live.Tags["sluice:deployment"] != "d1" {
			t.Errorf("%+v", live)
		}
		b.check(s.Tag(b.ctx, b.act, "note", live.ARN, map[string]string{"a": "1", "b": "2"}))
		b.check(s.Untag(b.ctx, b.act, "forget", live.ARN, "sluice:deployment", "b"))
		if tags := b.observe("new").Tags; len(tags) != 1 || tags["a"] != "1" {
			t.Errorf("tags %v", tags)
		}
	})
}

// The saved settings of the PRIMARY create its task set again.
func TestPrimarySpec(t *testing.T) {
	onWorld(t, func(b *bench) {
		live := b.observe("web")
		in := live.PrimarySpec().Input
		if sluice.RevisionOf(*in.TaskDefinition) != live.Serving() || len(in.LoadBalancers) != 1 ||
			*in.LoadBalancers[0].TargetGroupArn != b.targetGroup("web") ||
			len(in.NetworkConfiguration.AwsvpcConfiguration.Subnets) != 3 {
			t.Errorf("%+v", in)
		}
		if got := live.ARNOf(ecs.Revision{Name: live.Serving()}); got != *in.TaskDefinition {
			t.Errorf("%s, want %s", got, *in.TaskDefinition)
		}
		if b.observe("api").PrimarySpec() != nil {
			t.Error("a service without task sets has the settings of one")
		}
	})
}

// canary returns the client of the canary service of api.
func (b *bench) canary() ecs.CanaryService {
	return ecs.CanaryService{Service: b.service("api-canary")}
}

func (b *bench) canarySpec(by sluice.ActionID, image string, count int) ecs.CanarySpec {
	return ecs.CanarySpec{By: by, Revision: b.register("api", image), Count: count,
		Template: awsecs.CreateServiceInput{LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: network()}}
}

// A canary service is created once, however often responses are lost, and updated to another count.
func TestCanaryService(t *testing.T) {
	for fault, isFound := range map[string]bool{"": false, "lost-reply ecs:CreateService times=1": false,
		"lost-reply ecs:CreateService times=20": true, "no-send ecs:CreateService times=20": false} {
		onWorld(t, func(b *bench) {
			spec := b.canarySpec("slc-0001/1/canary", "sim/api:v2", 2)
			if fault != "" {
				b.inject(fault)
			}
			now, found, err := b.canary().EnsureService(b.ctx, b.act, spec)
			b.check(err)
			if now.CreatedBy() != spec.By || now.Desired != 2 || found != isFound {
				t.Errorf("%q: %+v, found %v", fault, now, found)
			}
			_, found, err = b.canary().EnsureService(b.ctx, b.act, spec)
			if err != nil || !found || b.calls["UpdateService"] > 0 {
				t.Errorf("%q: the second time: found %v, %d updates, %v", fault, found, b.calls["UpdateService"], err)
			}
			spec.Count = 1
			_, _, err = b.canary().EnsureService(b.ctx, b.act, spec)
			b.check(err)
			b.until("one task", func() bool {
				set, ok := b.observe("api-canary").AsTaskSet()
				return ok && set.Steady && set.Running == 1 && set.Revision == spec.Revision.Name
			})
			next := b.canarySpec(spec.By, "sim/api:v3", 1)
			_, _, err = b.canary().EnsureService(b.ctx, b.act, next)
			b.check(err)
			if set, ok := b.observe("api-canary").AsTaskSet(); !ok || set.Steady || set.Pending == 0 {
				t.Errorf("%q: the tasks of the older deployment are not pending: %+v", fault, set)
			}
			b.check(b.canary().SetCount(b.ctx, b.act, 0))
			if n := b.observe("api-canary").Desired; n != 0 {
				t.Errorf("%q: desired %d", fault, n)
			}
		})
	}
}

// A canary service of an earlier deployment is taken over; one of another actor is refused.
func TestCanaryServiceOfOthers(t *testing.T) {
	onWorld(t, func(b *bench) {
		_, _, err := b.canary().EnsureService(b.ctx, b.act, b.canarySpec("slc-0001/1/canary", "sim/api:v2", 2))
		b.check(err)
		next := b.canarySpec("slc-0002/1/canary", "sim/api:v3", 1)
		_, found, err := b.canary().EnsureService(b.ctx, b.act, next)
		b.check(err)
		live := b.observe("api-canary")
		if _, revision := live.PrimaryDeployment(); found || live.CreatedBy() != next.By || live.Desired != 1 ||
			revision != next.Revision.Name {
			t.Errorf("found %v; %+v", found, live)
		}
		b.check(b.service("api-canary").Untag(b.ctx, b.act, "forget", live.ARN, "sluice:canary"))
		writes := b.calls["UpdateService"]
		_, _, err = b.canary().EnsureService(b.ctx, b.act, next)
		if sluice.KindOf(err) != sluice.Conflict || b.calls["UpdateService"] != writes {
			t.Errorf("%v", err)
		}
	})
}

// A lost response of the deletion deletes no service that another action created meanwhile.
func TestRemovedCanaryService(t *testing.T) {
	for _, remade := range []bool{false, true} {
		onWorld(t, func(b *bench) {
			spec := b.canarySpec("slc-0001/1/canary", "sim/api:v2", 1)
			_, _, err := b.canary().EnsureService(b.ctx, b.act, spec)
			b.check(err)
			if remade {
				other := spec
				other.By = "slc-0002/1/canary"
				_, _, err := b.canary().EnsureService(b.ctx, b.act, other)
				b.check(err)
				b.inject("no-send ecs:DeleteService times=1")
			} else {
				b.inject("lost-reply ecs:DeleteService times=1")
			}
			err = b.canary().Remove(b.ctx, b.act, spec.By)
			if live := b.observe("api-canary"); live.IsActive() != remade || live.IsDraining() == remade {
				t.Errorf("remade %v: %+v %v", remade, live, err)
			}
			if !remade {
				b.check(err)
				b.until("it is deleted", func() bool { return !b.observe("api-canary").IsDraining() })
				b.check(b.canary().Remove(b.ctx, b.act, spec.By))
			} else if err != nil && !errors.Is(err, sluice.ErrUnanswered) {
				t.Error(err)
			}
		})
	}
}

// DeleteService was not carried out and got no response, and the read that follows is from before the creation of the
// service. It is deleted all the same.
func TestOldReadIsNoDeletion(t *testing.T) {
	onWorld(t, func(b *bench) {
		if b.observe("api-canary") != nil {
			t.Fatal("it exists")
		}
		spec := b.canarySpec("slc-0001/1/canary", "sim/api:v2", 1)
		_, _, err := b.canary().EnsureService(b.ctx, b.act, spec)
		b.check(err)
		b.check(b.clock.Sleep(b.ctx, 20*time.Second))
		deletions := 0
		act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
			if deletions++; deletions == 1 {
				b.inject("stale ecs:DescribeServices by=30s times=1")
				return sluice.ErrUnanswered
			}
			return b.act(ctx, a, call)
		}
		err = b.canary().Remove(b.ctx, act, spec.By)
		if b.observe("api-canary").IsActive() || deletions != 2 {
			t.Errorf("after %d deletions it stands: %v", deletions, err)
		}
	})
}
