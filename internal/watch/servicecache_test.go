package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// shelf is a shelf over services without tasks, and the count of its reads.
func (b *bench) shelf(services int) (s *watch.ServiceCache, names []string, reads func() int) {
	b.Helper()
	for i := range services {
		names = append(names, fmt.Sprintf("web%d", i))
		got(b.ecs.CreateService(context.Background(), &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
			ServiceName:          aws.String(names[i]),
			DesiredCount:         aws.Int32(0),
			DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal}}))(b)
	}
	n := 0
	cfg := b.sim.Config()
	a := got(account.Open(context.Background(), account.Config{
		Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint, HTTPClient: b.sim.HTTPClient(),
		APIOptions: b.sim.APIOptions(),
		Clock:      b.clock, OnCall: func(account.Call) { n++ }}))(b)
	return watch.NewServiceCache(a, b.clock, 20*time.Second), names, func() int { return n }
}

// Looks once a minute at each of many services need one read for ten of them.
func TestShelfNeedsOneReadForTenServices(t *testing.T) {
	on(t, options{}, func(b *bench) {
		s, names, reads := b.shelf(25)
		for round := range 3 {
			before := reads()
			for _, name := range names {
				live := got(s.Service(context.Background(), "prod", name))(b)
				if live == nil || aws.ToString(live.Raw.ServiceName) != name {
					b.Fatalf("%s: %v", name, live)
				}
			}
			if n := reads() - before; round > 0 && n != 3 {
				b.Errorf("round %d: %d reads of %d services", round, n, len(names))
			}
			must(b, b.clock.Sleep(context.Background(), time.Minute))
		}
	})
}

// Who asks again is not answered from the shelf, nor is one who asks late; what is
// not there is known as such.
func TestShelfForgets(t *testing.T) {
	on(t, options{}, func(b *bench) {
		s, names, reads := b.shelf(2)
		look := func(name string, want int) {
			b.Helper()
			before := reads()
			got(s.Service(context.Background(), "prod", name))(b)
			if n := reads() - before; n != want {
				b.Errorf("%s: %d reads, want %d", name, n, want)
			}
		}
		look(names[0], 1)
		look(names[1], 1)
		look(names[1], 1)
		look(names[0], 0) // taken along
		must(b, b.clock.Sleep(context.Background(), 21*time.Second))
		look(names[0], 1)
		if live := got(s.Service(context.Background(), "prod", "none"))(b); live != nil {
			b.Errorf("%v", live)
		}
	})
}
