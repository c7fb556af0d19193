package cloudmap

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// MaxMultivalue is the number of records in an answer of a MULTIVALUE service (Cloud Map Developer
// Guide, "Routing policy").
const MaxMultivalue = 8

// Table is a namespace as callers see it. It is immutable.
type Table struct {
	Key     world.Key
	ID      string
	Name    string
	Kind    string
	At      time.Time
	entries []*Entry // by name
}

// HasDNS reports whether name servers answer for the namespace.
func (t *Table) HasDNS() bool { return t.Kind != world.HTTPNamespace }

// Entry returns the service of that name, or nil. Names are compared without case.
func (t *Table) Entry(name string) *Entry {
	for _, e := range t.entries {
		if strings.EqualFold(e.Name, name) {
			return e
		}
	}
	return nil
}

// Entries returns the services of the namespace, by name.
func (t *Table) Entries() []*Entry { return slices.Clone(t.entries) }

// Entry is a service of a namespace.
type Entry struct {
	ID, ARN, Name   string
	Namespace       string
	Records         []world.RecordType
	Weighted        bool
	HasCustomHealth bool
	Revision        int64

	registered []*View // as Cloud Map has them, by registration
	served     []*View // as the name servers have them
}

// View is an instance as callers see it. It is immutable.
type View struct {
	ID         string
	Address    netip.Addr // AWS_INSTANCE_IPV4; zero if there is none
	V6         netip.Addr
	Port       int32 // AWS_INSTANCE_PORT; 0 if there is none
	CNAME      string
	Healthy    bool
	Attributes map[string]string // shared: not to be changed
}

// TTL returns the TTL of the records of a type; ok is false if there are none.
func (e *Entry) TTL(kind string) (ttl time.Duration, ok bool) {
	for _, r := range e.Records {
		if r.Type == kind {
			return r.TTL, true
		}
	}
	return 0, false
}

// Eligible returns the instances whose records of a type an answer may hold now: the healthy ones,
// or all if none is healthy (ECS Developer Guide, "Use service discovery"; Cloud Map Developer
// Guide, "Routing policy"). Each is as likely as any other to come first.
func (e *Entry) Eligible(kind string) []*View {
	if _, ok := e.TTL(kind); !ok {
		return nil
	}
	var all, healthy []*View
	for _, v := range e.served {
		if !v.hasRecord(kind) {
			continue
		}
		all = append(all, v)
		if v.Healthy {
			healthy = append(healthy, v)
		}
	}
	if len(healthy) > 0 {
		return healthy
	}
	return all
}

// MaxRecords returns the maximum number of records in an answer. For a WEIGHTED service it is one;
// all its records have the same weight.
func (e *Entry) MaxRecords() int {
	if e.Weighted {
		return 1
	}
	return MaxMultivalue
}

// AnswerQuestion returns one answer of the name servers for records of a type: eligible instances
// in random order. It calls draw for a number in [0,1) per position.
func (e *Entry) AnswerQuestion(kind string, draw func(n int) float64) []*View {
	all := shuffledViews(e.Eligible(kind), draw)
	return all[:min(len(all), e.MaxRecords())]
}

// ServedInstance returns the instance of that id as the name servers have it, or nil.
func (e *Entry) ServedInstance(id string) *View {
	for _, v := range e.served {
		if strings.EqualFold(v.ID, id) {
			return v
		}
	}
	return nil
}

func (v *View) hasRecord(kind string) bool {
	switch kind {
	case "A":
		return v.Address.IsValid()
	case "AAAA":
		return v.V6.IsValid()
	case "SRV":
		return v.Port != 0 && (v.Address.IsValid() || v.V6.IsValid() || v.CNAME != "")
	case "CNAME":
		return v.CNAME != ""
	}
	return false
}

// shuffledViews returns a copy of a list in random order.
func shuffledViews(list []*View, draw func(n int) float64) []*View {
	out := slices.Clone(list)
	for i := len(out) - 1; i > 0; i-- {
		j := int(draw(i) * float64(i+1))
		out[i], out[j] = out[j], out[i]
	}
	return out
}
