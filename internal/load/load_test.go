package load_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-ecs/sluice/internal/load"
)

// serve answers requests without a socket.
type serve func(n int64, r *http.Request) (*http.Response, error)

type server struct {
	n atomic.Int64
	f serve
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) { return s.f(s.n.Add(1), r) }

func ok(status int, version, task string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(version)),
		Header: http.Header{load.VersionHeader: {version}, load.TaskHeader: {task}}}, nil
}

// in runs a load of 100 requests a second in a bubble of virtual time.
func in(t *testing.T, f serve, play func(*load.Load)) (steps []*load.Step) {
	synctest.Test(t, func(*testing.T) {
		l := load.Start(load.Options{URL: "http://web/", Rate: 100, Transport: &server{f: f}}, "one")
		play(l)
		steps = l.Stop()
	})
	return steps
}

func TestArrivalsDoNotWaitForAnswers(t *testing.T) {
	steps := in(t, func(int64, *http.Request) (*http.Response, error) {
		time.Sleep(3 * time.Second)
		return ok(200, "v1", "a")
	}, func(*load.Load) { time.Sleep(995 * time.Millisecond) })
	if s := steps[0]; s.Requests != 100 || s.CountFailed() != 0 || s.ByVersion["v1"] != 100 {
		t.Errorf("%d requests, %d failed, %v", s.Requests, s.CountFailed(), s.ByVersion)
	}
	if p := steps[0].Quantile(.5); p < 2990*time.Millisecond || p > 3010*time.Millisecond {
		t.Errorf("the median is %s", p)
	}
}

func TestRequestsCountToTheStepInWhichTheyAreSent(t *testing.T) {
	steps := in(t, func(n int64, _ *http.Request) (*http.Response, error) {
		time.Sleep(500 * time.Millisecond)
		if n > 150 {
			return ok(200, "v2", "b")
		}
		return ok(200, "v1", "a")
	}, func(l *load.Load) {
		time.Sleep(995 * time.Millisecond)
		l.BeginStep("two")
		time.Sleep(time.Second)
		l.SetSteady("one") // over: nothing
		l.SetSteady("two")
		time.Sleep(time.Second)
	})
	if len(steps) != 2 || steps[0].Requests != 100 || steps[1].Requests != 200 {
		t.Fatalf("%+v", steps)
	}
	if s := steps[1]; s.ByVersion["v1"] != 50 || s.ByVersion["v2"] != 150 || s.SteadyByTask["b"] != 100 ||
		len(steps[0].SteadyByTask) != 0 {
		t.Errorf("%v, steady %v", s.ByVersion, s.SteadyByTask)
	}
}

func TestEveryOtherAnswerIsAFailure(t *testing.T) {
	steps := in(t, func(n int64, r *http.Request) (*http.Response, error) {
		switch n % 4 {
		case 0:
			return ok(503, "v1", "a")
		case 1:
			<-r.Context().Done()
			return nil, r.Context().Err()
		case 2:
			res, _ := ok(200, "v1", "a")
			res.Body = io.NopCloser(io.MultiReader(strings.NewReader("v"), broken{}))
			return res, nil
		}
		return ok(200, "v1", "a")
	}, func(*load.Load) { time.Sleep(995 * time.Millisecond) })
	s := steps[0]
	if s.Requests != 100 || s.CountFailed() != 75 || s.ByVersion["v1"] != 25 || s.ByVersion[""] != 75 {
		t.Errorf("%d requests, %v, %v", s.Requests, s.Failures(), s.ByVersion)
	}
	want := []load.Failure{{"no response: context deadline exceeded", 25}, {"status 503 Service Unavailable", 25},
		{"the response was cut off: reset", 25}}
	for i, f := range s.Failures() {
		if f != want[i] {
			t.Errorf("%v, want %v", f, want[i])
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("reset") }

// http.Transport sends a GET again when a kept connection turns out to be
// closed. A load that hid this would not see a server that cuts connections.
func TestWhatIsSentTwiceHasFailed(t *testing.T) {
	var n atomic.Int64
	later := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) {
		case 20:
			c, _, _ := http.NewResponseController(w).Hijack()
			c.Close()
		case 40:
			close(later)
		}
	}))
	defer s.Close()
	l := load.Start(load.Options{URL: s.URL, Rate: 1000}, "one")
	<-later
	if failed := l.Stop()[0].CountFailed(); failed != 1 {
		t.Errorf("%d failed", failed)
	}
}

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		hits, n   int
		low, high float64
	}{
		{47, 100, .375, .567}, // the experiment of 47 and 53
		{0, 100, 0, .037},
		{100, 100, .963, 1},
		{10, 100, .055, .174},
		{0, 0, 0, 1},
	} {
		low, high := load.WilsonInterval(c.hits, c.n)
		if math.Abs(low-c.low) > .001 || math.Abs(high-c.high) > .001 {
			t.Errorf("%d of %d: %.4f to %.4f", c.hits, c.n, low, high)
		}
	}
}
