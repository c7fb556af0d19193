package cloudmap_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
)

// AWS lets two services share a registry. What another deployment registered for the
// other one is neither dead nor a stranger: it is left, and told of.
func TestInstancesOfAnotherServiceAreKept(t *testing.T) {
	on(t, usual(), func(b *bed) {
		ctx := context.Background()
		theirs := []string{"slc-0002-0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"}
		for i, cluster := range []string{"prod", "other"} { // a service of the same name in another cluster too
			service := []string{"shop", "api"}[i]
			if _, err := b.sd.RegisterInstance(ctx, &awssd.RegisterInstanceInput{ServiceId: aws.String(registry),
				InstanceId: aws.String(theirs[i]),
				Attributes: map[string]string{"AWS_INSTANCE_IPV4": "10.9.8.7", "ECS_SERVICE_NAME": service,
					"ECS_CLUSTER_NAME": cluster}}); err != nil {
				t.Fatal(err)
			}
		}
		b.pass(6 * time.Second)
		if _, err := b.to(50); err != nil {
			t.Fatal(err)
		}
		d := b.driver()
		if n, err := d.DeregisterDead(ctx, free); n != 0 || err != nil {
			t.Errorf("swept %d (%v)", n, err)
		}
		if _, err := d.Reconcile(ctx, free, sluice.CanaryShare(0)); err != nil {
			t.Error(err)
		}
		for _, id := range theirs {
			if b.found()[id] == nil {
				t.Errorf("%s is gone", id)
			}
		}
		if !slices.Equal(d.LastRead().OtherServices(), []string{"other/api", "prod/shop"}) ||
			len(d.LastRead().UnknownInstances()) != 0 {
			t.Errorf("neighbours %v, strangers %v", d.LastRead().OtherServices(), d.LastRead().UnknownInstances())
		}
	})
}
