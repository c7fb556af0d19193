package sluice

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWeightsSumToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := rapid.IntRange(-20, 120).Draw(t, "primary"), rapid.IntRange(-20, 120).Draw(t, "canary")
		w, err := NewWeights(p, c)
		valid := p >= 0 && c >= 0 && p+c == 100
		if (err == nil) != valid {
			t.Fatalf("NewWeights(%d, %d): %v", p, c, err)
		}
		if !valid {
			return
		}
		var back Weights
		data, _ := json.Marshal(w)
		if err := json.Unmarshal(data, &back); err != nil || back != w {
			t.Fatalf("%s read back as %v: %v", data, back, err)
		}
	})
}

func TestWeightsInJSONAreChecked(t *testing.T) {
	var w Weights
	if err := json.Unmarshal([]byte(`{"primary":90,"canary":20}`), &w); err == nil || w.Valid() {
		t.Errorf("90 and 20 were taken as %v", w)
	}
}

func TestActionTokens(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]ActionID{}
	for i := range 100 {
		id := NewActionID("slc-1", fmt.Sprint(i), "task set")
		token := id.Token()
		if !shape.MatchString(token) {
			t.Fatalf("%s is no UUIDv5", token)
		}
		if token != id.Token() {
			t.Fatalf("the token of %s changes", id)
		}
		if other, ok := seen[token]; ok {
			t.Fatalf("%s and %s share a token", id, other)
		}
		seen[token] = id
	}
	if got := NewActionID("slc-1", "2 ECS_SYNC", "create").Deployment(); got != "slc-1" {
		t.Errorf("deployment of the action is %q", got)
	}
}

func TestErrorKindAndAdviceComeFromTheOutermostThatHasOne(t *testing.T) {
	inner := &Error{Op: "call", Kind: Denied, Next: "log in", Err: errors.New("expired")}
	err := fmt.Errorf("canary rollout: %w", &Error{Op: "look", Err: inner})
	if KindOf(err) != Denied || NextStep(err) != "log in" {
		t.Errorf("kind %q, next %q", KindOf(err), NextStep(err))
	}
	if KindOf(errors.New("plain")) != "" {
		t.Error("a plain error has a kind")
	}
	if got := Inner(fmt.Errorf("operation error: %w", inner)); got != error(inner) {
		t.Errorf("Inner = %v", got)
	}
}

func TestExitCodesAreDistinctWhereTheyMeanDifferentThings(t *testing.T) {
	want := map[Outcome]int{Succeeded: 0, RolledBack: 3, Stopped: 4, Failed: 5, Superseded: 6, Stalled: 9, TimedOut: 9,
		Gone: 9}
	for o, code := range want {
		if o.ExitCode() != code {
			t.Errorf("%s exits %d, not %d", o, o.ExitCode(), code)
		}
	}
}

func TestTheWorstExitCodeWins(t *testing.T) {
	for _, c := range []struct {
		codes []int
		want  int
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{0, 3, 8}, 3}, {[]int{3, 5, 9}, 5}, {[]int{6, 9}, 9}, {[]int{4, 6}, 6}} {
		if got := WorstExit(c.codes...); got != c.want {
			t.Errorf("of %v: %d, want %d", c.codes, got, c.want)
		}
	}
}

func TestEventsSurviveTheEnvelope(t *testing.T) {
	events := []Event{
		DeploymentStarted{Application: "web", Stages: []string{"ECS_SYNC"}},
		DeploymentEnded{Outcome: RolledBack, Cause: "c"},
		DeploymentPaused{Why: "w"}, DeploymentResumed{By: "b"}, StageStarted{Index: 1, Name: "n", Attempt: 2},
		StageEnded{Index: 1, Status: "done"},
		RollbackStarted{Cause: "c"}, ApprovalAwaited{Index: 2, Missing: 1}, Approved{Index: 2, By: "ann"},
		Waiting{For: "x", Until: time.Unix(5, 0).UTC()}, Writing{Action: "a/b/c", Write: Write{"ecs:X", "r"}},
		Wrote{Action: "a/b/c", Write: Write{"ecs:X", "r"}, Result: "ok"}, Adopted{Action: "a/b/c", Resource: "r"},
		CapacityChanged{Variant: Canary, Desired: 3}, TrafficShifted{ToPrimary: 90, ToCanary: 10,
			Rules: []string{"arn"}},
		LifecycleChanged{Deployment: "d-123456789", Name: "AfterInstall", Status: "Failed", Message: "why"},
		FailureSeen{Variant: Canary, Cause: "exit code 1", Count: 2}, Warned{Message: "m"}, Noted{Message: "m"},
		Unanswered{Seconds: 20, Cause: "EOF"},
		TaskChanged{Task: "t", Status: "RUNNING"},
		TaskEnded{Task: "t", Containers: []ContainerEnded{{Name: "web", Reason: "r"}}},
		Printed{Task: "t", Line: "l"},
		RequestsCounted{From: time.Unix(60, 0).UTC(), To: time.Unix(120, 0).UTC(),
			Primary: &RequestCount{Requests: 9, Errors: 1}, Canary: &RequestCount{}},
		GateRead{Gate: "errors", Verdict: GateUndecided, Canary: &GateCount{Bad: 4, All: 612}, Odds: 4, Evidence: 37,
			Needed: 100, Left: Duration(3 * time.Minute)},
	}
	if len(events) != len(eventKinds) {
		t.Errorf("%d events are tried, %d kinds exist", len(events), len(eventKinds))
	}
	for _, ev := range events {
		env := Seal("slc-1", "1 X", ev)
		line, err := json.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		var back Envelope
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if got := back.Open(); fmt.Sprint(got) != fmt.Sprint(ev) {
			t.Errorf("%T came back as %v, not %v", ev, got, ev)
		}
	}
}

func TestUnknownKindsSurviveReadingAndPrinting(t *testing.T) {
	line := `{"schema":"sluice.events/9","seq":3,"at":"2030-01-01T00:00:00Z","deployment":"slc-1","kind":"comet","data":{"tail":7}}`
	var env Envelope
	if err := json.Unmarshal([]byte(line), &env); err != nil {
		t.Fatal(err)
	}
	u, ok := env.Open().(Unknown)
	if !ok || u.Name != "comet" {
		t.Fatalf("opened as %#v", env.Open())
	}
	out, _ := json.Marshal(env)
	if !strings.Contains(string(out), `"data":{"tail":7}`) {
		t.Errorf("printed as %s", out)
	}
}
