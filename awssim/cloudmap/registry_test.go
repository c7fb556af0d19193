package cloudmap_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

var key = world.Key{Account: "123456789012", Region: "eu-west-1"}

// bench is a world with the name api.shop.local.
type bench struct {
	now   time.Time
	w     *world.World
	law   *cloudmap.Controller
	space *world.Namespace
	api   *world.Registry
}

func (b *bench) Now() time.Time                             { return b.now }
func (b *bench) Sleep(context.Context, time.Duration) error { return nil }
func (b *bench) pass(d time.Duration)                       { b.now = b.now.Add(d); b.w.Advance() }

func (b *bench) do(f func(*world.Tx)) {
	_ = b.w.Do(key, func(tx *world.Tx) error { f(tx); return nil })
}

func newBench(k world.Settings, seed uint64) *bench {
	b := &bench{now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	b.w = world.New(world.Options{Clock: b, Seed: seed, Settings: &k, Strict: true})
	b.law = cloudmap.New(b.w)
	b.space = &world.Namespace{ID: "ns-1", Name: "shop.local", Kind: world.PrivateNamespace}
	b.api = &world.Registry{ID: "srv-1", ARN: "arn:srv-1", Name: "api", Namespace: b.space, HasCustomHealth: true,
		Records: []world.RecordType{{Type: "A", TTL: 10 * time.Second}}}
	b.do(func(tx *world.Tx) { tx.AddNamespace(b.space); tx.AddRegistry(b.api) })
	return b
}

func (b *bench) enrol(id, health string) {
	b.do(func(tx *world.Tx) {
		tx.RegisterInstance(b.api, id, map[string]string{world.AttributeIPv4: "127.16.0.9",
			world.AttributeInit: health})
	})
}

func (b *bench) entry() *cloudmap.Entry { return b.law.Table(key, "shop.local").Entry("api") }

func TestNameServersFollowCloudMap(t *testing.T) {
	k := world.NoDelays()
	k.DNSPropagation = world.Range{Min: 20 * time.Second, Max: 20 * time.Second}
	b := newBench(k, 1)
	b.enrol("i", "HEALTHY")
	if e := b.entry(); len(e.FindInstances(cloudmap.Query{})) != 1 || len(e.Eligible("A")) != 0 {
		t.Errorf("at once: found %d, served %d", len(e.FindInstances(cloudmap.Query{})), len(e.Eligible("A")))
	}
	b.pass(20 * time.Second)
	if len(b.entry().Eligible("A")) != 1 {
		t.Error("not served after 20 s")
	}
	b.do(func(tx *world.Tx) {
		i, _ := b.api.Instances.Get("i")
		tx.DeregisterInstance(i)
	})
	if e := b.entry(); len(e.FindInstances(cloudmap.Query{})) != 0 || len(e.Eligible("A")) != 1 {
		t.Error("name servers are as fast as Cloud Map")
	}
	b.pass(20 * time.Second)
	if len(b.entry().Eligible("A")) != 0 {
		t.Error("still served")
	}
}

// Whatever order changes reach the name servers in, the newest wins.
func TestTheNewestWriteWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := world.NoDelays()
		k.DNSPropagation = world.Range{Max: time.Minute}
		b := newBench(k, rapid.Uint64().Draw(t, "seed"))
		for n := range rapid.IntRange(1, 20).Draw(t, "changes") {
			id := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "instance"))
			b.do(func(tx *world.Tx) {
				if i, ok := b.api.Instances.Get(id); ok && n%2 == 0 {
					tx.DeregisterInstance(i)
				} else {
					tx.RegisterInstance(b.api, id, map[string]string{world.AttributeIPv4: "127.16.0.9"})
				}
			})
			b.pass(time.Duration(rapid.IntRange(0, 30).Draw(t, "pause")) * time.Second)
		}
		b.pass(2 * time.Minute)
		if e := b.entry(); len(e.Eligible("A")) != b.api.Instances.Len() {
			t.Errorf("served %d of %d", len(e.Eligible("A")), b.api.Instances.Len())
		}
	})
}

// An answer holds eligible instances only, none twice, and as many as it may.
func TestAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(world.NoDelays(), 1)
		healthy, n := 0, rapid.IntRange(0, 20).Draw(t, "instances")
		for i := range n {
			health := rapid.SampledFrom([]string{"HEALTHY", "UNHEALTHY"}).Draw(t, "health")
			b.enrol(fmt.Sprint(i), health)
			if health == "HEALTHY" {
				healthy++
			}
		}
		most := 8 // AWS: "up to eight healthy records"
		if b.api.Weighted = rapid.Bool().Draw(t, "weighted"); b.api.Weighted {
			most = 1
		}
		b.do(func(tx *world.Tx) { tx.Changed(world.RegistryChanged, b.api) })
		draw := rapid.Float64Range(0, 0.999999)
		got := b.entry().AnswerQuestion("A", func(int) float64 { return draw.Draw(t, "place") })
		want := min(n, most)
		if healthy > 0 {
			want = min(healthy, most)
		}
		seen := map[string]bool{}
		for _, v := range got {
			if seen[v.ID] || healthy > 0 && !v.Healthy {
				t.Errorf("%+v in %+v", v, got)
			}
			seen[v.ID] = true
		}
		if len(got) != want {
			t.Errorf("%d records of %d instances, %d healthy; want %d", len(got), n, healthy, want)
		}
	})
}

func TestLookupFindsTheLongestNamespace(t *testing.T) {
	b := newBench(world.NoDelays(), 1)
	b.do(func(tx *world.Tx) {
		inner := &world.Namespace{ID: "ns-2", Name: "eu.shop.local", Kind: world.PrivateNamespace}
		tx.AddNamespace(inner)
		tx.AddRegistry(&world.Registry{ID: "srv-2", ARN: "arn:srv-2", Name: "_http._tcp.web", Namespace: inner})
		tx.AddNamespace(&world.Namespace{ID: "ns-3", Name: "plain", Kind: world.HTTPNamespace})
	})
	for name, want := range map[string]string{
		"API.shop.local.": "shop.local api ", "x.api.shop.local": "shop.local api x", "shop.local.": "shop.local - ",
		"y.shop.local.":                 "shop.local - ",
		"_http._tcp.web.eu.shop.local.": "eu.shop.local _http._tcp.web ", "api.eu.shop.local.": "eu.shop.local - ",
		"a.plain.": "- - ", "noshop.local.": "- - ",
	} {
		space, e, instance := b.law.LookUp(name)
		got := [2]string{"-", "-"}
		if space != nil {
			got[0] = space.Name
		}
		if e != nil {
			got[1] = e.Name
		}
		if e == nil {
			instance = ""
		}
		if s := got[0] + " " + got[1] + " " + instance; s != want {
			t.Errorf("%s: %q, want %q", name, s, want)
		}
	}
	b.do(func(tx *world.Tx) { tx.DeleteRegistry(b.api); tx.DeleteNamespace(b.space) })
	if space, _, _ := b.law.LookUp("api.shop.local"); space != nil {
		t.Errorf("deleted, still found: %+v", space)
	}
	b.w.Reset()
	b.do(func(*world.Tx) {})
	if n := len(b.law.Tables()); n != 0 {
		t.Errorf("%d namespaces after the reset", n)
	}
}
