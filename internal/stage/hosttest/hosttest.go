// Package hosttest is one suite of tests for every [stage.Host]: what stages need when they save,
// load and emit events. It does not test stages.
//
// Start reading at [Run].
package hosttest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/stage"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// Subject is a host under test.
type Subject struct {
	// Open opens the host of one stage of one deployment, each time as after a kill of every
	// process.
	Open func(t *testing.T) stage.Host
	// Other opens the host of the same stage of another deployment.
	Other func(t *testing.T) stage.Host
	// Break makes every later Save of hosts fail. Nil: cannot be done.
	Break func(t *testing.T)
}

// Run tests the host that fresh creates. It calls fresh for each test.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"what was never saved is not there":       testUnsaved,
		"the last value saved is the one loaded":  testOverwritten,
		"values survive a kill":                   testSurvivesKill,
		"values come back byte for byte":          testExactBytes,
		"keys do not disturb each other":          testSeparateKeys,
		"deployments do not disturb each other":   testSeparateDeployments,
		"a value is the host's once it is saved":  testCopiesValue,
		"a cancelled save has saved or says so":   testCancelledSave,
		"the stage began when it began first":     testBegan,
		"events of every kind are taken":          testEvents,
		"a save that fails says so, and says why": testFailedSave,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) { test(t, fresh(t)) })
	}
}

func saveValue(t *testing.T, h stage.Host, key, value string) {
	t.Helper()
	if err := h.Save(context.Background(), key, []byte(value)); err != nil {
		t.Fatalf("save %s: %v", key, err)
	}
}

func expectValue(t *testing.T, h stage.Host, key, value string) {
	t.Helper()
	got, ok, err := h.Load(context.Background(), key)
	if err != nil || !ok || string(got) != value {
		t.Errorf("load %s: %.80q %t %v, want %.80q", key, got, ok, err, value)
	}
}

func expectAbsent(t *testing.T, h stage.Host, key string) {
	t.Helper()
	got, ok, err := h.Load(context.Background(), key)
	if err != nil || ok || len(got) > 0 {
		t.Errorf("load %s: %q %t %v, want nothing", key, got, ok, err)
	}
}

func testUnsaved(t *testing.T, s Subject) { expectAbsent(t, s.Open(t), "former") }

func testOverwritten(t *testing.T, s Subject) {
	h := s.Open(t)
	saveValue(t, h, "rule-prints", "one")
	saveValue(t, h, "rule-prints", "two")
	expectValue(t, h, "rule-prints", "two")
	saveValue(t, h, "rule-prints", "two")
	expectValue(t, h, "rule-prints", "two")
}

func testSurvivesKill(t *testing.T, s Subject) {
	saveValue(t, s.Open(t), "former", `{"service":true}`)
	saveValue(t, s.Open(t), "revision", "web:2")
	h := s.Open(t)
	expectValue(t, h, "former", `{"service":true}`)
	expectValue(t, h, "revision", "web:2")
}

// testExactBytes uses JSON or text of a few kB; a deployment with many rules has more.
func testExactBytes(t *testing.T, s Subject) {
	values := map[string]string{
		"empty": "", "null": "null", "text": "slc-1/canary/task set", "lines": "a\nb\r\n\tc ",
		"unicode": "größe → 100 %\u2028",
		"json":    `{"a":[1,2.5,"<&>"],"b":null}`,
		"large":   strings.Repeat(`{"arn":"arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/1/2/3","weight":50},`, 400),
		"looks":   "gzip,base64:not that",
	}
	h := s.Open(t)
	for key, value := range values {
		saveValue(t, h, key, value)
	}
	h = s.Open(t)
	for key, value := range values {
		expectValue(t, h, key, value)
	}
}

func testSeparateKeys(t *testing.T, s Subject) {
	h := s.Open(t)
	saveValue(t, h, memory.KeyCanaryGroup, "group")
	saveValue(t, h, memory.KeyCanaryShare, "10")
	expectValue(t, h, memory.KeyCanaryGroup, "group")
	expectValue(t, h, memory.KeyCanaryShare, "10")
	expectAbsent(t, h, memory.KeyPrimaryShare)
}

func testSeparateDeployments(t *testing.T, s Subject) {
	saveValue(t, s.Open(t), "former", "mine")
	other := s.Other(t)
	expectAbsent(t, other, "former")
	saveValue(t, other, "former", "another's")
	expectValue(t, s.Open(t), "former", "mine")
}

func testCopiesValue(t *testing.T, s Subject) {
	h := s.Open(t)
	value := []byte("as it was")
	if err := h.Save(context.Background(), "former", value); err != nil {
		t.Fatal(err)
	}
	copy(value, bytes.Repeat([]byte("x"), len(value)))
	expectValue(t, h, "former", "as it was")
	got, _, _ := h.Load(context.Background(), "former")
	copy(got, bytes.Repeat([]byte("x"), len(got)))
	expectValue(t, h, "former", "as it was")
}

func testCancelledSave(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Open(t).Save(ctx, "former", []byte("late")); err == nil {
		expectValue(t, s.Open(t), "former", "late")
	}
}

func testBegan(t *testing.T, s Subject) {
	first := s.Open(t).Began()
	if first.IsZero() {
		t.Error("it began at no time")
	}
	if again := s.Open(t).Began(); !again.Equal(first) {
		t.Errorf("it began at %s, and after a kill at %s", first.Format(time.RFC3339Nano),
			again.Format(time.RFC3339Nano))
	}
}

func testEvents(t *testing.T, s Subject) {
	h := s.Open(t)
	write := sluice.Write{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}
	action := sluice.NewActionID("slc-1", "1 ECS_SYNC", "create new task set of primary")
	for _, ev := range []sluice.Event{
		sluice.Writing{Action: action, Write: write}, sluice.Wrote{Action: action, Write: write, Result: "ecs-svc/1"},
		sluice.Writing{Action: action, Write: write}, sluice.Wrote{Action: action, Write: write, Cause: "refused"},
		sluice.Adopted{Action: action, Resource: "ecs-svc/1"}, sluice.Waiting{For: "tasks", Detail: "1 of 2"},
		sluice.CapacityChanged{Variant: sluice.Canary, Running: 1},
		sluice.TrafficShifted{ToPrimary: 100, Rules: []string{"arn"}},
		sluice.FailureSeen{Variant: sluice.Primary, Cause: "exit code 1", Count: 1}, sluice.Warned{Message: "w"},
		sluice.Noted{Message: "several\n\nlines\n"}, sluice.Noted{}, sluice.Noted{Message: "\xff\xfe"},
	} {
		h.Emit(ev)
	}
	saveValue(t, h, "former", "kept beside events")
	expectValue(t, s.Open(t), "former", "kept beside events")
}

func testFailedSave(t *testing.T, s Subject) {
	if s.Break == nil {
		t.Skip("this host's memory cannot be broken")
	}
	h := s.Open(t)
	saveValue(t, h, "former", "before")
	s.Break(t)
	err := h.Save(context.Background(), "revision", []byte("web:2"))
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("save: %v, want why it failed", err)
	}
}
