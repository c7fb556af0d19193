package image_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/awssim/image"
)

func TestParse(t *testing.T) {
	s := time.Second
	for ref, want := range map[string]image.Behaviour{
		"sim/web:v1":                {Version: "v1"},
		"sim/web":                   {Version: "latest"},
		"localhost:5000/sim/web":    {Version: "latest"},
		"localhost:5000/sim/web:v3": {Version: "v3"},
		"sim/web:v2-beta":           {Version: "v2-beta"},
		"sim/web:v2?latency=20s&check-latency=5ms": {Version: "v2", Latency: 20 * time.Second,
			CheckLatency: 5 * time.Millisecond},
		"sim/web:v2?latency=20ms&errors=1%": {Version: "v2", Latency: 20 * time.Millisecond,
			ErrorRate: .01},
		"sim/web:v2?errors=1%25":             {Version: "v2", ErrorRate: .01},
		"sim/web:v2-errors-0.25":             {Version: "v2", ErrorRate: .25},
		"sim/web:v2-crash-after-5s":          {Version: "v2", CrashAfter: 5 * s, ExitCode: 1},
		"sim/web:v2-crash-after-5s-exit-0":   {Version: "v2", CrashAfter: 5 * s},
		"sim/web:v2-crash-after-5s?exit=137": {Version: "v2", CrashAfter: 5 * s, ExitCode: 137},
		"sim/web:1.2-rc-3-unhealthy-after-1m-term-4s": {Version: "1.2-rc-3", UnhealthyAfter: time.Minute,
			ServesAfterTerm: 4 * s},
		"sim/web:v2-healthy-after-9s-start-delay-2s": {Version: "v2", HealthyAfter: 9 * s,
			StartDelay: 2 * s},
		"sim/web:v2-never-healthy":       {Version: "v2", NeverHealthy: true},
		"sim/web:v2-ignores-term":        {Version: "v2", IgnoresTerm: true},
		"sim/web:v2?never-healthy=false": {Version: "v2"},
		"sim/web:v2?noboot=ResourceInitializationError:+no+route": {Version: "v2",
			NoBoot: "ResourceInitializationError: no route"},
		"sim/web:v2-oom-after-40s":                                {Version: "v2", CrashAfter: 40 * s, ExitCode: 137},
		"sim/web:v2-oom-after-40s-exit-3":                         {Version: "v2", CrashAfter: 40 * s, ExitCode: 137},
		"sim/web:v2-exec-format":                                  {Version: "v2", CrashAfter: s / 10, ExitCode: 1},
		"sim/web:v2?exec-format=false":                            {Version: "v2"},
		"sim/web:v2-listen-9090":                                  {Version: "v2"},
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/sim/web:v1": {Version: "v1"},
	} {
		got, err := image.Parse(ref)
		if err != nil || !same(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", ref, got, err, want)
		}
	}
}

func same(a, b image.Behaviour) bool {
	if strings.Join(a.Command, "\x00") != strings.Join(b.Command, "\x00") || a.Handler != nil || b.Handler != nil {
		return false
	}
	type flat struct {
		v, no                 string
		sd, h, u, l, cl, c, t time.Duration
		never, ignores        bool
		rate                  float64
		exit                  int
	}
	f := func(b image.Behaviour) flat {
		return flat{b.Version, b.NoBoot, b.StartDelay, b.HealthyAfter, b.UnhealthyAfter, b.Latency, b.CheckLatency,
			b.CrashAfter,
			b.ServesAfterTerm, b.NeverHealthy, b.IgnoresTerm, b.ErrorRate, b.ExitCode}
	}
	return f(a) == f(b)
}

func TestParseHost(t *testing.T) {
	got, err := image.Parse(`host:./server  --name "a b" ''`)
	want := image.Behaviour{Version: "./server", Command: []string{"./server", "--name", "a b", ""}}
	if err != nil || !same(got, want) || got.IsModelled() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for ref, want := range map[string]string{
		"nginx:latest":          "not one of the simulator's",
		"mysim/web:v1":          "not one of the simulator's",
		"sim/":                  "not one of the simulator's",
		"sim/web:":              "version after the colon is missing",
		"sim/web@sha256:00":     "no digest",
		"sim/web:never-healthy": "needs a version before its options, as in v1-never-healthy",
		"sim/web:v1?speed=3": "option speed: not known; known are check-latency, crash-after, error-bursts, " +
			"errors,",
		"sim/web:v1?latency=-5s":                 `option latency: "-5s" is not a duration`,
		"sim/web:v1-latency":                     `option latency: "" is not a duration`,
		"sim/web:v1?crash-after=0s":              "must be more than 0",
		"sim/web:v1?errors=120%":                 "not a share",
		"sim/web:v1?errors=NaN":                  "not a share",
		"sim/web:v1-exit-300":                    "not an exit code",
		"sim/web:v1-listen-0":                    "not a port",
		"sim/web:v1-oom-after-0s":                "must be more than 0",
		"sim/web:v1-crash-after-1s-oom-after-2s": "crashes already",
		"sim/web:v1-term-1s?term=2s":             "option term is given twice",
		"sim/web:v1-never-healthy-after-5s":      `option never-healthy: "after-5s" is neither true nor false`,
		"host:":                                  "needs a command",
		`host:"a`:                                "not closed",
	} {
		b, err := image.Parse(ref)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", ref, b, err, want)
		}
	}
}

func TestImagesThatNeverRun(t *testing.T) {
	for ref, want := range map[string]string{
		"sim/web:v1-no-secret": "ResourceInitializationError: unable to pull secrets or registry auth: ",
		"sim/web:v1-no-role":   "ECS was unable to assume the role that was provided for this task.",
		"sim/web:v1-noboot":    "CannotPullContainerError: ",
	} {
		if b, err := image.Parse(ref); err != nil || !strings.HasPrefix(b.NoBoot, want) {
			t.Errorf("%s: %+v, %v", ref, b, err)
		}
	}
}

func TestAnImageThatListensElsewhere(t *testing.T) {
	b, err := image.Parse("sim/web:v2-listen-9090")
	if err != nil || b.ListensOn(8080) || !b.ListensOn(9090) || !(image.Behaviour{}).ListensOn(8080) {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestCatalogWinsAndHostImagesAreOffByDefault(t *testing.T) {
	c := image.Catalog{"sim/web:v1": {Version: "mine"}, "shop": {Version: "s"}}
	for ref, want := range map[string]string{"sim/web:v1": "mine", "shop": "s", "sim/web:v2": "v2"} {
		if b, ok := c.Lookup(ref); !ok || b.Version != want {
			t.Errorf("%s: %+v %v", ref, b, ok)
		}
	}
	if b, ok := c.Lookup("host:./server"); !ok || !strings.Contains(b.NoBoot, "--allow-host-images") ||
		!b.IsModelled() {
		t.Errorf("a host image without leave: %+v %v", b, ok)
	}
	c[image.HostImages] = image.Behaviour{}
	if b, ok := c.Lookup("host:./server"); !ok || b.NoBoot != "" || b.IsModelled() {
		t.Errorf("a host image with leave: %+v %v", b, ok)
	}
	if _, ok := c.Lookup(image.HostImages); ok {
		t.Error("the key itself is an image")
	}
}

func drawBehaviour(t *rapid.T) image.Behaviour {
	d := func(label string) time.Duration {
		return time.Duration(rapid.IntRange(0, 5).Draw(t, label)) * time.Second
	}
	return image.Behaviour{
		HealthyAfter: d("healthy"), UnhealthyAfter: d("unhealthy"), CrashAfter: d("crash"), ServesAfterTerm: d("term"),
		NeverHealthy: rapid.Bool().Draw(t, "never"), IgnoresTerm: rapid.Bool().Draw(t, "ignores"),
	}
}

// Laws jump from one NextChange to the next: between two of them the answer must
// not change, and at each of them it must.
func TestAnswerChangesExactlyAtNextChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBehaviour(t)
		at, was := time.Duration(0), b.Answer(image.Moment{})
		next, ok := b.NextChange(0)
		for at = 0; at <= 10*time.Second; at += time.Second / 2 {
			now := b.Answer(image.Moment{SinceStart: at})
			changes := ok && at == next
			if changes != (now != was) {
				t.Fatalf("at %v: %d -> %d, NextChange said %v %v", at, was, now, next, ok)
			}
			if changes {
				next, ok = b.NextChange(at)
			}
			was = now
		}
	})
}

func TestSignalledContainerServesOnThenRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBehaviour(t)
		b.CrashAfter = 0
		since := time.Duration(rapid.IntRange(0, 8).Draw(t, "since")) * time.Second
		got := b.RefusesConnections(image.Moment{SinceStart: time.Hour, Signalled: true, SinceSignal: since})
		if want := !b.IgnoresTerm && since >= b.ServesAfterTerm; got != want {
			t.Fatalf("%v after SIGTERM: refuses %v", since, got)
		}
	})
}

func TestAnyImageIsAHealthyServer(t *testing.T) {
	for ref, want := range map[string]string{
		"nginx": "nginx:latest", "public.ecr.aws/nginx/nginx:1.27": "nginx:1.27",
		"localhost:5000/shop/api": "api:latest", "mysim/web:v1": "web:v1",
		"busybox@sha256:0123456789abcdef0": "busybox@sha256:0123456789ab",
	} {
		if b, ok := (image.Catalog{}).Lookup(ref); !ok || !same(b, image.Behaviour{Version: want}) {
			t.Errorf("%s: %+v %v, want version %s", ref, b, ok, want)
		}
	}
	for _, ref := range []string{"", "my image", "Shop:v1", "shop:", "sim/web:v1?speed=3", "a//b", "web/"} {
		if b, ok := (image.Catalog{}).Lookup(ref); ok {
			t.Errorf("%q is an image: %+v", ref, b)
		}
	}
}

func TestPatternsSelectImages(t *testing.T) {
	c := image.Catalog{
		"*":                 {NoBoot: "missing"},
		"registry.test/*":   {Latency: time.Second, Commands: map[string]image.Behaviour{"migrate": {}}},
		"registry.test/*v2": {Version: "two"},
		"registry.test/own": {Version: "own"},
		image.HostImages:    {},
	}
	for ref, want := range map[string]image.Behaviour{
		"nginx":                   {Version: "nginx:latest", NoBoot: "missing"},
		"sim/web:v1":              {Version: "web:v1", NoBoot: "missing"},
		"registry.test/a/web:v1":  {Version: "web:v1", Latency: time.Second},
		"registry.test/a/web:v2":  {Version: "two"},
		"registry.test/own":       {Version: "own"},
		"registry.test:5000/a:v2": {Version: "a:v2", NoBoot: "missing"},
	} {
		if b, ok := c.Lookup(ref); !ok || !same(b, want) {
			t.Errorf("%s: %+v %v, want %+v", ref, b, ok, want)
		}
	}
	if b, _ := c.Lookup("registry.test/job:v1"); b.StartedWith([]string{"migrate"}).Version != "job:v1" {
		t.Errorf("a command of a pattern: %+v", b)
	}
	if b, _ := c.Lookup("host:./server"); b.NoBoot != "" || b.IsModelled() {
		t.Errorf("a pattern selects a program of the host: %+v", b)
	}
}
