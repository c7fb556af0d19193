package dataplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/dataplane"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type standing struct{}

func (standing) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (standing) Sleep(context.Context, time.Duration) error { return nil }

// server is a name server over a world with the namespace shop.local.
func server(t *testing.T, fill func(*world.Tx, *world.Namespace)) *dataplane.DNS {
	t.Helper()
	k := world.NoDelays()
	w := world.New(world.Options{Clock: standing{}, Settings: &k, Strict: true})
	law := cloudmap.New(w)
	_ = w.Do(world.Key{Account: "123456789012", Region: "eu-west-1"}, func(tx *world.Tx) error {
		n := &world.Namespace{ID: "ns-1", Name: "shop.local", Kind: world.PrivateNamespace}
		tx.AddNamespace(n)
		fill(tx, n)
		return nil
	})
	d, err := dataplane.ListenDNS("127.0.0.1:0", law.LookUp, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func enlist(tx *world.Tx, n *world.Namespace, name string, weighted bool, kind string,
	ttl time.Duration) *world.Registry {
	r := &world.Registry{ID: "srv-" + name, ARN: "arn/" + name, Name: name, Namespace: n, Weighted: weighted,
		HasCustomHealth: true}
	if kind != "" {
		r.Records = []world.RecordType{{Type: kind, TTL: ttl}}
	}
	tx.AddRegistry(r)
	return r
}

func ask(t *testing.T, d *dataplane.DNS, network, name string, kind uint16) *dns.Msg {
	t.Helper()
	q := new(dns.Msg).SetQuestion(name, kind)
	m, _, err := (&dns.Client{Net: network}).Exchange(q, d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func addresses(m *dns.Msg) (all []string) {
	for _, rr := range m.Answer {
		if a, ok := rr.(*dns.A); ok {
			all = append(all, a.A.String())
		}
	}
	return all
}

func TestAnswersHoldUpToEightHealthyRecords(t *testing.T) {
	d := server(t, func(tx *world.Tx, n *world.Namespace) {
		r := enlist(tx, n, "api", false, "A", 10*time.Second)
		for i := range 12 {
			health := "HEALTHY"
			if i >= 10 {
				health = "UNHEALTHY"
			}
			tx.RegisterInstance(r, fmt.Sprint("i", i),
				map[string]string{"AWS_INSTANCE_IPV4": fmt.Sprint("127.16.0.", 10+i), "AWS_INIT_HEALTH_STATUS": health})
		}
		sick := enlist(tx, n, "sick", false, "A", 5*time.Second)
		tx.RegisterInstance(sick, "i", map[string]string{"AWS_INSTANCE_IPV4": "127.16.0.9",
			"AWS_INIT_HEALTH_STATUS": "UNHEALTHY"})
		one := enlist(tx, n, "one", true, "A", 0)
		tx.RegisterInstance(one, "a", map[string]string{"AWS_INSTANCE_IPV4": "127.16.0.7"})
		tx.RegisterInstance(one, "b", map[string]string{"AWS_INSTANCE_IPV4": "127.16.0.8"})
	})
	first := map[string]int{}
	for range 500 {
		m := ask(t, d, "udp", "api.shop.local.", dns.TypeA)
		got := addresses(m)
		if len(got) != 8 || m.Answer[0].Header().Ttl != 10 {
			t.Fatalf("%v", m)
		}
		first[got[0]]++
	}
	if len(first) != 10 || first["127.16.0.20"] != 0 || first["127.16.0.21"] != 0 {
		t.Errorf("%v", first)
	}
	for a, n := range first {
		if n < 20 || n > 90 {
			t.Errorf("%s came first %d of 500 times", a, n)
		}
	}
	if got := addresses(ask(t, d, "tcp", "SICK.shop.local.", dns.TypeA)); len(got) != 1 {
		t.Errorf("none healthy: %v", got)
	}
	if got := addresses(ask(t, d, "udp", "one.shop.local.", dns.TypeA)); len(got) != 1 {
		t.Errorf("weighted: %v", got)
	}
}

func TestServiceRecordsNameTheInstance(t *testing.T) {
	d := server(t, func(tx *world.Tx, n *world.Namespace) {
		r := enlist(tx, n, "api", false, "SRV", time.Minute)
		tx.RegisterInstance(r, "abc", map[string]string{"AWS_INSTANCE_IPV4": "127.16.0.9", "AWS_INSTANCE_PORT": "8080"})
	})
	m := ask(t, d, "udp", "api.shop.local.", dns.TypeSRV)
	srv, ok := m.Answer[0].(*dns.SRV)
	if !ok || srv.Priority != 1 || srv.Weight != 1 || srv.Port != 8080 || srv.Target != "abc.api.shop.local." ||
		srv.Hdr.Ttl != 60 || len(m.Extra) != 1 {
		t.Fatalf("%v", m)
	}
	if got := addresses(ask(t, d, "udp", srv.Target, dns.TypeA)); len(got) != 1 || got[0] != "127.16.0.9" {
		t.Errorf("%v", got)
	}
	if m := ask(t, d, "udp", "api.shop.local.", dns.TypeA); m.Rcode != dns.RcodeSuccess || len(m.Answer) != 0 ||
		len(m.Ns) != 1 {
		t.Errorf("no A records: %v", m)
	}
}

func TestNamesThatAreNotThere(t *testing.T) {
	d := server(t, func(tx *world.Tx, n *world.Namespace) {
		enlist(tx, n, "empty", false, "A", time.Minute)
		enlist(tx, n, "api", false, "", 0)
		tx.AddNamespace(&world.Namespace{ID: "ns-2", Name: "plain", Kind: world.HTTPNamespace})
	})
	for name, want := range map[string]int{"empty.shop.local.": dns.RcodeNameError,
		"api.shop.local.": dns.RcodeNameError, "none.shop.local.": dns.RcodeNameError,
		"shop.local.": dns.RcodeSuccess, "x.plain.": dns.RcodeRefused, "example.com.": dns.RcodeRefused} {
		m := ask(t, d, "udp", name, dns.TypeA)
		if m.Rcode != want || len(m.Answer) != 0 {
			t.Errorf("%s: %s", name, strings.ReplaceAll(m.String(), "\n", " "))
		}
		if soa := len(m.Ns) == 1; soa != (want != dns.RcodeRefused) {
			t.Errorf("%s: authority %v", name, m.Ns)
		}
	}
}
