package dataplane

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
)

// NameLookup returns what a name names; see [cloudmap.Controller.LookUp]. It takes no lock.
type NameLookup func(name string) (*cloudmap.Table, *cloudmap.Entry, string)

// DNS is a name server on loopback for the names of Cloud Map, over UDP and TCP on one port. It
// answers as a VPC's resolver does. Names outside the namespaces are REFUSED.
type DNS struct {
	lookup    NameLookup
	seed      uint64
	questions atomic.Uint64
	addr      string
	udp       *dns.Server
	tcp       *dns.Server
	wg        sync.WaitGroup
}

// negativeTTL is the time in seconds for which resolvers may cache that a name has no records. It
// is the default of the SOA record in Cloud Map's hosted zones.
const negativeTTL = 15

// ListenDNS serves names at a loopback address; port 0 chooses a port.
func ListenDNS(addr string, names NameLookup, seed uint64) (*DNS, error) {
	packets, stream, err := bindBoth(addr)
	if err != nil {
		return nil, fmt.Errorf("listen for DNS at %s: %w", addr, err)
	}
	d := &DNS{lookup: names, seed: seed, addr: packets.LocalAddr().String()}
	d.udp = &dns.Server{PacketConn: packets, Handler: d}
	d.tcp = &dns.Server{Listener: stream, Handler: d}
	var started sync.WaitGroup
	for _, s := range []*dns.Server{d.udp, d.tcp} {
		started.Add(1)
		s.NotifyStartedFunc = started.Done
		d.wg.Go(func() { _ = s.ActivateAndServe() })
	}
	started.Wait()
	return d, nil
}

// bindBoth binds a port that is free for both UDP and TCP.
func bindBoth(addr string) (packets net.PacketConn, stream net.Listener, err error) {
	for range 20 {
		stream, err = net.Listen("tcp", addr) // first: on a busy machine fewer ports are free for it
		if err != nil {
			return nil, nil, err
		}
		packets, err = net.ListenPacket("udp", stream.Addr().String())
		if err == nil {
			return packets, stream, nil
		}
		_ = stream.Close()
	}
	return nil, nil, err
}

// Addr returns the address of the server as "host:port".
func (d *DNS) Addr() string { return d.addr }

// Close stops the server.
func (d *DNS) Close() {
	_ = d.udp.Shutdown()
	_ = d.tcp.Shutdown()
	d.wg.Wait()
}

// ServeDNS answers one question.
func (d *DNS) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable, m.Compress = true, true
	d.answerQuestion(m, q)
	size := dns.MinMsgSize
	if _, tcp := w.RemoteAddr().(*net.TCPAddr); tcp {
		size = dns.MaxMsgSize
	} else if o := q.IsEdns0(); o != nil {
		size = max(size, int(o.UDPSize()))
		m.SetEdns0(o.UDPSize(), false)
	}
	m.Truncate(size)
	_ = w.WriteMsg(m)
}

func (d *DNS) answerQuestion(m, q *dns.Msg) {
	if q.Opcode != dns.OpcodeQuery || len(q.Question) != 1 || q.Question[0].Qclass != dns.ClassINET {
		m.Rcode = dns.RcodeNotImplemented
		return
	}
	asked := q.Question[0]
	t, e, instance := d.lookup(asked.Name)
	switch {
	case t == nil:
		m.Rcode = dns.RcodeRefused
		return
	case e == nil:
		if !strings.EqualFold(asked.Name, dns.Fqdn(t.Name)) {
			m.Rcode = dns.RcodeNameError
		}
	case instance != "":
		d.answerInstance(m, asked, e, instance)
	default:
		d.answerService(m, asked, e)
	}
	if len(m.Answer) == 0 {
		m.Ns = append(m.Ns, soaRecord(t))
	}
}

// answerService adds the records of a service. A name without records does not exist.
func (d *DNS) answerService(m *dns.Msg, q dns.Question, e *cloudmap.Entry) {
	if len(e.Eligible("CNAME")) > 0 {
		d.addRecords(m, q, e, "CNAME")
		return
	}
	d.addRecords(m, q, e, dns.TypeToString[q.Qtype])
	if len(m.Answer) > 0 {
		return
	}
	for _, r := range e.Records {
		if len(e.Eligible(r.Type)) > 0 {
			return // the name exists, without records of this type
		}
	}
	m.Rcode = dns.RcodeNameError
}

func (d *DNS) addRecords(m *dns.Msg, q dns.Question, e *cloudmap.Entry, kind string) {
	ttl, _ := e.TTL(kind)
	n := d.questions.Add(1)
	for _, v := range e.AnswerQuestion(kind, func(i int) float64 { return d.randomAt(n, i) }) {
		switch head := recordHeader(q.Name, kind, ttl); kind {
		case "A":
			m.Answer = append(m.Answer, &dns.A{Hdr: head, A: v.Address.AsSlice()})
		case "AAAA":
			m.Answer = append(m.Answer, &dns.AAAA{Hdr: head, AAAA: v.V6.AsSlice()})
		case "CNAME":
			m.Answer = append(m.Answer, &dns.CNAME{Hdr: head, Target: dns.Fqdn(v.CNAME)})
		case "SRV":
			target := v.ID + "." + q.Name
			m.Answer = append(m.Answer, &dns.SRV{Hdr: head, Priority: 1, Weight: 1, Port: uint16(v.Port),
				Target: target})
			if v.Address.IsValid() {
				m.Extra = append(m.Extra, &dns.A{Hdr: recordHeader(target, "A", ttl), A: v.Address.AsSlice()})
			}
		}
	}
}

// answerInstance adds the address of an instance of a service with SRV records.
func (d *DNS) answerInstance(m *dns.Msg, q dns.Question, e *cloudmap.Entry, id string) {
	ttl, ok := e.TTL("SRV")
	v := e.ServedInstance(id)
	switch {
	case !ok || v == nil:
		m.Rcode = dns.RcodeNameError
	case q.Qtype == dns.TypeA && v.Address.IsValid():
		m.Answer = append(m.Answer, &dns.A{Hdr: recordHeader(q.Name, "A", ttl), A: v.Address.AsSlice()})
	case q.Qtype == dns.TypeAAAA && v.V6.IsValid():
		m.Answer = append(m.Answer, &dns.AAAA{Hdr: recordHeader(q.Name, "AAAA", ttl), AAAA: v.V6.AsSlice()})
	}
}

func recordHeader(name, kind string, ttl time.Duration) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: dns.StringToType[kind], Class: dns.ClassINET,
		Ttl: uint32(ttl / time.Second)}
}

func soaRecord(t *cloudmap.Table) dns.RR {
	zone := dns.Fqdn(t.Name)
	return &dns.SOA{Hdr: dns.RR_Header{Name: zone, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: negativeTTL},
		Ns: "ns-1536.awsdns-00.co.uk.", Mbox: "awsdns-hostmaster.amazon.com.", Serial: 1, Refresh: 7200, Retry: 900,
		Expire: 1209600, Minttl: negativeTTL}
}

// randomAt returns a number in [0,1) for a position in the n-th answer. Concurrent questions get
// their numbers in any order, as with any name server.
func (d *DNS) randomAt(n uint64, place int) float64 {
	x := d.seed + n*0x9e3779b97f4a7c15 + uint64(place)*0xd1b54a32d192ed03
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
