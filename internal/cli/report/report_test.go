package report

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

const rule = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/1/2/3"

func canaryPlan() *plan.Plan {
	ten, hundred := sluice.CanaryShare(10), sluice.CanaryShare(0)
	route := func(w sluice.Weights) []plan.Route {
		return []plan.Route{{Rule: rule, Name: "rule 10 of port 80", Weights: w}}
	}
	modify := []sluice.Write{{Operation: "elasticloadbalancing:ModifyRule", Resource: rule}}
	return &plan.Plan{Application: "web", Account: "123456789012", Region: "us-east-1", Cluster: "prod", Service: "web",
		Controller: "EXTERNAL", Access: sluice.ELB, From: "web:1", To: "web", AutoRollback: true,
		Stages: []plan.Stage{
			{Index: 0, Name: appfile.StageCanaryRollout, Scale: 50,
				Writes: []sluice.Write{{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}}},
			{Index: 1, Name: appfile.StageTrafficRouting, Weights: &ten, Routes: route(ten), Writes: modify},
			{Index: 2, Name: appfile.StageWait, Duration: time.Minute},
			{Index: 3, Name: appfile.StageApproval, Approvals: 1}},
		Rollback: plan.Stage{Index: 4, Name: appfile.StageRollback, Routes: route(hundred), Writes: modify},
		Changes: []plan.Change{{Of: "task definition", Path: "containerDefinitions[web].image", Have: "sim/web:v1",
			Want: "sim/web:v2", Kind: plan.Alters},
			{Of: "service", Path: "tags[team]", Want: "shop", Kind: plan.Adds}},
		Warnings: []string{"target group web-primary drains for 5m0s"}}
}

func canaryEvents() (all []sluice.Envelope) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	add := func(seconds int, e sluice.Event) {
		sealed := sluice.Seal("slc-1", "", e)
		sealed.At = began.Add(time.Duration(seconds) * time.Second)
		all = append(all, sealed)
	}
	add(0, sluice.StageStarted{Index: 0, Name: appfile.StageCanaryRollout, Attempt: 1})
	add(31, sluice.StageEnded{Index: 0, Name: appfile.StageCanaryRollout, Status: "done"})
	add(31, sluice.StageStarted{Index: 1, Name: appfile.StageTrafficRouting, Attempt: 1})
	add(33, sluice.TrafficShifted{FromPrimary: 100, ToPrimary: 90, ToCanary: 10, Rules: []string{rule}})
	add(33, sluice.StageEnded{Index: 1, Name: appfile.StageTrafficRouting, Status: "done"})
	add(33, sluice.StageStarted{Index: 2, Name: appfile.StageWait, Attempt: 1})
	for minute := range 2 {
		add(60*minute+60, sluice.RequestsCounted{Primary: &sluice.RequestCount{Requests: 900},
			Canary: &sluice.RequestCount{Requests: 100, Errors: 3}})
		add(60*minute+60, sluice.GateRead{Gate: "errors", Verdict: sluice.GateUndecided,
			Canary: &sluice.GateCount{Bad: int64(3 * minute), All: int64(100 * minute)}})
	}
	add(90, sluice.Warned{Message: "rule 10 of port 80 was edited by somebody else"})
	add(120, sluice.Noted{Message: "log of web: fatal: <no> database", Log: "web"})
	add(120, sluice.Noted{Message: "a note that is no line of a log"})
	add(121, sluice.StageEnded{Index: 2, Name: appfile.StageWait, Status: "failed", Cause: "gate errors is bad"})
	add(121, sluice.StageStarted{Index: 4, Name: appfile.StageRollback, Attempt: 1})
	add(123, sluice.TrafficShifted{FromPrimary: 90, FromCanary: 10, ToPrimary: 100, Rules: []string{rule}})
	add(130, sluice.StageEnded{Index: 4, Name: appfile.StageRollback, Status: "done"})
	add(131, sluice.DeploymentEnded{Outcome: sluice.RolledBack, Cause: "gate errors is bad"})
	return all
}

func failedCanary() Report {
	r := Of(canaryPlan(), canaryEvents())
	r.Name, r.Outcome, r.Exit, r.Deployment, r.Revision = "prod/web", "rolled back", 3, "slc-1", "web:1"
	r.URL, r.Took, r.Cause, r.Next = "https://example.com/web", 131*time.Second, "gate errors is bad", "run sluice logs"
	return r
}

func TestSummary(t *testing.T) {
	goldentest.Check(t, "summary.md", Summary([]Report{failedCanary()}, 1<<20))
}

// A problem of a file has several lines: the summary shows them as they are, and what has room for one line shows the
// first.
func TestCauseOfSeveralLines(t *testing.T) {
	r := Unplanned("web", errors.New("sluice.yaml:7:32: unknown key \"max<Tasks\"\n   7 |   dev: {…}\n     |         ^\ndid you mean \"max\"?"), 1)
	if got, want := r.Markdown(), "**Cause:** <code>sluice.yaml:7:32: unknown key \"max&lt;Tasks\"</code>\n<pre>   7 &#124;   dev: {…}\n"+
		"     &#124;         ^\ndid you mean \"max\"?</pre>\n"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := r.Outputs(); !strings.Contains(got, "reason=sluice.yaml:7:32: unknown key \"max<Tasks\"\n") {
		t.Error(got)
	}
}

func TestOutputs(t *testing.T) { goldentest.Check(t, "outputs.txt", failedCanary().Outputs()) }

func TestJUnit(t *testing.T) {
	text, err := JUnit([]Report{failedCanary(), {Name: "prod/api", Outcome: "waiting", Exit: sluice.ExitAwaitApprove}})
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "junit.xml", text)
}

// A stage that another deployment or a person ended shows the word of that, and is no failed test.
func TestEndsThatSayNothingAboutTheVersion(t *testing.T) {
	for outcome, c := range map[string]struct {
		exit int
		last []sluice.Event
	}{
		"superseded": {sluice.ExitSuperseded, []sluice.Event{
			sluice.StageEnded{Index: 2, Name: appfile.StageWait, Status: "failed", Outcome: sluice.Superseded},
			sluice.DeploymentEnded{Outcome: sluice.Superseded}}},
		"stopped": {sluice.ExitStopped, []sluice.Event{sluice.DeploymentEnded{Outcome: sluice.Stopped}}},
		"paused":  {sluice.ExitStopped, []sluice.Event{sluice.DeploymentPaused{Why: "interrupted"}}},
	} {
		events := canaryEvents()
		events = events[:slices.IndexFunc(events, func(e sluice.Envelope) bool { return e.Kind == "stageEnded" })+1]
		for _, e := range append([]sluice.Event{sluice.StageStarted{Index: 2, Name: appfile.StageWait, Attempt: 1}}, c.last...) {
			events = append(events, sluice.Seal("slc-1", "", e))
		}
		r := Of(canaryPlan(), events)
		r.Name, r.Outcome, r.Exit, r.Cause = "prod/web", outcome, c.exit, "why"
		text, err := JUnit([]Report{r})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`<testsuites tests="5" failures="0">`, `skipped="4"`,
			`<skipped message="` + outcome + `: why">`, `<skipped message="` + outcome + `">`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s\nwant %s", outcome, text, want)
			}
		}
		if md := r.Markdown(); !strings.Contains(md, "| "+outcome+" |") {
			t.Errorf("%s: %s", outcome, md)
		}
	}
}

func TestPlanMarkdown(t *testing.T) {
	goldentest.Check(t, "plan.md", PlanMarkdown(canaryPlan(), &forecast.Forecast{Took: 3 * time.Minute}, 2))
}

// hostile has what ends a line, a table, an element or a code span, and what is obeyed by a log of CI.
const hostile = "a\n::error::b\r\n| x |\n</details><script>alert(1)</script> `c` ]]> ![i](http://x) @all \x1b[2J --password=PLANTED9"

// Text of AWS, of containers and of files stays text in every format.
func TestHostileTextIsOnlyShown(t *testing.T) {
	events := append(canaryEvents(), sluice.Seal("slc-1", "", sluice.Warned{Message: hostile}))
	pl := canaryPlan()
	pl.Warnings, pl.Changes[0].Want, pl.Changes[1].Path = []string{hostile}, hostile, hostile
	pl.Stages[1].Routes[0].Name = hostile
	r := Of(pl, events)
	r.Name, r.Outcome, r.Exit, r.Deployment, r.Cause, r.Next = hostile, "failed", 5, hostile, hostile, hostile
	r.Stages[2].Gates = []sluice.GateRead{{Gate: hostile}}
	plain := failedCanary()

	md := PlanMarkdown(pl, nil, 0) + r.Markdown()
	want := strings.Count(PlanMarkdown(canaryPlan(), nil, 0)+plain.Markdown(), "</details>")
	if got := strings.Count(md, "</details>"); got != want {
		t.Errorf("%d folds end, not %d", got, want)
	}
	for _, line := range strings.Split(md, "\n") {
		for _, obeyed := range []string{"<script", "`c`", "![i]", "\x1b", "PLANTED9", "\r"} {
			if strings.Contains(line, obeyed) {
				t.Errorf("%q is obeyed in %q", obeyed, line)
			}
		}
		cells := strings.Count(line, "|")
		if cells != 0 && cells != 4 && cells != 6 && cells != 7 || strings.HasPrefix(line, "::") || strings.HasPrefix(line, "| x") {
			t.Errorf("a line that the text has made: %q", line)
		}
	}

	if got := strings.Count(r.Outputs(), "\n"); got != strings.Count(plain.Outputs(), "\n") {
		t.Errorf("%d outputs:\n%s", got, r.Outputs())
	}

	text, err := JUnit([]Report{r})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			names[start.Name.Local] = true
		}
	}
	if names["script"] || len(names) != 5 || strings.Contains(text, "PLANTED9") {
		t.Errorf("%v in\n%s", names, text)
	}
}

// A summary that is too long ends at the end of a line and says so.
func TestLongSummaryIsCut(t *testing.T) {
	r := failedCanary()
	for range 1000 {
		r.Warnings = append(r.Warnings, strings.Repeat("w", 2000))
	}
	s := Summary([]Report{r}, 1<<20)
	if len(s) > 1<<20 || len(s) < 1<<20-3000 || !strings.HasSuffix(s, "</code>\n"+cutNote) {
		t.Errorf("%d bytes, and the end is %q", len(s), s[len(s)-200:])
	}
	if s := Summary([]Report{r}, 10); s != "" {
		t.Errorf("without room: %q", s)
	}
}

// The worst result is that of the outputs.
func TestWorst(t *testing.T) {
	if w := Worst([]Report{{Name: "a"}, {Name: "b", Exit: sluice.ExitRolledBack}, {Name: "c", Exit: sluice.ExitFailed}}); w.Name != "c" {
		t.Error(w.Name)
	}
}
