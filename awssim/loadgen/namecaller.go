package loadgen

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// NameCaller is a steady stream of equal requests to the tasks behind a name of Cloud Map. Many
// clients send them, and each keeps the answer of its own lookup. The lookups are independent, so
// the ages of the kept answers are spread evenly from zero to the longest.
type NameCaller struct {
	Key                world.Key
	Namespace, Service string
	// Record is A ("" too) or SRV. The clients query DNS and keep an answer for its TTL.
	Record string
	// Poll, if above zero, makes the clients call DiscoverInstances at that interval instead of
	// DNS, with Query.
	Poll  time.Duration
	Query cloudmap.Query
	// Port is the tasks' port. With SRV records and with Poll, an instance's own port is used if it
	// has one.
	Port int32
	// KeepAlive is the time for which a connection is kept after its answer has expired. A client
	// whose connection was closed by the task looks up again.
	KeepAlive time.Duration
	// Retry tries another address of the same answer once if one refuses.
	Retry bool
	Rate  float64 // requests per second
}

// AttachByName starts a caller by name. Its first answer counts as kept for ever before.
func AttachByName(w *world.World, law *cloudmap.Controller, c NameCaller) *NameTally {
	if c.Record == "" {
		c.Record = "A"
	}
	t := &NameTally{caller: c, w: w, name: c.Service + "." + c.Namespace}
	_ = w.Do(c.Key, func(tx *world.Tx) error {
		law.AddFollower(tx, c.Namespace, t)
		t.since = tx.Now()
		t.updateAnswers(tx, law.Table(c.Key, c.Namespace))
		t.answers[0].from = tx.Now().Add(-longestUse)
		return nil
	})
	return t
}

// longestUse is longer than any answer is kept.
const longestUse = 100 * 365 * 24 * time.Hour / 2

// lookupResult is the result of lookups from a time on.
type lookupResult struct {
	from  time.Time
	keep  time.Duration
	hosts []*host // each as likely as any other to come first
	one   bool    // an answer holds only one of them
}

// lookUpName returns the result of the caller's lookup in a table.
func (t *NameTally) lookUpName(tx *world.Tx, table *cloudmap.Table) lookupResult {
	f := lookupResult{from: tx.Now(), keep: t.caller.Poll}
	var e *cloudmap.Entry
	if table != nil {
		e = table.Entry(t.caller.Service)
	}
	if e == nil {
		return f
	}
	var views []*cloudmap.View
	if t.caller.Poll > 0 {
		views = e.FindInstances(t.caller.Query)
		f.one = t.caller.Query.MaxResults == 1
	} else {
		views = e.Eligible(t.caller.Record)
		f.keep, _ = e.TTL(t.caller.Record)
		f.one = e.MaxRecords() == 1
	}
	for _, v := range views {
		f.hosts = append(f.hosts, t.hostOf(tx, v))
	}
	return f
}

// hostOf returns the host at an instance's address, with its current state. The host may have no
// task.
func (t *NameTally) hostOf(tx *world.Tx, v *cloudmap.View) *host {
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
	t.refreshHost(h, tx.Now())
	return h
}
