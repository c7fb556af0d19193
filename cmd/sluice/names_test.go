package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sort"
	"strconv"
	"strings"

	"github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/testscript"
)

// lookups asks the name server for a name so often, each time anew as a caller
// without a cache would, sends a request to the first address, and counts the
// answers.
func lookups(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: lookups name port requests")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	s := theSim(ts)
	counts := map[string]int{}
	for range n {
		counts[s.ask(args[0], args[1])]++
	}
	var rows []string
	for a, n := range counts {
		rows = append(rows, fmt.Sprintf("%s %d", a, n))
	}
	sort.Strings(rows)
	fmt.Fprintln(ts.Stdout(), strings.Join(rows, "\n"))
}

// ask is one request to the first address that a name has now.
func (l *local) ask(name, port string) string {
	m, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA), l.at.DNS())
	if err != nil || len(m.Answer) == 0 {
		return "no record"
	}
	to := net.JoinHostPort(m.Answer[0].(*dns.A).A.String(), port)
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: l.dial}}
	r, err := c.Get("http://" + to + "/")
	if err != nil {
		return "failed"
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	if v := version.FindString(string(body)); r.StatusCode == http.StatusOK && v != "" {
		return v
	}
	return "failed"
}

// dial reaches an address of the simulated network.
func (l *local) dial(ctx context.Context, _, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return l.at.Dial(ctx, to)
}
