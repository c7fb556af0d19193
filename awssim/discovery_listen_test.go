package awssim_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/miekg/dns"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/dataplane"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// dig asks the simulator's name server for A records.
func dig(t testing.TB, l *awssim.Listening, name string) (found []string) {
	t.Helper()
	m, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA), l.DNS())
	if err != nil {
		t.Fatal(err)
	}
	for _, rr := range m.Answer {
		found = append(found, rr.(*dns.A).A.String())
	}
	return found
}

func TestNamesAreAnsweredWhileListening(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(100)})
	load(t, s, discoveryFile(t))
	l := listen(t, s)
	if v := s.View(); v.DNS != l.DNS() || len(v.Regions[0].Namespaces[0].Services[0].Instances) != 4 {
		t.Errorf("%+v", v.Regions[0].Namespaces)
	}
	for _, a := range dig(t, l, "api.shop.local") {
		c, err := l.Dial(ctx, netip.AddrPortFrom(netip.MustParseAddr(a), 8080))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	at := l.DNS()
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if got := dig(t, l, "api.shop.local"); len(got) != 4 || l.DNS() != at {
		t.Errorf("after a reset %v at %s", got, l.DNS())
	}
	cfg := remote(t, s, l)
	out, err := awssd.NewFromConfig(cfg, func(o *awssd.Options) {
		o.HTTPClient = toItself{cfg.HTTPClient, strings.TrimPrefix(l.URL(), "http://")}
	}).DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"),
		ServiceName: aws.String("api")})
	if err != nil || len(out.Instances) != 4 {
		t.Errorf("a host that begins with data-: %+v, %v", out, err)
	}
	l.Close()
	if s.View().DNS != "" {
		t.Error("nobody listens any more")
	}
}

// toItself resolves the host that the SDK prefixes with "data-".
type toItself struct {
	aws.HTTPClient
	at string
}

func (c toItself) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Host, "data-") {
		return nil, io.ErrUnexpectedEOF
	}
	r.Host, r.URL.Host = r.URL.Host, c.at
	return c.HTTPClient.Do(r)
}

// crowd is callers over sockets that call until they are told to end.
type crowd struct {
	calls, failed atomic.Int64
	versions      sync.Map // version -> *atomic.Int64
	why           atomic.Value
	wg            sync.WaitGroup
	cancel        context.CancelFunc
}

func startCrowd(n int, make func() *dataplane.Caller) *crowd {
	c := &crowd{}
	ctx, cancel := context.WithCancel(ctx)
	c.cancel = cancel
	for range n {
		c.wg.Go(func() {
			caller := make()
			defer caller.Close()
			for ctx.Err() == nil {
				c.call(caller)
			}
		})
	}
	return c
}

func (c *crowd) call(caller *dataplane.Caller) {
	r, _ := http.NewRequest("GET", "http://api.shop.local/", nil)
	res, err := caller.Do(r)
	c.calls.Add(1)
	if err != nil {
		c.failed.Add(1)
		c.why.CompareAndSwap(nil, err.Error())
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		c.failed.Add(1)
		c.why.CompareAndSwap(nil, res.Status)
	}
	v, _ := c.versions.LoadOrStore(strings.Fields(string(body) + " ?")[0], new(atomic.Int64))
	v.(*atomic.Int64).Add(1)
}

func (c *crowd) end() {
	c.cancel()
	c.wg.Wait()
}

// A rolling update under callers over sockets, who keep answers for the TTL: the
// images serve through it after SIGTERM, so that nothing is lost.
func TestCallersByNameOverSockets(t *testing.T) {
	for name, o := range map[string]dataplane.CallerOptions{"plain": {}, "keep-alive": {KeepAlive: 5 * time.Second},
		"retry": {Retry: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newFast(80)
			s := newSim(t, awssim.Options{Clock: clock})
			// A busy machine is no reason to miss the end of a task: a minute is left.
			load(t, s, strings.ReplaceAll(discoveryFile(t), "term: 75s", "term: 70s"))
			l := listen(t, s)
			o.Lookup, o.Dial, o.Clock = dataplane.ByDNS(l.DNS(), "api.shop.local", 8080), l.Dial, clock
			c := startCrowd(4, func() *dataplane.Caller { return dataplane.NewCaller(o) })
			ecs := awsecs.NewFromConfig(s.Config())
			n := &names{Sim: s, t: t, ecs: ecs}
			if _, err := ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("api"), TaskDefinition: n.define("shop/api:v2", 5)}); err != nil {
				t.Fatal(err)
			}
			until(t, "the update is complete", func() bool {
				out, err := ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
					Services: []string{"api"}})
				return err == nil && len(out.Services[0].Deployments) == 1 &&
					out.Services[0].Deployments[0].RolloutState == "COMPLETED"
			})
			before := c.calls.Load()
			until(t, "calls after it", func() bool { return c.calls.Load() > before+500 })
			c.end()
			if c.failed.Load() > 0 {
				t.Errorf("%d of %d calls failed: %v", c.failed.Load(), c.calls.Load(), c.why.Load())
			}
		})
	}
}

// The same world in virtual time and over sockets: one of four tasks is v2.
func TestNamesTwoWays(t *testing.T) {
	world4 := strings.Replace(discoveryFile(t), "count: 4", "count: 3", 1) + `
  - {name: other, controller: ECS, count: 1, image: "shop/api:v2", port: 8080, registry: api.shop.local}
`
	clock := newHands()
	virtual := newSim(t, awssim.Options{Clock: clock})
	load(t, virtual, world4)
	tally := loadgen.AttachByName(virtual.World(), virtual.Registry(), loadgen.NameCaller{
		Key: world.Key{Account: virtual.Account(), Region: virtual.Region()}, Namespace: "shop.local", Service: "api",
		Port: 8080, Rate: 100})
	clock.move(time.Minute)
	r := tally.Report()
	if share := r.AnsweredBy("v2") / r.Requests; math.Abs(share-0.25) > 1e-9 || r.Failed != 0 {
		t.Errorf("virtual: %f, %+v", share, r)
	}
	s := newSim(t, awssim.Options{Clock: newFast(1)})
	load(t, s, world4)
	l := listen(t, s)
	c := &crowd{}
	for range 2000 {
		caller := dataplane.NewCaller(dataplane.CallerOptions{Lookup: dataplane.ByDNS(l.DNS(), "api.shop.local", 8080),
			Dial: l.Dial, Clock: newFast(1)})
		c.call(caller)
		caller.Close()
	}
	n := int64(0)
	c.versions.Range(func(v, count any) bool {
		if strings.Contains(v.(string), "v2") {
			n += count.(*atomic.Int64).Load()
		}
		return true
	})
	if share := float64(n) / 2000; math.Abs(share-0.25) > 0.05 || c.failed.Load() > 0 {
		t.Errorf("over sockets: %f, %d failed, %v", share, c.failed.Load(), c.why.Load())
	}
}

// A caller that keeps an answer runs into a task that is gone; trying the next
// address of the answer helps.
func TestAKeptAnswerOutlivesItsTask(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(100)})
	load(t, s, `
clusters: [prod]
namespaces: [{name: shop.local, services: [{name: api, records: {A: 24h}}]}]
services: [{name: api, controller: ECS, count: 2, image: "sim/api:v1", port: 8080, registry: api.shop.local}]
`)
	l := listen(t, s)
	answer, keep, err := dataplane.ByDNS(l.DNS(), "api.shop.local", 8080)(ctx)
	if err != nil || len(answer) != 2 || keep != 24*time.Hour {
		t.Fatal(answer, keep, err)
	}
	o := dataplane.CallerOptions{Dial: l.Dial, Clock: newFast(1), Lookup: func(context.Context) ([]netip.AddrPort,
		time.Duration, error) {
		return answer, keep, nil
	}}
	plain, c := dataplane.NewCaller(o), &crowd{}
	defer plain.Close()
	o.Retry = true
	again := dataplane.NewCaller(o)
	defer again.Close()
	ecs := awsecs.NewFromConfig(s.Config())
	for _, task := range s.View().Regions[0].Clusters[0].Services[0].TaskSets[0].Tasks {
		if task.Address == answer[0].Addr().String() {
			if _, err := ecs.StopTask(ctx, &awsecs.StopTaskInput{Cluster: aws.String("prod"),
				Task: aws.String(task.ID)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	until(t, "the first address refuses", func() bool {
		conn, err := l.Dial(ctx, answer[0])
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	if c.call(plain); c.failed.Load() != 1 {
		t.Error("a call to a task that is gone did not fail")
	}
	if c.call(again); c.failed.Load() != 1 {
		t.Errorf("the next address was not tried: %v", c.why.Load())
	}
}

// In virtual time: images that serve through SIGTERM for the TTL lose nothing in
// a rolling update, others do.
func TestARollingUpdateUnderCallersByName(t *testing.T) {
	for _, ttl := range []int{10, 60} {
		for term, loses := range map[int]bool{ttl: false, ttl / 2: true} {
			for seed := range uint64(10) {
				file := strings.Replace(discoveryFile(t), "{A: 10s}", fmt.Sprintf("{A: %ds}", ttl), 1)
				file = strings.ReplaceAll(file, "term: 75s", fmt.Sprintf("term: %ds", term))
				clock := newHands()
				s := newSim(t, awssim.Options{Clock: clock, Seed: seed})
				load(t, s, file)
				n := &names{s, t, clock, awsecs.NewFromConfig(s.Config()), awssd.NewFromConfig(s.Config())}
				tally := loadgen.AttachByName(s.World(), s.Registry(), loadgen.NameCaller{
					Key: world.Key{Account: s.Account(), Region: s.Region()}, Namespace: "shop.local", Service: "api",
					Port: 8080, Rate: 300})
				_, _ = n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
					Service: aws.String("api"), TaskDefinition: n.define("shop/api:v2", 5)})
				n.pass(8 * time.Minute)
				r := tally.Report()
				if (r.Failed > 0) != loses || len(r.Outages) != 0 || r.AnsweredBy("v2") == 0 {
					t.Errorf("TTL %d s, serving %d s after SIGTERM, seed %d: %f of %f lost, %+v %+v", ttl, term, seed,
						r.Failed, r.Requests, r.First, r.Outages)
				}
			}
		}
	}
}
