package metrics

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
)

const (
	listener = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef"
	primary  = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-primary/0123456789abcdef"
	canary   = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/fedcba9876543210"
)

func at(minutes int) time.Time { return time.Date(2027, 1, 2, 12, minutes, 0, 0, time.UTC) }

func count(requests, errors int) *sluice.RequestCount {
	return &sluice.RequestCount{Requests: requests, Errors: errors}
}

func counted(minute int, primary, canary *sluice.RequestCount) string {
	e := sluice.RequestsCounted{From: at(minute), To: at(minute + 1), Primary: primary, Canary: canary}
	if primary != nil {
		e.Share = sluice.MeasureShare(primary.Requests, canary.Requests)
	}
	return e.Text()
}

// A group without a point had no request if the load balancer reported the minute, and an unknown
// number otherwise.
func TestNewestMinute(t *testing.T) {
	span := Span{at(0), at(10)}
	some := func(minutes ...int) Points {
		p := Points{}
		for _, m := range minutes {
			p[at(m)] = float64(100 + m)
		}
		return p
	}
	for name, c := range map[string]struct {
		balancer, primary, primaryErrors, canary, canaryErrors Points
		want                                                   string
	}{
		"all":        {some(8, 9), some(8, 9), some(), some(8, 9), some(9), counted(9, count(109, 0), count(109, 109))},
		"no canary":  {some(9), some(9), some(), some(8), some(8), counted(9, count(109, 0), count(0, 0))},
		"others":     {some(9), some(), some(), some(), some(), counted(9, count(0, 0), count(0, 0))},
		"none":       {some(), some(), some(), some(), some(), counted(9, nil, nil)},
		"older":      {some(3, 7), some(3, 7), some(), some(3), some(3), counted(7, count(107, 0), count(0, 0))},
		"after span": {some(10), some(10), some(), some(10), some(), counted(9, nil, nil)},
	} {
		got := newestMinute(span, signalWindows(span,
			[]Points{c.balancer, c.canaryErrors, c.canary, c.primaryErrors, c.primary}))
		if got.Text() != c.want {
			t.Errorf("%s: %s, want %s", name, got.Text(), c.want)
		}
	}
}

func TestCompleteMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		since, now, from, to time.Time
	}{
		"none is complete":     {at(0).Add(time.Second), at(4).Add(59 * time.Second), at(1), at(1)},
		"the first":            {at(0).Add(time.Second), at(5), at(1), at(2)},
		"a minute that begins": {at(0), at(4), at(0), at(1)},
		"not older than ten":   {at(0), at(40).Add(30 * time.Second), at(27), at(37)},
		"no beginning":         {time.Time{}, at(40), at(27), at(37)},
	} {
		span, ok := CompleteMinutes(c.since, c.now)
		if !span.From.Equal(c.from) || !span.To.Equal(c.to) || ok != c.from.Before(c.to) {
			t.Errorf("%s: %v %t", name, span, ok)
		}
	}
}

func TestGroupsOfOtherLoadBalancers(t *testing.T) {
	rule := "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/0123456789abcdef/0123/4567"
	for arn, want := range map[string]bool{listener: true, rule: true,
		"arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/net/web/0123456789abcdef/0123": false,
		"arn:aws:vpc-lattice:us-east-1:123456789012:service/svc-1/listener/listener-1":               false, "": false} {
		g, ok := GroupsOf(arn, primary, canary)
		if ok != want || ok && g != (TargetGroups{"app/web/0123456789abcdef", "targetgroup/web-primary/0123456789abcdef",
			"targetgroup/web-canary/fedcba9876543210"}) {
			t.Errorf("%s: %+v %t", arn, g, ok)
		}
	}
	if _, ok := GroupsOf(listener, primary, ""); ok {
		t.Error("there is no canary group")
	}
}

// The figures are the requests that callers sent in the minute that is named, and the share is that of the canary.
func TestReadRequests(t *testing.T) {
	runShared(t, 1, func(b *sharedBench) {
		b.sleep(20 * time.Minute)
		span, _ := CompleteMinutes(time.Time{}, b.clock.Now())
		for range 2 { // the second time without a call
			got, err := b.reader.ReadRequests(t.Context(), b.groups[0], span)
			if err != nil {
				t.Fatal(err)
			}
			want := "requests 12:16–12:17 UTC: primary 540 (0 with 5xx), canary 60 (12 with 5xx), share 10.0 % (7.8–12.7 %)"
			if got.Text() != want {
				t.Errorf("%s, want %s", got.Text(), want)
			}
		}
		if len(b.calls) != 1 {
			t.Errorf("%d calls", len(b.calls))
		}
	})
}
