package web

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
	return New(address, http.Header{"X-Key": {sourcetest.Planted}},
		httpread.Reader{Name: sourcetest.Name, Client: client, Secrets: []string{sourcetest.Planted}})
}

// body returns a response with the last value. JSON has no NaN.
func body(points []metrics.Point) string {
	value := "null"
	if n := len(points); n > 0 && !math.IsNaN(points[n-1].Value) && !math.IsInf(points[n-1].Value, 0) {
		value = strconv.FormatFloat(points[n-1].Value, 'f', -1, 64)
	}
	return `{"data":{"value":` + value + `}}`
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, sourcetest.Provider{Open: openSource, Query: ".data.value", Body: body})
}

// Each result of jq is a number, a boolean, nothing, or an error that says what it is.
func TestQueries(t *testing.T) {
	const response = `{"ok": true, "bad": 3, "all": 400, "name": "x", "list": [1, 2], "none": null}`
	for query, want := range map[string]string{
		".bad / .all":                    "0.0075",
		".ok":                            "1",
		".ok | not":                      "0",
		".bad > 2 and .all < 500":        "1",
		".none":                          "",
		".missing":                       "",
		"empty":                          "",
		"[.list[]] | add":                "3",
		"10000000000000000000000 | . *2": "2e+22",
		"infinite":                       "+Inf",
		"nan":                            "NaN",
		".list[]":                        "several results",
		".name":                          "a string, and a gate needs a number",
		".list":                          "a list or an object",
		".name | .x":                     "expected an object but got: string",
		".bad /":                         "is no expression of jq",
		"input":                          "is no expression of jq",
		"$ENV.HOME":                      "",
		"env.HOME":                       "",
		"":                               "has no expression",
		"/other\n.bad":                   "path /api/other",
		"/other":                         "has no expression",
	} {
		path := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			fmt.Fprint(w, response)
		}))
		source := openSource(t, server.URL+"/api", server.Client())
		end := time.Date(2027, 1, 2, 12, 10, 0, 0, time.UTC)
		points, err := source.Query(t.Context(), query, metrics.Span{From: end.Add(-time.Hour), To: end}, time.Minute)
		server.Close()
		got := ""
		if len(points) == 1 && points[0].At.Equal(end.Add(-time.Minute)) {
			got = fmt.Sprint(points[0].Value)
		}
		if path == "/api/other" {
			got = "path " + path
		}
		if err != nil && (want == "" || !strings.Contains(err.Error(), want)) || err == nil && got != want {
			t.Errorf("%s: %q %v, %v; want %q", query, got, points, err, want)
		}
	}
}

// A query is checked without a request.
func TestCheckQuery(t *testing.T) {
	if err := CheckQuery(".a | select(.b"); err == nil || !strings.Contains(err.Error(), "no expression of jq") {
		t.Error(err)
	}
	if err := CheckQuery("/x?y=z\n.a"); err != nil {
		t.Error(err)
	}
}
