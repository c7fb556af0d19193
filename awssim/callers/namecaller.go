package callers

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/registry"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// NameCaller is a steady stream of equal requests to the tasks behind a name of
// Cloud Map, by many clients that each keep what they found. They looked up
// independently, so that at any moment the ages of what they keep are spread
// evenly from nothing to as long as they keep it.
type NameCaller struct {
	Key                world.Key
	Namespace, Service string
	// Record is A ("" too) or SRV: they ask DNS, and keep an answer for its TTL.
	Record string
	// Poll, if above zero, makes them ask DiscoverInstances so often instead, with
	// Query.
	Poll  time.Duration
	Query registry.Query
	// Port is the tasks' port; of SRV records and with Poll the instance's own is
	// taken where it has one.
	Port int32
	// KeepAlive is how much longer than an answer a connection is kept. One that
	// its task has closed is replaced by looking up anew.
	KeepAlive time.Duration
	// Retry tries another address of the same answer once where one refuses.
	Retry bool
	Rate  float64 // requests per second
}

// AttachByName lets a caller call from now on. What it keeps at first is as if it
// had always found what it finds now.
func AttachByName(w *world.World, law *registry.Law, c NameCaller) *NameTally {
	if c.Record == "" {
		c.Record = "A"
	}
	t := &NameTally{caller: c, w: w, name: c.Service + "." + c.Namespace}
	_ = w.Do(c.Key, func(tx *world.Tx) error {
		law.Follow(tx, c.Namespace, t)
		t.since = tx.Now()
		t.find(tx, law.Table(c.Key, c.Namespace))
		t.answers[0].from = tx.Now().Add(-always)
		return nil
	})
	return t
}

// always is longer than anything is kept.
const always = 100 * 365 * 24 * time.Hour / 2

// found is what a lookup finds from a time on.
type found struct {
	from  time.Time
	keep  time.Duration
	hosts []*host // each as likely as any other to come first
	one   bool    // an answer holds one of them only
}

// found is what the caller's lookup finds in a table.
func (t *NameTally) lookup(tx *world.Tx, table *registry.Table) found {
	f := found{from: tx.Now(), keep: t.caller.Poll}
	var e *registry.Entry
	if table != nil {
		e = table.Entry(t.caller.Service)
	}
	if e == nil {
		return f
	}
	var views []*registry.View
	if t.caller.Poll > 0 {
		views = e.Found(t.caller.Query)
		f.one = t.caller.Query.Most == 1
	} else {
		views = e.Eligible(t.caller.Record)
		f.keep, _ = e.TTL(t.caller.Record)
		f.one = e.Most() == 1
	}
	for _, v := range views {
		f.hosts = append(f.hosts, t.hostOf(tx, v))
	}
	return f
}

// hostOf is the task behind an instance's address, with its present state taken
// in. Nobody may be there.
func (t *NameTally) hostOf(tx *world.Tx, v *registry.View) *host {
	port := t.caller.Port
	if v.Port != 0 && (t.caller.Poll > 0 || t.caller.Record == "SRV") {
		port = v.Port
	}
	key, task := hostName(v, port), tx.TasksByAddress[v.Address]
	h, ok := t.hosts.Get(key)
	if !ok || task != nil && h.task != task {
		h = &host{group: t.name, address: v.Address.String(), port: port, task: task}
		t.hosts.Put(key, h)
	}
	t.relook(h, tx.Now())
	return h
}
