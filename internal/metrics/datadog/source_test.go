package datadog

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
	"github.com/sluice-ecs/sluice/internal/metrics/sourcetest"
)

func openSource(_ *testing.T, address string, client *http.Client) metrics.Source {
	return New(address, Keys{sourcetest.Planted, "app-" + sourcetest.Planted},
		httpread.Reader{Name: sourcetest.Name, Client: client})
}

// body returns a response with one series. JSON has no NaN: Datadog has null for a gap.
func body(points []metrics.Point) string {
	if points == nil {
		return `{"status":"ok","res_type":"time_series","series":[]}`
	}
	var pairs []string
	for _, p := range points {
		value := "null"
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			value = strconv.FormatFloat(p.Value, 'f', -1, 64)
		}
		pairs = append(pairs, fmt.Sprintf("[%d.0,%s]", p.At.UnixMilli(), value))
	}
	return `{"status":"ok","res_type":"time_series","series":[{"metric":"x","interval":60,"pointlist":[` +
		strings.Join(pairs, ",") + `]}]}`
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, sourcetest.Provider{
		Open: openSource, Query: "sum:x{*}.as_count()", Body: body, HasTimes: true,
		ChoosesTimes: true,
		ManySeries:   `{"status":"ok","series":[{},{},{}]}`,
		Incomplete: []string{`{}`, `[]`, `{"status":"ok"}`, `{"status":"ok","series":{}}`,
			`{"status":"ok","series":[{"pointlist":[[1]]}]}`, `{"status":"ok","series":[{"pointlist":[[null,1]]}]}`,
			`{"status":"ok","series":[{"pointlist":[[1,"2"]]}]}`},
	})
}

func at(seconds int) time.Time { return time.Date(2027, 1, 2, 12, 0, seconds, 0, time.UTC) }

// The request has the span in seconds and both keys. Datadog's reason is in the error.
func TestRequest(t *testing.T) {
	answer := body(nil)
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("DD-API-KEY"), r.Header.Get("DD-APPLICATION-KEY"))
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	source := New(server.URL, Keys{"the-api-key", "the-app-key"}, httpread.Reader{Name: "dd", Client: server.Client()})
	span := metrics.Span{From: at(0), To: at(300)}
	if _, err := source.Query(t.Context(), "avg:x{a:b}", span, time.Minute); err != nil ||
		got != "GET /api/v1/query?from=1798891200&query=avg%3Ax%7Ba%3Ab%7D&to=1798891500 the-api-key the-app-key" {
		t.Errorf("%s, %v", got, err)
	}
	answer = `{"status":"error","error":"Error parsing query: unable to parse x"}`
	if _, err := source.Query(t.Context(), "x", span, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "query Datadog (dd): Error parsing query: unable to parse x") {
		t.Error(err)
	}
}

// Datadog takes whole seconds. Two spans that follow each other at a time with nanoseconds have each point once.
func TestSpansOfWholeSeconds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var from, to int
		fmt.Sscan(r.FormValue("from"), &from)
		fmt.Sscan(r.FormValue("to"), &to)
		var points []metrics.Point
		for s := from; s < to; s++ { // the end is not in the answer
			points = append(points, metrics.Point{At: time.Unix(int64(s), 0), Value: float64(s)})
		}
		fmt.Fprint(w, body(points))
	}))
	defer server.Close()
	source := openSource(t, server.URL, server.Client())
	border, seen := at(30).Add(424_511_387), map[float64]int{}
	for _, span := range []metrics.Span{{From: at(0), To: border}, {From: border, To: at(60)}} {
		points, err := source.Query(t.Context(), "avg:x{*}", span, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			seen[p.Value]++
		}
	}
	for s := range 60 {
		if n := seen[float64(at(s).Unix())]; n != 1 {
			t.Errorf("the point of second %d was read %d times", s, n)
		}
	}
}

// Points that are finer than a step are joined: counts are summed up, other values averaged.
func TestFinerPointsAreJoined(t *testing.T) {
	fine := []metrics.Point{{At: at(0), Value: 1}, {At: at(20), Value: 2}, {At: at(40), Value: 6}, {At: at(130), Value: 5}}
	for query, want := range map[string]string{
		"sum:x{*}.as_count()":         "12:00:00 9, 12:02:10 5",
		"sum:x{*}.rollup( sum, 20 )":  "12:00:00 9, 12:02:10 5",
		"count:x{*}.rollup(count,20)": "12:00:00 9, 12:02:10 5",
		"avg:x{*}":                    "12:00:00 3, 12:02:10 5",
		"avg:x{*}.rollup(avg, 20)":    "12:00:00 3, 12:02:10 5",
	} {
		var got []string
		for _, p := range joinPoints(fine, at(0), time.Minute, isCount(query)) {
			got = append(got, fmt.Sprintf("%s %v", p.At.Format("15:04:05"), p.Value))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for site, want := range map[string]string{
		"":                          "https://api.datadoghq.com",
		"datadoghq.eu":              "https://api.datadoghq.eu",
		"app.datadoghq.com":         "https://api.datadoghq.com",
		"https://us5.datadoghq.com": "https://api.us5.datadoghq.com",
		"https://app.datadoghq.com": "https://api.datadoghq.com",
		"https://proxy.test/dd/":    "https://proxy.test/dd",
		"http://127.0.0.1:8080":     "http://127.0.0.1:8080",
		"datadog.test":              `"datadog.test" is no site of Datadog`,
		"ftp://proxy.test":          "is no site of Datadog",
		"https://":                  "is not a URL",
	} {
		got, err := Address(site)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%q: %s, %v; want %s", site, got, err, want)
		}
	}
}
