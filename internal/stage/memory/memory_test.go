package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

var (
	ctx     = context.Background()
	errFull = errors.New("the disk is full")
	aTime   = time.Date(2100, 1, 1, 0, 0, 51, 0, time.UTC)
)

// rows is a [Store] in memory.
type rows struct {
	mu     sync.Mutex
	values map[string][]byte
	loads  []string
	broken bool
}

func newRows(values map[string]string) *rows {
	r := &rows{values: map[string][]byte{}}
	for key, value := range values {
		r.values[key] = []byte(value)
	}
	return r
}

func (r *rows) Load(_ context.Context, key string) ([]byte, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return nil, false, errFull
	}
	r.loads = append(r.loads, key)
	v, ok := r.values[key]
	return v, ok, nil
}

func (r *rows) Save(_ context.Context, key string, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return fmt.Errorf("save %s: %w", key, errFull)
	}
	r.values[key] = bytes.Clone(value)
	return nil
}

// concernTest saves and loads one concern without its type.
type concernTest struct {
	value any // that every field has
	// earlier are the rows of an earlier version with the same value.
	earlier map[string]string
	save    func(*Memory) error
	load    func(*Memory) (any, error)
}

func testOf[T any](of func(*Memory) Concern[T], value T, earlier map[string]string) concernTest {
	return concernTest{value, earlier, func(m *Memory) error { return of(m).Save(ctx, value) },
		func(m *Memory) (any, error) { return of(m).Load(ctx) }}
}

// concernTests has every concern. The earlier rows are as sluice wrote them before it had concerns.
func concernTests() map[string]concernTest {
	two, five := 2, 5
	rev := &ecs.Revision{ARN: "arn:web:2", Name: "web:2"}
	revision := `{"ARN":"arn:web:2","Name":"web:2"}`
	launch := Launch{Attempt: 2, Begun: aTime, Requested: 3, Unanswered: true, Tasks: []string{"a"}, ShortReason: "full",
		Ended: []sluice.TaskEnded{{Task: "a"}}}
	target := sluice.Scalable{Dimension: "ecs:service:DesiredCount", Min: 2, Max: 8}
	return map[string]concernTest{
		"Snapshot": testOf(func(m *Memory) Concern[Snapshot] { return m.Snapshot },
			Snapshot{Service: true, Revision: "web:1", Desired: 4, Absent: []string{"i-1"},
				Canary: &CanaryService{"slc/canary", "web:0", 2}, UnmanagedRules: map[string]string{"rule": "print"}},
			map[string]string{"former": `{"service":true,"revision":"web:1","desired":4,"absent":["i-1"],"attributes":` +
				`{"values":{}},"canary":{"by":"slc/canary","revision":"web:0","count":2},"marked":{"rule":"print"}}`}),
		"Progress": testOf(func(m *Memory) Concern[Progress] { return m.Progress }, Progress{Done: 3},
			map[string]string{"done": "3"}),
		"Registration": testOf(func(m *Memory) Concern[Registration] { return m.Registration },
			Registration{Begun: true, Revision: rev}, map[string]string{"registering": "true", "revision": revision}),
		"Registration of a step": testOf(func(m *Memory) Concern[Registration] { return m.StepRegistration(4) },
			Registration{Begun: true, Revision: rev},
			map[string]string{"registering of 4": "true", "revision of 4": revision}),
		"Launch": testOf(func(m *Memory) Concern[Launch] { return m.Launch(4) }, launch,
			map[string]string{"tasks of 4": `{"attempt":2,"begun":"2100-01-01T00:00:51Z","asked":3,"open":true,` +
				`"tasks":["a"],"short":"full","ended":[{"task":"a"}]}`}),
		"Claim": testOf(func(m *Memory) Concern[Claim] { return m.Claim },
			Claim{true, &TakenClaim{"slc-1", aTime}, &plan.Claim{Deployment: "slc-0", Until: aTime, Former: "set"}},
			map[string]string{"claimed": "true", "taken-over": `{"from":"slc-1","at":"2100-01-01T00:00:51Z"}`,
				"left-by": `{"Deployment":"slc-0","Until":"2100-01-01T00:00:51Z","Former":"set"}`}),
		"Canary": testOf(func(m *Memory) Concern[Canary] { return m.Canary }, Canary{2, &CanaryCount{4, 1}},
			map[string]string{"canary-generation": "2", "canary-count": `{"tasks":4,"stage":1}`}),
		"Primary": testOf(func(m *Memory) Concern[Primary] { return m.Primary }, Primary{PrimaryPromoted, "set"},
			map[string]string{"new-primary": `"promoted"`, "kept-old": `"set"`}),
		"Routes": testOf(func(m *Memory) Concern[Routes] { return m.Routes },
			Routes{map[string]RuleFingerprint{"rule": {"b", "a", 2, true, []string{"c"}}}, aTime},
			map[string]string{"rule-prints": `{"rule":{"is":"b","was":"a","stage":2,"known":true,"late":["c"]}}`,
				"shifted-at": `"2100-01-01T00:00:51Z"`}),
		"Names": testOf(func(m *Memory) Concern[Names] { return m.Names },
			Names{25, Records{"i": {"ip": "1", "zone": "a"}, "j": {"ip": "2", "zone": "a"}}, true, &two, []string{"c"},
				[]string{"u"}},
			map[string]string{"held-share": "25", "stays-out": "true", "out-since": "2", "put-in": `["c"]`,
				"left-as-they-are": `{"ids":["u"]}`,
				"taken-out":        `{"all":{"zone":"a"},"each":{"i":{"ip":"1"},"j":{"ip":"2"}}}`}),
		"Rolling": testOf(func(m *Memory) Concern[Rolling] { return m.Rolling },
			Rolling{&UpdateRequest{"ecs-svc/1", "arn:1", "ecs-svc/2", "arn:2", aTime, aTime, &five},
				&StopRequest{"arn:2", "ecs-svc/2"}},
			map[string]string{"asked": `{"before":"ecs-svc/1","current":"arn:1","deployment":"ecs-svc/2","arn":"arn:2",` +
				`"at":"2100-01-01T00:00:51Z","created":"2100-01-01T00:00:51Z","desired":5}`,
				"stopped": `{"arn":"arn:2","primary":"ecs-svc/2"}`}),
		"CodeDeploy": testOf(func(m *Memory) Concern[CodeDeploy] { return m.CodeDeploy },
			CodeDeploy{&CodeDeployRequest{Deployment: "d-1"}, &CodeDeployRequest{"d-2", 1}},
			map[string]string{"codedeploy": `{"deployment":"d-1"}`, "codedeploy-return": `{"deployment":"d-2","turn":1}`}),
		"Scaling": testOf(func(m *Memory) Concern[Scaling] { return m.Scaling },
			Scaling{&Override{OverrideSet, []sluice.Scalable{target}, []sluice.Scalable{target}, true}, true},
			map[string]string{"scaling-back": "true", "scaling": `{"phase":"set","again":true,"base":[` + scalable +
				`],"ours":[` + scalable + `]}`}),
		"External": testOf(func(m *Memory) Concern[External] { return m.External },
			External{map[string]float64{"set": 80}, []string{"canary"}, "set", &five},
			map[string]string{"accepted": `{"scales":{"set":80},"gone":["canary"],"primary":"set","desired":5}`}),
		"Rollback": testOf(func(m *Memory) Concern[Rollback] { return m.Rollback },
			Rollback{2, []DeletedResource{{"listener", "arn"}}, false},
			map[string]string{"restored-generation": "2", "not-restored": `[{"what":"listener","arn":"arn"}]`}),
	}
}

// scalable is a scalable target as it was saved.
const scalable = `{"Dimension":"ecs:service:DesiredCount","Min":2,"Max":8}`

// Every concern has a row in concernTests, keys that differ, and none that an earlier
// version used in another form.
func TestEveryConcernIsTested(t *testing.T) {
	keys := map[string]bool{}
	for _, c := range concernTests() {
		for key := range c.earlier {
			keys[key] = true
		}
	}
	memory := reflect.ValueOf(Open(newRows(nil))).Elem()
	for i := range memory.NumField() {
		name, field := memory.Type().Field(i).Name, memory.Field(i)
		if !memory.Type().Field(i).IsExported() {
			continue
		}
		key := field.FieldByName("key").String()
		if key == "" || keys[key] {
			t.Errorf("%s: its key is %q, which is empty or used twice", name, key)
		}
		keys[key] = true
		if _, ok := concernTests()[name]; !ok && field.Type() != reflect.TypeFor[Text]() {
			t.Errorf("%s has no row in concernTests", name)
		}
	}
}

func TestSavedIsLoaded(t *testing.T) {
	for name, c := range concernTests() {
		store := newRows(nil)
		check(t, c.save(Open(store)))
		if got, err := c.load(Open(store)); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s: %v %+v, want %+v", name, err, got, c.value)
		}
	}
}

// Each row is loaded once, and a value that was saved is not loaded.
func TestRowsAreLoadedOnce(t *testing.T) {
	store := newRows(nil)
	m := Open(store)
	for name, c := range concernTests() {
		for range 3 {
			if _, err := c.load(m); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		check(t, c.save(m))
		if got, err := c.load(m); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s: %v %+v, want %+v", name, err, got, c.value)
		}
	}
	if all := slices.Sorted(slices.Values(store.loads)); len(all) != len(slices.Compact(slices.Clone(all))) {
		t.Errorf("loaded twice: %q", all)
	}
}

func TestForgottenRowsAreLoadedAgain(t *testing.T) {
	store := newRows(nil)
	m, other := Open(store), Open(store)
	check(t, m.Progress.Save(ctx, Progress{Done: 1}))
	check(t, other.Progress.Save(ctx, Progress{Done: 2}))
	if v, err := m.Progress.Load(ctx); err != nil || v.Done != 1 {
		t.Errorf("%v %v", v, err)
	}
	m.Forget()
	if v, err := m.Progress.Load(ctx); err != nil || v.Done != 2 {
		t.Errorf("%v %v", v, err)
	}
}

// A wait reads while its concurrent check saves. What was saved is never replaced by an
// older load.
func TestReadBesideASave(t *testing.T) {
	for range 200 {
		m := Open(newRows(map[string]string{"done": "1"}))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if v, err := m.Progress.Load(ctx); err != nil || v.Done != 1 && v.Done != 2 {
					t.Errorf("%+v %v", v, err)
				}
			})
		}
		check(t, m.Progress.Save(ctx, Progress{Done: 2}))
		all.Wait()
		if v, err := m.Progress.Load(ctx); err != nil || v.Done != 2 {
			t.Fatalf("%+v %v, want what was saved", v, err)
		}
	}
}

// A save that fails says so, and leaves the loaded value; so does a change that is not
// saved.
func TestFailedSaveChangesNothing(t *testing.T) {
	store := newRows(nil)
	m := Open(store)
	check(t, m.Routes.Save(ctx, Routes{Fingerprints: map[string]RuleFingerprint{"rule": {Written: "a"}}}))
	store.broken = true
	err := m.Routes.Update(ctx, func(r *Routes) { r.Fingerprints["rule"] = RuleFingerprint{Written: "b"} })
	if !errors.Is(err, ErrNotSaved) || !errors.Is(err, errFull) ||
		err.Error() != "the write is not made: save routes: the disk is full" {
		t.Error(err)
	}
	v, err := m.Routes.Load(ctx)
	check(t, err)
	v.Fingerprints["rule"] = RuleFingerprint{Written: "c"}
	if v, err = m.Routes.Load(ctx); err != nil || v.Fingerprints["rule"].Written != "a" {
		t.Errorf("%v %v, want what was saved", v, err)
	}
	if err := m.CanarySet.Save(ctx, "slc/canary"); !errors.Is(err, ErrNotSaved) {
		t.Error(err)
	}
	if _, err := m.Claim.Load(ctx); !errors.Is(err, errFull) {
		t.Errorf("a row that cannot be read: %v", err)
	}
}

// A save is not cut off by the context of a stage that ends.
func TestSaveOutlivesItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	store := &untilEnded{newRows(nil)}
	if err := Open(store).Progress.Save(ended, Progress{Done: 1}); err != nil {
		t.Error(err)
	}
}

// untilEnded saves only while its context has not ended.
type untilEnded struct{ *rows }

func (u *untilEnded) Save(ctx context.Context, key string, value []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return u.rows.Save(ctx, key, value)
}

// What an earlier version saved under its own keys is read, all of a concern or a part of
// it. The next save writes the present form, and later stages read that.
func TestEarlierRowsAreRead(t *testing.T) {
	for name, c := range concernTests() {
		store := newRows(c.earlier)
		if name != "Snapshot" {
			store.values["former"] = []byte(`{"service":true}`)
		}
		m := Open(store)
		got, err := c.load(m)
		if err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got, c.value)
		}
		check(t, c.save(m))
		for key := range c.earlier {
			store.values[key] = []byte("not read any more")
		}
		if got, err = c.load(Open(store)); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s, saved again: %v\n%+v, want\n%+v", name, err, got, c.value)
		}
	}
	m := Open(newRows(map[string]string{"left-by": `{}`, "shifted-at": `"2100-01-01T00:00:51Z"`}))
	if v, err := m.Routes.Load(ctx); err != nil || v.Fingerprints != nil || !v.ShiftedAt.Equal(aTime) {
		t.Errorf("a part: %+v %v", v, err)
	}
	if _, ok, err := m.Canary.Find(ctx); ok || err != nil {
		t.Errorf("a concern that was never saved is found: %v", err)
	}
}

// A deployment that an earlier version began keeps being read from the earlier rows,
// however much of it was saved since.
func TestEarlierRowsAreReadBesidePresentOnes(t *testing.T) {
	for _, first := range firstEarlier() {
		store := newRows(map[string]string{first: "{}", "scaling-back": "true"})
		check(t, Open(store).Claim.Save(ctx, Claim{Claimed: true}))
		for _, load := range []func(*Memory) error{
			func(*Memory) error { return nil },
			func(m *Memory) error { _, err := m.Claim.Load(ctx); return err },
		} {
			m := Open(store)
			check(t, load(m))
			if v, err := m.Scaling.Load(ctx); err != nil || !v.Rollback {
				t.Errorf("%s was saved first: %+v %v", first, v, err)
			}
		}
	}
}

// Once a deployment has saved anything in the present form, no earlier row is loaded.
func TestEarlierRowsAreNotSearchedForEver(t *testing.T) {
	store := newRows(nil)
	check(t, Open(store).Snapshot.Save(ctx, Snapshot{Service: true}))
	store.loads = nil
	m := Open(store)
	for _, c := range append([]concernTest{concernTests()["Snapshot"]}, slices.Collect(maps.Values(concernTests()))...) {
		_, err := c.load(m)
		check(t, err)
	}
	if want := len(concernTests()); len(store.loads) != want {
		t.Errorf("%d loads, want %d: %q", len(store.loads), want, store.loads)
	}
}

func TestUnreadableRowsAreNamed(t *testing.T) {
	for value, want := range map[string]string{
		`{"v":2,"value":{}}`:    "read the saved value claim: it has version 2",
		`{"v":0,"value":{}}`:    "version 0",
		`{"v":1,"value":"one"}`: "read the saved value claim: json",
		`{"v":1`:                "read the saved value claim: unexpected end",
	} {
		store := newRows(map[string]string{"claim": value})
		if _, err := Open(store).Claim.Load(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
		if err := Open(store).Claim.Update(ctx, func(*Claim) {}); err == nil || string(store.values["claim"]) != value {
			t.Errorf("%s was changed: %v", value, err)
		}
	}
	if _, err := Open(newRows(map[string]string{"former": "{"})).Snapshot.Load(ctx); err == nil ||
		!strings.Contains(err.Error(), "former") {
		t.Error(err)
	}
}

// Other tools read PipeCD's keys: as plain text, under their names.
func TestTextsArePlain(t *testing.T) {
	store := newRows(nil)
	m := Open(store)
	for key, text := range map[string]Text{"canary-target-group-arn": m.CanaryGroup, "primary-percentage": m.PrimaryShare,
		"canary-percentage": m.CanaryShare, "current-listeners": m.Listeners, "canary-task-set": m.CanarySet,
		"take-over": m.TakeOver} {
		if v, err := text.Load(ctx); v != "" || err != nil {
			t.Errorf("%s: %q %v", key, v, err)
		}
		check(t, text.Save(ctx, "a text"))
		if v, err := text.Load(ctx); string(store.values[key]) != "a text" || v != "a text" || err != nil {
			t.Errorf("%s: %q %v, saved %q", key, v, err, store.values)
		}
	}
}

// A fingerprint is ours if it is the one written last, or one that may still take effect.
func TestRuleFingerprintIsOwn(t *testing.T) {
	m := RuleFingerprint{Written: "a", Stage: 0, Verified: true}.WithPending("a", "b", 1)
	again := m.WithPending("b", "b", 1)
	verified := m
	verified.Verified = true
	for name, c := range map[string]struct {
		m     RuleFingerprint
		print string
		stage int
		back  bool
		want  bool
	}{
		"written":                              {m, "b", 1, false, true},
		"before it, in the same stage":         {m, "a", 1, false, true},
		"before it, in a later stage":          {m, "a", 2, false, false},
		"before it, in a rollback":             {m, "a", 2, true, true},
		"before it, after it was read back":    {verified, "a", 1, false, false},
		"another":                              {m, "c", 1, true, false},
		"of a call that was sent twice":        {again.WithPending("b", "c", 2), "b", 3, false, true},
		"of a call that was not sent twice":    {m.WithPending("b", "c", 2), "b", 3, false, false},
		"written again, in the same stage":     {again, "a", 1, false, true},
		"the same shape by another stage":      {m.WithPending("b", "b", 2), "b", 2, false, true},
		"before the same shape, another stage": {m.WithPending("b", "b", 2), "a", 2, false, false},
	} {
		if got := c.m.IsOwn(c.print, c.stage, c.back); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// Attributes that all instances share are saved once, and come back with each instance.
func TestRecordsAreSavedOnce(t *testing.T) {
	for _, all := range []Records{{}, {"i": {}}, {"i": {"zone": "a"}}, {"i": {"zone": "a", "ip": "1"}, "j": {"zone": "a"}},
		{"i": {"ip": "1"}, "j": {"ip": "2"}}} {
		data, err := all.MarshalJSON()
		check(t, err)
		var got Records
		if err := got.UnmarshalJSON(data); err != nil || !reflect.DeepEqual(got, all) {
			t.Errorf("%v %v, want %v", got, err, all)
		}
	}
	large := Records{}
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		large[id] = map[string]string{"AVAILABILITY_ZONE": "us-east-1a", "ECS_SERVICE_NAME": "web", "IP": id}
	}
	if data, err := large.MarshalJSON(); err != nil || len(data) > 500 {
		t.Errorf("%d bytes: %s %v", len(data), data, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
