package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
	"github.com/sluice-ecs/sluice/internal/metrics/sourcetest"
)

func openSource(t *testing.T, address string, client *http.Client) metrics.Source {
	return New(address, httpread.Reader{Name: sourcetest.Name, Client: client, Secrets: []string{sourcetest.Planted},
		Authorize: func(_ context.Context, r *http.Request, _ string) error {
			r.Header.Set("Authorization", "Bearer "+sourcetest.Planted)
			return nil
		}})
}

// body returns a matrix with one series. Prometheus writes the time at the end of a step, in milliseconds.
func body(points []metrics.Point, write func(value string) string) string {
	if points == nil {
		return `{"status":"success","data":{"resultType":"matrix","result":[]}}`
	}
	var values []string
	for _, p := range points {
		values = append(values, fmt.Sprintf("[%s,%s]", formatTime(p.At.Add(time.Minute)),
			write(strconv.FormatFloat(p.Value, 'f', -1, 64))))
	}
	return `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"job":"web"},"values":[` +
		strings.Join(values, ",") + `]}]}}`
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, sourcetest.Provider{
		Open: openSource, Query: "sum(rate(x[1m]))", HasTimes: true, HasNaN: true,
		Body:       func(all []metrics.Point) string { return body(all, strconv.Quote) },
		Quoted:     func(all []metrics.Point) string { return body(all[:1], strconv.Quote) },
		ManySeries: `{"status":"success","data":{"resultType":"vector","result":[{},{},{}]}}`,
		Incomplete: []string{`{}`, `[]`, `"x"`, `{"status":"success"}`, `{"status":"success","data":{"resultType":"new"}}`,
			`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1]]}]}}`,
			`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1,"x"]]}]}}`,
			`{"status":"success","data":{"resultType":"scalar","result":[1,{}]}}`,
			`{"status":"success","data":{"resultType":"matrix","result":{}}}`},
	})
}

// serverOf answers each request with a body and keeps the last request.
func serverOf(t *testing.T, body string) (metrics.Source, *http.Request) {
	last := &http.Request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		*last = *r
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return openSource(t, server.URL+"/prefix/", server.Client()), last
}

func at(seconds int) time.Time { return time.Date(2027, 1, 2, 12, 0, seconds, 0, time.UTC) }

// A query is evaluated at the end of each step of the span; one of a shorter span at its end.
func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, step int
		query          string
		want           string
	}{
		"range":   {0, 600, 60, "up", "GET /prefix/api/v1/query_range query=up start=1798891260 end=1798891800 step=60"},
		"one":     {0, 60, 60, "up", "GET /prefix/api/v1/query_range query=up start=1798891260 end=1798891260 step=60"},
		"shorter": {50, 60, 60, "up", "GET /prefix/api/v1/query_range query=up start=1798891260 end=1798891260 step=60"},
		"long":    {0, 600, 30, "up + " + strings.Repeat("0", 3000), "POST /prefix/api/v1/query_range"},
	} {
		source, last := serverOf(t, body(nil, nil))
		if _, err := source.Query(t.Context(), c.query, metrics.Span{From: at(c.from), To: at(c.to)},
			time.Duration(c.step)*time.Second); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := last.Method + " " + last.URL.Path
		for _, key := range []string{"query", "start", "end", "step"} {
			if v := last.Form.Get(key); v != "" && last.Method == "GET" {
				got += " " + key + "=" + v
			}
		}
		if got != c.want || last.Form.Get("query") != c.query ||
			last.Header.Get("Authorization") != "Bearer "+sourcetest.Planted {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// All shapes of results become points, or an error that names the shape.
func TestResults(t *testing.T) {
	when := at(60).Unix()
	for result, want := range map[string]string{
		fmt.Sprintf(`{"resultType":"scalar","result":[%d,"2.5"]}`, when):                     "12:00:00 2.5",
		fmt.Sprintf(`{"resultType":"vector","result":[{"value":[%d,"0.25"]}]}`, when):        "12:00:00 0.25",
		fmt.Sprintf(`{"resultType":"vector","result":[{"value":[%d.999,"0.25"]}]}`, when-61): "",
		`{"resultType":"vector","result":[]}`:                                                "",
		fmt.Sprintf(`{"resultType":"string","result":[%d,"x"]}`, when):                       "a string, and a gate needs",
		`{"resultType":"vector","result":[{"histogram":[1,{}]}]}`:                            "a histogram, and a gate needs",
		`{"resultType":"matrix","result":[{"histograms":[[1,{}]]}]}`:                         "a histogram, and a gate needs",
	} {
		source, _ := serverOf(t, `{"status":"success","warnings":["w"],"data":`+result+`}`)
		points, err := source.Query(t.Context(), "q", metrics.Span{From: at(0), To: at(60)}, time.Minute)
		got := ""
		for _, p := range points {
			got += fmt.Sprintf("%s %v", p.At.Format("15:04:05"), p.Value)
		}
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %q", result, got, err, want)
		}
	}
}

// Each series has its points. A series without a value has one that is not a number, and a range without
// series has none.
func TestSeries(t *testing.T) {
	when := at(60).Unix()
	for result, want := range map[string]string{
		fmt.Sprintf(`{"resultType":"matrix","result":[{"values":[[%d,"1"]]},{"values":[[%d,"2"]]}]}`, when, when): "[1] [2]",
		fmt.Sprintf(`{"resultType":"matrix","result":[{"values":[]},{"values":[[%d,"NaN"]]}]}`, when):             "[NaN] [NaN]",
		`{"resultType":"matrix","result":[]}`: "",
		`{"resultType":"vector","result":[]}`: "[NaN]",
	} {
		source, _ := serverOf(t, `{"status":"success","data":`+result+`}`)
		all, err := source.(metrics.SeriesSource).QuerySeries(t.Context(), "q", metrics.Span{From: at(0), To: at(60)}, time.Minute)
		var got []string
		for _, points := range all {
			var values []float64
			for _, p := range points {
				values = append(values, p.Value)
			}
			got = append(got, fmt.Sprint(values))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", result, got, err, want)
		}
	}
}

// Prometheus reads times as binary fractions, so that a time may come back a millisecond earlier or later. Mimir
// and VictoriaMetrics align the times of a range down to whole steps. Each step keeps its point.
func TestServersThatMoveTimes(t *testing.T) {
	from := time.Date(2027, 1, 2, 12, 0, 17, 424_511_387, time.UTC)
	for name, move := range map[string]func(ms int64) int64{
		"exact":      func(ms int64) int64 { return ms },
		"earlier":    func(ms int64) int64 { return ms - 1 },
		"later":      func(ms int64) int64 { return ms + 1 },
		"aligned":    func(ms int64) int64 { return ms / 60_000 * 60_000 },
		"in seconds": func(ms int64) int64 { return ms / 1000 * 1000 },
	} {
		var values []string
		for n := range 3 {
			ms := move(from.Add(time.Duration(n+1) * time.Minute).UnixMilli())
			values = append(values, fmt.Sprintf(`[%d.%03d,"%d"]`, ms/1000, ms%1000, n))
		}
		source, _ := serverOf(t, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[`+
			strings.Join(values, ",")+`]}]}}`)
		got, err := source.Query(t.Context(), "q", metrics.Span{From: from, To: from.Add(3 * time.Minute)}, time.Minute)
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %v, %v; want three points", name, got, err)
		}
		for n, p := range got {
			if want := from.Add(time.Duration(n) * time.Minute); !p.At.Equal(want) || p.Value != float64(n) {
				t.Errorf("%s: point %d is %v at %s, want %s", name, n, p.Value, p.At, want)
			}
		}
	}
}

// Prometheus's own reason is in the error of a wrong query.
func TestErrorsNameTheReason(t *testing.T) {
	text, _ := json.Marshal(map[string]string{"status": "error", "errorType": "bad_data", "error": "parse error at 3"})
	source, _ := serverOf(t, string(text))
	_, err := source.Query(t.Context(), "q", metrics.Span{From: at(0), To: at(60)}, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "bad_data: parse error at 3") || sluice.KindOf(err) != "" {
		t.Error(err)
	}
}
