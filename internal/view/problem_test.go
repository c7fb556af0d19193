package view_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	. "github.com/sluice-ecs/sluice/internal/view"
)

const (
	blue, green, others = "arn:…:targetgroup/blue/1", "arn:…:targetgroup/green/2", "arn:…:targetgroup/others/3"
	empty               = "arn:…:targetgroup/empty/4" // of another service
	balancer            = "arn:…:loadbalancer/app/web/1"
)

// traffic is a read with the healthy targets of blue and green, and the rules.
func traffic(healthyBlue, healthyGreen int, s Scope, rules ...Route) Traffic {
	t := Traffic{SentAt: time.Unix(1, 0)}
	t.AddGroup(Group{ARN: blue, Read: true, Healthy: healthyBlue, Targets: healthyBlue})
	t.AddGroup(Group{ARN: green, Read: true, Healthy: healthyGreen, Targets: healthyGreen})
	t.AddRoutes(s, Traffic{}, rules, []string{"listener"})
	return t
}

func rule(name string, shares ...sluice.Share) Route {
	return Route{Rule: sluice.Rule{ARN: name, Listener: "listener", Balancer: balancer, Port: 80, Priority: name,
		Forward: shares}}
}

func to(group string, weight int) sluice.Share { return sluice.Share{Group: group, Weight: weight} }

// Each row is one rule, and why its callers do not get the version; empty: they do, or the rule is not for them.
func TestProblems(t *testing.T) {
	both := func(b, g int) Route { return rule("1", to(blue, b), to(green, g)) }
	reached := traffic(2, 0, Scope{}, both(100, 0))
	fixed := rule("1")
	fixed.Action = "fixed-response"
	redirect := rule("1")
	redirect.Action, redirect.ToPort = "redirect", 443
	at443 := func(group string, weight int) Route {
		r := rule("default", to(group, weight))
		r.ARN, r.Listener, r.Port = "secure", "listener 443", 443
		return r
	}
	elsewhere, looped, shared443, lost443, narrow := redirect, redirect, at443(blue, 1), at443(blue, 1), redirect
	elsewhere.ToPort, looped.ToPort = 0, 80
	shared443.Forward = append(shared443.Forward, to(others, 9))
	lost443.ARN, lost443.Priority, lost443.Forward, lost443.Action = "lost", "1", nil, "fixed-response"
	narrow.ARN, narrow.Priority, narrow.Conditions = "5", "5", []Condition{{Field: "path-pattern", Values: []string{"/api/v1/*"}}}
	when := func(r Route, values ...string) Route {
		r.Conditions = []Condition{{Field: "path-pattern", Values: values}}
		return r
	}
	front := when(rule("1"), "/*")
	front.Action = "fixed-response"
	fifth := func(values ...string) Route { return when(rule("5", to(blue, 1)), values...) }
	api := traffic(2, 0, Scope{}, fifth("/api/*"))
	moved := fifth("/api/*")
	moved.Port = 81
	for name, c := range map[string]struct {
		now     Traffic
		before  Traffic
		serving []string
		want    string
	}{
		"served":                        {now: traffic(2, 0, Scope{}, both(100, 0))},
		"both serve":                    {now: traffic(2, 1, Scope{}, both(80, 20))},
		"an empty group has weight":     {now: traffic(2, 0, Scope{}, both(80, 20)), want: "20 % of the requests to green, which has no targets"},
		"no weight":                     {now: traffic(2, 0, Scope{}, both(0, 0)), want: "gives weight to no target group"},
		"no weight any more":            {now: traffic(2, 0, Scope{}, both(0, 0)), before: reached, want: "gives weight to no target group"},
		"another version":               {now: traffic(2, 2, Scope{}, both(0, 100)), serving: []string{blue}, want: "runs another version"},
		"other services have weight":    {now: traffic(2, 0, Scope{}, rule("1", to(blue, 50), to(others, 50)))},
		"only another, empty service":   {now: withOther(0, 0, rule("1", to(blue, 0), to(others, 100))), want: "100 % of the requests to others, which has no healthy target"},
		"another, empty service too":    {now: withOther(0, 0, rule("1", to(blue, 50), to(others, 50))), want: "50 % of the requests to others, which has no healthy target"},
		"another, unhealthy service":    {now: withOther(2, 2, rule("1", to(blue, 0), to(others, 100))), want: "100 % of the requests to others, which has no healthy target"},
		"another service that serves":   {now: withOther(2, 1, rule("1", to(blue, 0), to(others, 100)))},
		"an empty default below a rule": {now: withOther(0, 0, rule("default", to(blue, 0), to(others, 100)), rule("1", to(blue, 100)))},
		"an empty default alone":        {now: withOther(0, 0, rule("default", to(blue, 0), to(others, 100))), want: "others, which has no healthy target"},
		"a rule of another service":     {now: withOther(0, 0, rule("1", to(others, 100)))},
		"only other services":           {now: traffic(2, 0, Scope{}, rule("1", to(blue, 0), to(others, 100)))},
		"only other services now":       {now: traffic(2, 0, Scope{}, rule("1", to(blue, 0), to(others, 100))), before: reached, want: "forwards to blue 0, others 100"},
		"a test rule of the canary":     {now: traffic(2, 0, Scope{TestGroup: green}, both(100, 0), rule("2", to(green, 1)))},
		"a rule that the file names":    {now: traffic(2, 0, Scope{TestGroup: green, Rules: []string{"2"}}, rule("2", to(green, 1))), want: "has no targets"},
		"a listener for tests":          {now: traffic(2, 0, Scope{Listeners: []string{"other"}, TestRules: []string{"listener"}}, rule("2", to(green, 1)))},
		"a new listener to no target":   {now: traffic(2, 0, Scope{Listeners: []string{"other"}}, rule("default", to(green, 1))), before: reached, want: "default rule of port 80 sends 100 % of the requests to green, which has no targets"},
		"a new listener that is served": {now: traffic(2, 0, Scope{Listeners: []string{"other"}}, rule("default", to(blue, 1))), before: reached},
		"a new rule to no target":       {now: traffic(2, 0, Scope{Rules: []string{"1"}}, both(100, 0), when(rule("0", to(green, 1)), "/a")), before: reached, want: "rule 0 of port 80 sends"},
		"a rule to the former version":  {now: traffic(2, 2, Scope{Rules: []string{"1"}}, both(100, 0), when(rule("0", to(green, 1)), "/a")), serving: []string{blue}, want: "rule 0 of port 80 sends 100 % of the requests to green, which runs another version"},
		"a hidden rule to no target":    {now: traffic(2, 0, Scope{Rules: []string{"1"}}, when(both(100, 0), "/*"), when(rule("2", to(green, 1)), "/a"))},
		"a rule that is gone":           {now: gone(reached), before: reached, want: "no longer exists: the rule was deleted"},
		"a rule that another replaces":  {now: gone(reached, rule("2", to(blue, 1))), before: reached},
		"a redirect that is served":     {now: gone(reached, redirect, at443(blue, 1)), before: reached},
		"a redirect to no target":       {now: traffic(2, 0, Scope{Rules: []string{"1"}}, redirect, at443(green, 1)), before: reached, want: "default rule of port 443 sends 100 % of the requests to green, which has no targets"},
		"a redirect to others":          {now: gone(reached, redirect, at443(others, 1)), before: reached, want: "rule 1 of port 80 no longer forwards: its action is redirect"},
		"a redirect to no listener":     {now: gone(reached, redirect), before: reached, want: "its action is redirect"},
		"a redirect to another host":    {now: gone(reached, elsewhere, at443(blue, 1)), before: reached, want: "its action is redirect"},
		"a redirect to a part":          {now: gone(reached, redirect, shared443), before: reached, want: "its action is redirect"},
		"a redirect of fewer requests":  {now: gone(api, narrow, at443(blue, 1)), before: api, want: "were path /api/*"},
		"a redirect to a lost path":     {now: gone(reached, redirect, at443(blue, 1), lost443), before: reached, want: "its action is redirect"},
		"a redirect to itself":          {now: gone(reached, looped), before: reached, want: "its action is redirect"},
		"a redirect in front":           {now: traffic(2, 0, Scope{}, when(redirect, "/*"), fifth("/api/*"), at443(blue, 1)), before: api},
		"a fixed response":              {now: gone(reached, fixed), before: reached, want: "its action is fixed-response"},

		"a rule in front": {now: traffic(2, 0, Scope{}, fifth("/api/*"), front),
			want: "rule 5 of port 80 gets no requests: rule 1 of port 80, whose action is fixed-response, gets them first"},
		"a rule in front of the default": {now: traffic(2, 0, Scope{}, front, rule("default", to(blue, 1))),
			want: "default rule of port 80 gets no requests"},
		"a rule in front now": {now: traffic(2, 0, Scope{}, fifth("/api/*"), when(rule("1", to(others, 1)), "/api/*"),
			rule("default", to(blue, 1))), before: api, want: "rule 1 of port 80, which forwards to others 1"},
		"a rule in front, and others serve": {now: traffic(2, 0, Scope{}, fifth("/api/*"), when(rule("1", to(others, 1)),
			"/api/*"), rule("default", to(blue, 1)))},
		"a rule behind":               {now: traffic(2, 0, Scope{}, when(rule("0", to(blue, 1)), "/*"), front)},
		"a rule in front for a part":  {now: traffic(2, 0, Scope{}, when(rule("1", to(others, 1)), "/api/v1*"), fifth("/api/*"))},
		"a rule in front that serves": {now: traffic(2, 0, Scope{}, when(rule("1", to(blue, 1)), "/*"), fifth("/api/*"))},
		"a test rule in front of all": {now: traffic(2, 0, Scope{TestGroup: green}, when(rule("1", to(green, 1)), "*"), fifth("/api/*")), want: "gets no requests"},
		"other conditions":            {now: traffic(2, 0, Scope{}, fifth("/nothing")), before: api, want: "its conditions are path /nothing, and were path /api/*"},
		"wider conditions":            {now: traffic(2, 0, Scope{}, fifth("/a*")), before: api},
		"more conditions":             {now: traffic(2, 0, Scope{}, fifth("/api/*", "/b")), before: api},
		"narrower conditions":         {now: traffic(2, 0, Scope{}, fifth("/api/v1/*")), before: api, want: "were path /api/*"},
		"moved to another rule":       {now: traffic(2, 0, Scope{}, fifth("/b"), when(rule("9", to(blue, 1)), "/api/*")), before: api},
		"another port":                {now: traffic(2, 0, Scope{}, moved), before: api, want: "its listener has port 81, and had 80"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Texts(c.now.Problems(c.before, c.serving...))
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A load balancer sends requests to all targets of a group of which none is healthy: callers reach the service, and
// that is no success. Targets that no health check tries get none.
func TestGroupThatFailsOpen(t *testing.T) {
	const lead = "callers do not reach the service"
	of := func(b, g Group, r Route) Traffic {
		b.ARN, b.Read, g.ARN, g.Read = blue, true, green, true
		now := Traffic{SentAt: time.Unix(1, 0), Groups: []Group{b, g}}
		now.AddRoutes(Scope{}, Traffic{}, []Route{r}, []string{"listener"})
		return now
	}
	all, both := rule("1", to(blue, 100), to(green, 0)), rule("1", to(blue, 80), to(green, 20))
	fails := Group{Targets: 3, Unhealthy: 3}
	for name, c := range map[string]struct {
		now  Traffic
		want string
	}{
		"all fail": {of(fails, Group{}, all), "no target of blue is healthy, so the load balancer sends requests to all " +
			"3 targets (rule 1 of port 80: 100 % of the requests)"},
		"one fails": {of(Group{Targets: 1, Unhealthy: 1}, Group{}, all), "no target of blue is healthy, so the load " +
			"balancer sends requests to its only target (rule 1 of port 80: 100 % of the requests)"},
		"of a part of the requests": {of(Group{Targets: 2, Healthy: 2}, fails, both), "no target of green is healthy, so " +
			"the load balancer sends requests to all 3 targets (rule 1 of port 80: 20 % of the requests)"},
		"one is being registered": {of(Group{Targets: 3, Unhealthy: 2, Untried: 1}, Group{}, all),
			"no target of blue is healthy, so the load balancer sends requests to all 2 targets (rule 1 of port 80: 100 % " +
				"of the requests)"},
		"all are being registered": {of(Group{Targets: 2, Untried: 2}, Group{}, all),
			lead + ": rule 1 of port 80 sends 100 % of the requests to blue, which has no healthy target"},
		"all are unused": {of(Group{Targets: 2, Unused: 2}, Group{}, all),
			lead + ": rule 1 of port 80 sends 100 % of the requests to blue, which has no healthy target"},
		"another group is empty": {of(fails, Group{}, both),
			lead + ": rule 1 of port 80 sends 20 % of the requests to green, which has no targets"},
		"of another service": {withOther(2, 2, rule("1", to(blue, 0), to(others, 100))), "rule 1 of port 80 sends 100 % " +
			"of the requests to others, which has no healthy target: the load balancer sends requests to all 2 targets"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := c.now.Problems(Traffic{})
			if got := Describe(lead, problems); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			confirms := Confirmation{Says: "web:1 runs"}
			if d := confirms.Decide(c.now, problems, Tasks{}, ConfirmGrace); !d.Failed {
				t.Errorf("%+v, want a failure", d)
			}
		})
	}
}

// A group of which no target passes a health check that was changed: the problem and its next step name the change.
func TestProblemNamesTheChangedCheck(t *testing.T) {
	read := func(healthy int, check HealthCheck) Traffic {
		now := Traffic{SentAt: time.Unix(1, 0), Groups: []Group{{ARN: blue, Read: true, Targets: 2, Healthy: healthy,
			Unhealthy: 2 - healthy, Check: check}}}
		now.AddRoutes(Scope{}, Traffic{}, []Route{rule("1", to(blue, 1))}, []string{"listener"})
		return now
	}
	before := read(2, NewHealthCheck(map[string]string{"health check path": "/", "success codes": "200", "port": "80"}))
	for want, check := range map[string]HealthCheck{
		"the health check of blue was changed during the deployment: path / → /x, success codes 200 → none": {"path": "/x"},
		"": {"path": "/", "success codes": "200"},
	} {
		p := read(0, check).Problems(before)[0]
		if strings.Contains(p.Why, "was changed") != (want != "") || !strings.HasSuffix(p.Why, want) ||
			strings.Contains(p.Next(), "describe-target-groups --target-group-arns "+blue) != (want != "") {
			t.Errorf("%q, want %q; next: %s", p.Why, want, p.Next())
		}
	}
	if unread := read(0, nil).Problems(before)[0]; strings.Contains(unread.Why, "was changed") {
		t.Error("a check that was not read is called changed")
	}
}

// The service names a rule that somebody made again: callers reach the service by the new one, whenever that was.
func TestRuleThatWasMadeAgain(t *testing.T) {
	const former = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/1/2/3"
	again := rule("1", to(blue, 1))
	again.ARN, again.Listener = former[:len(former)-1]+"4", sluice.RuleOfARN(former).Listener
	again.Balancer = sluice.RuleOfARN(former).Balancer
	now := traffic(2, 0, Scope{}, again)
	now.AddDeletedRules(Scope{Rules: []string{former}}, []Route{again}, []string{again.Listener})
	if got := Texts(now.Problems(Traffic{})); got != "" {
		t.Errorf("problems %q, want none", got)
	}
	again.Port = 81
	moved := traffic(2, 0, Scope{}, again)
	moved.AddDeletedRules(Scope{Rules: []string{former}}, []Route{rule("1")}, []string{again.Listener})
	if got := Texts(moved.Problems(Traffic{})); !strings.Contains(got, "the rule was deleted") {
		t.Errorf("problems %q, want that the rule was deleted: the other one is of another port", got)
	}
}

// A condition covers another one if each request that meets that one meets this one too.
func TestRuleInFront(t *testing.T) {
	type conditions = []Condition
	path := func(v ...string) Condition { return Condition{Field: "path-pattern", Values: v} }
	host := func(v ...string) Condition { return Condition{Field: "host-header", Values: v} }
	header := func(name string, v ...string) Condition {
		return Condition{Field: "http-header", Header: name, Values: v}
	}
	regex := func(field, v string) Condition { return Condition{Field: field, Values: []string{v}, Regex: true} }
	ip := func(v ...string) Condition { return Condition{Field: "source-ip", Values: v} }
	for name, c := range map[string]struct {
		front, behind conditions
		hides         bool
	}{
		"any path":                  {conditions{path("/*")}, conditions{host("a.example.com")}, true},
		"any host and path":         {conditions{host("*"), path("*")}, nil, true},
		"any network":               {conditions{{Field: "source-ip", Values: []string{"0.0.0.0/0"}}}, nil, true},
		"the default":               {conditions{path("/a")}, nil, false},
		"the same":                  {conditions{path("/a"), host("x")}, conditions{host("X"), path("/a")}, true},
		"one more condition":        {conditions{path("/a"), host("x")}, conditions{path("/a")}, false},
		"one of two values":         {conditions{path("/a")}, conditions{path("/a", "/b")}, false},
		"both values":               {conditions{path("/a", "/b", "/c")}, conditions{path("/a", "/b")}, true},
		"a prefix":                  {conditions{path("/a*")}, conditions{path("/api/*")}, true},
		"a longer prefix":           {conditions{path("/api/*")}, conditions{path("/a*")}, false},
		"one character":             {conditions{path("/a?")}, conditions{path("/ab")}, true},
		"any for one":               {conditions{path("/a?")}, conditions{path("/a*")}, false},
		"in the middle":             {conditions{path("/a*c")}, conditions{path("/abc")}, true},
		"another header":            {conditions{header("a", "1")}, conditions{header("b", "1")}, false},
		"any of a header":           {conditions{header("a", "*")}, nil, false},
		"case of paths":             {conditions{path("/A")}, conditions{path("/a")}, false},
		"any of an expression":      {conditions{regex("host-header", "^.*$")}, conditions{path("/a")}, true},
		"an expression":             {conditions{regex("host-header", `.*\.example\.com`)}, conditions{host("a.example.com")}, true},
		"an expression for another": {conditions{regex("host-header", `.*\.example\.com`)}, conditions{host("a.example.org")}, false},
		"a part of the host":        {conditions{regex("host-header", "example")}, conditions{host("a.example.com")}, false},
		"an expression for any":     {conditions{regex("host-header", "a.*")}, conditions{host("a*")}, false},
		"the same expression":       {conditions{regex("path-pattern", "/a+")}, conditions{regex("path-pattern", "/a+")}, true},
		"a pattern before one":      {conditions{path("/a*")}, conditions{regex("path-pattern", "/a+")}, false},
		"any client":                {conditions{header("User-Agent", "*")}, nil, true},
		"two halves":                {conditions{ip("0.0.0.0/1", "128.0.0.0/1")}, nil, true},
		"less than two halves":      {conditions{ip("0.0.0.0/1", "128.0.0.0/2")}, nil, false},
		"a wider network":           {conditions{ip("10.0.0.0/8")}, conditions{ip("10.1.0.0/16", "10.2.0.0/16")}, true},
		"a smaller network":         {conditions{ip("10.1.0.0/16")}, conditions{ip("10.0.0.0/8")}, false},
		"four parts of a network":   {conditions{ip("10.0.0.0/10", "10.64.0.0/10", "10.128.0.0/9")}, conditions{ip("10.0.0.0/8")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			front, behind := rule("1", to(others, 1)), rule("2", to(blue, 1))
			front.Conditions, behind.Conditions = c.front, c.behind
			problems := traffic(1, 0, Scope{}, behind, front).Problems(Traffic{})
			if got := len(problems) > 0; got != c.hides {
				t.Errorf("problems %q, want that the rule is hidden: %t", Texts(problems), c.hides)
			}
		})
	}
}

// Rules hide another one together if each of its values is that of one of them.
func TestRulesInFrontTogether(t *testing.T) {
	path := func(v ...string) []Condition { return []Condition{{Field: "path-pattern", Values: v}} }
	first, second, behind := rule("1", to(others, 1)), rule("2", to(others, 1)), rule("3", to(blue, 1))
	behind.Conditions = append(path("/a", "/b"), Condition{Field: "host-header", Values: []string{"x", "y"}})
	for name, c := range map[string]struct {
		first, second []Condition
		own           bool // the second rule sends requests to the service
		hides         bool
	}{
		"each has a path":          {path("/a*"), path("/b"), false, true},
		"a path is left":           {path("/a*"), path("/c"), false, false},
		"each has a host":          {[]Condition{{Field: "host-header", Values: []string{"x"}}}, behind.Conditions[1:], false, true},
		"one serves the same ones": {path("/a*"), path("/b"), true, false},
		"the first one hides all":  {path("/*"), path("/b"), true, true},
	} {
		first.Conditions, second.Conditions = c.first, c.second
		second.Forward = []sluice.Share{to(others, 1)}
		if c.own {
			second.Forward = []sluice.Share{to(blue, 1)}
		}
		all := traffic(1, 0, Scope{}, behind, second, first).Problems(Traffic{})
		hidden := slices.ContainsFunc(all, func(p Problem) bool { return p.Route.ARN == behind.ARN })
		if hidden != c.hides {
			t.Errorf("%s: problems %q, want that the rule is hidden: %t", name, Texts(all), c.hides)
		}
	}
}

// The advice to restore a rule names the group where the version runs: CodeDeploy or ECS may have moved the service
// since the rule was edited.
func TestNextNamesTheGroupThatCanServe(t *testing.T) {
	fixed := rule("1")
	fixed.Action = "fixed-response"
	reached := traffic(2, 0, Scope{}, rule("1", to(blue, 100), to(green, 0)))
	for name, c := range map[string]struct {
		healthyBlue, healthyGreen int
		serving                   []string
		want                      string
	}{
		"blue serves":           {2, 0, []string{blue, green}, "restore its forward action, to blue: "},
		"the service has moved": {0, 2, []string{blue, green}, "restore its forward action, to green: "},
		"both serve":            {2, 2, nil, "restore its forward action, to blue or green: "},
		"green has another one": {2, 2, []string{blue}, "restore its forward action, to blue: "},
		"none serves":           {0, 0, nil, "restore its forward action: "},
	} {
		now := traffic(c.healthyBlue, c.healthyGreen, Scope{})
		now.AddRoutes(Scope{}, reached, []Route{fixed}, []string{"listener"})
		all := now.Problems(reached, c.serving...)
		if len(all) == 0 || !strings.Contains(all[0].Next(), c.want) {
			t.Errorf("%s: %+v, want %q", name, all, c.want)
		}
	}
}

// withOther is a read in which blue serves, and the group of another service has targets.
func withOther(targets, unhealthy int, routes ...Route) Traffic {
	t := traffic(2, 0, Scope{}, routes...)
	_ = t.ReadOthers(func(arn string) (Group, error) {
		return Group{ARN: arn, Read: true, Targets: targets, Unhealthy: unhealthy}, nil
	})
	return t
}

// Only the rules that were a problem before are forgiven.
func TestProblemsOfBefore(t *testing.T) {
	broken := rule("1", to(green, 1))
	before := traffic(2, 0, Scope{}, broken, rule("2", to(blue, 1)))
	if same := traffic(2, 0, Scope{}, broken, rule("2", to(blue, 1))); !before.Had(same.Problems(Traffic{})) {
		t.Error("the same problem is called a new one")
	}
	if more := traffic(2, 0, Scope{}, broken, rule("2", to(green, 1))); before.Had(more.Problems(Traffic{})) {
		t.Error("a problem of another rule is called one of before")
	}
}

// gone is a later read without the rules of before, and with others.
func gone(before Traffic, rules ...Route) Traffic {
	t := Traffic{SentAt: time.Unix(2, 0)}
	t.AddGroup(Group{ARN: blue, Read: true, Healthy: 2, Targets: 2})
	t.AddRoutes(Scope{}, before, rules, []string{"listener"})
	return t
}

// Repaired weights lead to a group that can serve. Weights that do, and those of other services, stay.
func TestRepaired(t *testing.T) {
	for name, c := range map[string]struct {
		blue, green int
		forward     []sluice.Share
		want        []sluice.Share // nil: nothing to repair
	}{
		"served":         {2, 0, []sluice.Share{to(blue, 100), to(green, 0)}, nil},
		"an empty group": {2, 0, []sluice.Share{to(blue, 0), to(green, 100)}, []sluice.Share{to(blue, 100), to(green, 0)}},
		"a part":         {2, 0, []sluice.Share{to(blue, 80), to(green, 20)}, []sluice.Share{to(blue, 100), to(green, 0)}},
		"no weight":      {2, 0, []sluice.Share{to(blue, 0), to(green, 0)}, []sluice.Share{to(blue, 100), to(green, 0)}},
		"prefers blue":   {2, 2, []sluice.Share{to(green, 0), to(blue, 0)}, []sluice.Share{to(green, 0), to(blue, 100)}},
		"more than AWS allows": {2, 0, []sluice.Share{to(blue, 999), to(green, 1)},
			[]sluice.Share{to(blue, 999), to(green, 0)}},
		"no group serves": {0, 0, []sluice.Share{to(blue, 0), to(green, 100)}, nil},
		"an empty group of another service": {2, 0, []sluice.Share{to(blue, 0), to(empty, 100)},
			[]sluice.Share{to(blue, 100), to(empty, 0)}},
		"of other service": {2, 0, []sluice.Share{to(blue, 0), to(others, 100)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := traffic(c.blue, c.green, Scope{})
			now.Others = []Group{{ARN: empty, Read: true}}
			got, ok := now.Repaired(c.forward, blue)
			if ok != (c.want != nil) {
				t.Fatalf("repaired %t: %v", ok, got)
			}
			for i, w := range c.want {
				if got[i] != w {
					t.Errorf("%v, want %v", got, c.want)
				}
			}
		})
	}
}

// A rule that forwards only to groups of the service that cannot serve is sent to the group with tasks that it does not
// name. Their health is not known, because no rule names the group.
func TestRerouted(t *testing.T) {
	for name, c := range map[string]struct {
		unused  int
		forward []sluice.Share
		want    []sluice.Share // nil: the rule stays
	}{
		"to the empty group":                   {2, []sluice.Share{to(green, 100)}, []sluice.Share{to(green, 0), to(blue, 100)}},
		"no group has tasks":                   {0, []sluice.Share{to(green, 100)}, nil},
		"another service has a part":           {2, []sluice.Share{to(green, 50), to(others, 50)}, nil},
		"it does not forward":                  {2, nil, nil},
		"a group that was not read may serve":  {2, []sluice.Share{to("arn:…:targetgroup/unread/5", 100)}, nil},
		"the group of the rule has targets":    {2, []sluice.Share{to("arn:…:targetgroup/serving/6", 100)}, nil},
		"the group of the rule does not exist": {2, []sluice.Share{to("arn:…:targetgroup/gone/7", 100)}, []sluice.Share{to(blue, 100)}},
	} {
		t.Run(name, func(t *testing.T) {
			now := Traffic{SentAt: time.Unix(1, 0)}
			for _, g := range []Group{{ARN: blue, Read: true, Unused: c.unused, Targets: c.unused}, {ARN: green, Read: true},
				{ARN: "arn:…:targetgroup/unread/5"}, {ARN: "arn:…:targetgroup/serving/6", Read: true, Healthy: 1},
				{ARN: "arn:…:targetgroup/gone/7", Deleted: true}} {
				now.AddGroup(g)
			}
			got, ok := now.Rerouted(c.forward)
			if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
				t.Errorf("rerouted %t: %v, want %v", ok, got, c.want)
			}
			now.AddRoutes(Scope{}, Traffic{}, []Route{{Rule: sluice.Rule{ARN: "rule", Forward: c.forward}}}, nil)
			now.Groups[3].Healthy = 0
			if all := now.Repairable(); c.want != nil && len(all) != 1 {
				t.Errorf("problems that a change of the rule mends: %v, want one", all)
			}
			now.TestGroup = blue
			if got, ok := now.Rerouted(c.forward); ok {
				t.Errorf("rerouted to the canary: %v", got)
			}
			if all := now.Repairable(); len(all) > 0 {
				t.Errorf("problems that a change of the rule mends, while only the canary has tasks: %v, want none", all)
			}
		})
	}
}

// A forward action that is to be restored keeps the share of another service.
func TestNextKeepsTheShareOfAnotherService(t *testing.T) {
	shared := traffic(2, 0, Scope{}, rule("1", to(blue, 80), to(others, 20)))
	for want, c := range map[string]struct{ now, before Traffic }{
		"restore its forward action, to blue beside others 20: ": {
			traffic(2, 0, Scope{}, rule("1", to(blue, 30), to(others, 70))), shared},
		"restore its forward action, to blue beside others 20:": {
			traffic(2, 0, Scope{}, rule("1", to(blue, 0), to(others, 100))), shared},
		"restore its forward action, to blue: ": {
			traffic(2, 0, Scope{}, rule("1", to(blue, 0), to(others, 100))), traffic(2, 0, Scope{}, rule("1", to(blue, 100)))},
	} {
		all := c.now.Problems(c.before)
		if len(all) != 1 || !strings.Contains(all[0].Next(), want) {
			t.Errorf("%+v; want %q", all, want)
		}
	}
}

// The next step about a listener that others deleted creates it again, with the values that are known; about a rule
// that forwards to another service only, it leads the rule back.
func TestNextCreatesTheListenerAgain(t *testing.T) {
	listener := func(protocol string, port int, shares ...sluice.Share) Traffic {
		r := rule("default", shares...)
		r.Balancer, r.Port, r.ListenerProtocol = "lb", port, protocol
		return traffic(2, 2, Scope{}, r)
	}
	const command = "aws elbv2 create-listener --load-balancer-arn lb --protocol "
	for name, c := range map[string]struct {
		before  Traffic
		serving []string
		want    string
	}{
		"one group serves": {listener("HTTP", 80, to(blue, 100)), []string{green},
			"create the listener again: " + command + "HTTP --port 80 --default-actions Type=forward,TargetGroupArn=" + green},
		"both serve": {listener("TCP", 80, to(blue, 100), to(green, 0)), nil,
			"create the listener again: " + command + "TCP --port 80 --default-actions Type=forward,TargetGroupArn=" + blue},
		"both had requests": {listener("HTTP", 80, to(blue, 50), to(green, 50)), nil,
			"create the listener again, with its values for TARGET_GROUP: " + command +
				"HTTP --port 80 --default-actions Type=forward,TargetGroupArn=TARGET_GROUP"},
		"a certificate": {listener("HTTPS", 443, to(blue, 100)), nil,
			"create the listener again, with its values for CERTIFICATE: " + command +
				"HTTPS --port 443 --certificates CertificateArn=CERTIFICATE --default-actions Type=forward,TargetGroupArn=" + blue},
		"an earlier version read it": {listener("", 80, to(blue, 100)), nil,
			"create the listener again, with its values for PROTOCOL: " + command +
				"PROTOCOL --port 80 --default-actions Type=forward,TargetGroupArn=" + blue},
		"others had a part": {listener("HTTP", 80, to(blue, 50), to(others, 50)), nil, "create the rule again, with an action"},
	} {
		now := traffic(2, 2, Scope{})
		now.AddRoutes(Scope{}, c.before, nil, nil)
		all := now.Problems(c.before, c.serving...)
		if len(all) != 1 || !strings.HasPrefix(all[0].Next(), c.want) {
			t.Errorf("%s: %+v; want %q", name, all, c.want)
		}
		for i := range now.Routes {
			now.Routes[i].Gone = BalancerDeleted
		}
		if all := now.Problems(c.before, c.serving...); len(all) != 1 ||
			!strings.HasPrefix(all[0].Next(), "create the rule again") {
			t.Errorf("%s, without the load balancer: %+v", name, all)
		}
	}
	before, now := traffic(2, 0, Scope{}, rule("1", to(blue, 100))), traffic(2, 0, Scope{})
	now.AddRoutes(Scope{}, before, []Route{rule("1", to(others, 100))}, []string{"listener"})
	now.Routes[0].Returns = map[string]string{blue: "aws x"}
	if all := now.Problems(before); len(all) != 1 || all[0].Next() != "forward its requests to blue again: aws x" {
		t.Errorf("it forwards to another service: %+v", all)
	}
}
