package main

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// script is what the commands of one script keep.
type script struct {
	keys   []string // of its environment
	sim    *local
	beside map[string]*beside
}

type scriptKey struct{}

func scriptOf(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

// environ is the script's environment, as far as its names are known.
func environ(ts *testscript.TestScript) []string {
	var all []string
	for _, k := range scriptOf(ts).keys {
		all = append(all, k+"="+ts.Getenv(k))
	}
	return all
}

func (s *script) setenv(ts *testscript.TestScript, key, value string) {
	s.keys = append(s.keys, key)
	ts.Setenv(key, value)
}

// local is a local AWS in this process, on real sockets.
type local struct {
	*awssim.Sim
	at *awssim.Listening
}

// sim starts a local AWS with a world file, and sets what sluice needs to reach
// it. Time runs 20 times as fast, or as told.
func sim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: sim world.yaml [speed]")
	}
	speed := "20"
	if len(args) > 1 {
		speed = args[1]
	}
	x, err := strconv.ParseFloat(speed, 64)
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	s, err := awssim.New(awssim.Options{Clock: clock.Scaled(x), Seed: 1, Speed: x, Strict: true})
	ts.Check(err)
	ts.Check(s.Load(args[0], data))
	at, err := s.Listen(context.Background(), "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(at.Close)
	state := scriptOf(ts)
	state.sim = &local{s, at}
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL": at.URL(), "AWS_ACCESS_KEY_ID": s.Account(), "AWS_SECRET_ACCESS_KEY": "sim", "AWS_REGION": s.Region(),
		"AWS_DISABLE_HOST_PREFIX_INJECTION": "true", "SLUICE_SPEED": speed,
	} {
		state.setenv(ts, k, v)
	}
}

func theSim(ts *testscript.TestScript) *local {
	s := scriptOf(ts).sim
	if s == nil {
		ts.Fatalf("no sim was started")
	}
	return s
}

// inject begins a fault; see package fault for its words.
func inject(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(theSim(ts).Inject(strings.Join(args, " ")))
}

func clearFaults(ts *testscript.TestScript, neg bool, args []string) { theSim(ts).ClearFaults() }

// url is where a load balancer takes requests.
func (l *local) url(ts *testscript.TestScript, name string) string {
	for _, r := range l.View().Regions {
		for _, lb := range r.LoadBalancers {
			if lb.Name == name && len(lb.Listeners) > 0 && lb.Listeners[0].Bound != "" {
				return "http://" + lb.Listeners[0].Bound + "/"
			}
		}
	}
	ts.Fatalf("there is no load balancer %s that listens", name)
	return ""
}
