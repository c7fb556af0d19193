package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// Planted is the credential of the source under test. No error may contain it.
const Planted = "PLANTED-credential-7Q"

// Name is the name of the provider under test.
const Name = "the-provider"

// Provider is a source under test, and the responses of its provider.
type Provider struct {
	// Open returns the source of a server, with the name Name and the credential Planted.
	Open func(t *testing.T, address string, client *http.Client) metrics.Source
	// Query is a query that the source accepts.
	Query string
	// Body returns the provider's response with these points. A value may be NaN or infinite.
	Body func(points []metrics.Point) string
	// Quoted is Body with values as strings; nil: the provider has no such responses.
	Quoted func(points []metrics.Point) string
	// ManySeries is a response with three series; empty: the provider has no such response.
	ManySeries string
	// Incomplete are responses of JSON that lack a part of the provider's shape, or have another type
	// in it.
	Incomplete []string
	// HasTimes is whether points have times of their own. Otherwise the source has one point, the
	// last, at the begin of the last step.
	HasTimes bool
	// ChoosesTimes is whether the provider chooses the times of points, in milliseconds. Otherwise it
	// has those that the source asked for.
	ChoosesTimes bool
	// HasNaN is whether the provider has values that are infinite or not a number.
	HasNaN bool
}

const step = time.Minute

// at returns a minute of the span under test, which has ten. It has nanoseconds, as clocks have, and
// they are not whole milliseconds, as those of providers are.
func at(minutes int) time.Time { return time.Date(2027, 1, 2, 12, minutes, 17, 424_511_387, time.UTC) }

// span is what every case asks for.
func span() metrics.Span { return metrics.Span{From: at(0), To: at(10)} }

func point(minutes int, value float64) metrics.Point {
	return metrics.Point{At: at(minutes), Value: value}
}

// timed returns points at the times that the provider chooses: the first millisecond of each step.
func (p Provider) timed(all []metrics.Point) (out []metrics.Point) {
	for _, x := range all {
		if p.ChoosesTimes {
			x.At = x.At.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		}
		out = append(out, x)
	}
	return out
}

// isSame reports whether two lists have the same points. NaN is the same as NaN.
func isSame(a, b []metrics.Point) bool {
	return slices.EqualFunc(a, b, func(x, y metrics.Point) bool {
		return x.At.Equal(y.At) && (x.Value == y.Value || math.IsNaN(x.Value) && math.IsNaN(y.Value))
	})
}

// testCase is one behaviour of a server, and what the source makes of it.
type testCase struct {
	name  string
	serve http.HandlerFunc
	want  []metrics.Point
	// fails: the query is an error of this kind, whose text has this part.
	fails bool
	kind  sluice.Kind
	part  string
	// needsTimes: only for providers whose points have times.
	needsTimes bool
}

// Run runs the suite.
func Run(t *testing.T, p Provider) {
	for _, c := range slices.Concat(p.valueCases(), p.statusCases(), p.bodyCases()) {
		t.Run(c.name, func(t *testing.T) {
			if c.needsTimes && !p.HasTimes {
				t.Skip("the points of this provider have no times")
			}
			server := httptest.NewServer(c.serve)
			defer server.Close()
			p.check(t, c, t.Context(), server.URL, server.Client())
		})
	}
	t.Run("slow", p.testSlow)
	t.Run("stopped", p.testStopped)
	t.Run("refused connection", p.testNoServer)
	t.Run("unknown certificate", p.testUnknownCertificate)
	t.Run("no TLS", p.testNoTLS)
	t.Run("redirect to another host", p.testRedirectAway)
	t.Run("redirect on the host", p.testRedirectHere)
}

func (p Provider) check(t *testing.T, c testCase, ctx context.Context, address string, client *http.Client) {
	t.Helper()
	got, err := p.Open(t, address, client).Query(ctx, p.Query, span(), step)
	if !c.fails {
		if want := p.timed(c.want); err != nil || !isSame(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
		return
	}
	var whole *sluice.Error
	switch {
	case !errors.As(err, &whole):
		t.Fatalf("%v, %v; want an error with %q", got, err, c.part)
	case sluice.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.part):
		t.Errorf("kind %q, %v; want kind %q with %q", sluice.KindOf(err), err, c.kind, c.part)
	case whole.Op == "" || whole.Resource != Name || sluice.NextStep(err) == "" || len(got) > 0:
		t.Errorf("op %q, resource %q, next %q, points %v", whole.Op, whole.Resource, sluice.NextStep(err), got)
	}
	if text := err.Error() + sluice.NextStep(err); strings.Contains(text, Planted) || len(text) > 1000 ||
		strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("the error has a secret, is too long, or is not printable: %.2000q", text)
	}
}

// serve returns a server of one response.
func serve(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func serveJSON(body string) http.HandlerFunc { return serve(http.StatusOK, "application/json", body) }

// valueCases are responses with points.
func (p Provider) valueCases() []testCase {
	points := func(name string, sent, want []metrics.Point, needsTimes bool) testCase {
		return testCase{name: name, serve: serveJSON(p.Body(p.timed(sent))), want: want, needsTimes: needsTimes}
	}
	one := []metrics.Point{point(9, 1.5)}
	notNumbers := func(all ...metrics.Point) []metrics.Point {
		if p.HasNaN {
			return all
		}
		return slices.DeleteFunc(all, func(x metrics.Point) bool { return math.IsNaN(x.Value) || math.IsInf(x.Value, 0) })
	}
	all := []testCase{
		points("value", one, one, false),
		points("zero", []metrics.Point{point(9, 0)}, []metrics.Point{point(9, 0)}, false),
		points("large value", []metrics.Point{point(9, 1e15)}, []metrics.Point{point(9, 1e15)}, false),
		points("none", nil, nil, true),
		points("not a number", []metrics.Point{point(9, math.NaN())}, notNumbers(point(9, math.NaN())), false),
		points("infinity", []metrics.Point{point(9, math.Inf(1))}, notNumbers(point(9, math.Inf(1))), false),
		points("not a number among others", []metrics.Point{point(7, 1), point(8, math.NaN()), point(9, 2)},
			notNumbers(point(7, 1), point(8, math.NaN()), point(9, 2)), true),
		points("several", []metrics.Point{point(3, 1), point(4, 2), point(9, 3)},
			[]metrics.Point{point(3, 1), point(4, 2), point(9, 3)}, true),
		points("out of order", []metrics.Point{point(9, 3), point(3, 1), point(4, 2)},
			[]metrics.Point{point(3, 1), point(4, 2), point(9, 3)}, true),
		points("double, the last counts", []metrics.Point{point(3, 1), point(3, 2)}, []metrics.Point{point(3, 2)}, true),
		points("before and after the span", []metrics.Point{point(-1, 1), point(0, 2), point(9, 3), point(10, 4)},
			[]metrics.Point{point(0, 2), point(9, 3)}, true),
	}
	if p.Quoted != nil {
		all = append(all, testCase{name: "number as a string", serve: serveJSON(p.Quoted(p.timed(one))), want: one})
	}
	if p.ManySeries != "" {
		all = append(all, testCase{name: "several series", serve: serveJSON(p.ManySeries), fails: true, part: "3 series"})
	}
	all = append(all, testCase{name: "compressed", serve: serveCompressed(p.Body(p.timed(one))), want: one})
	all = append(all, testCase{name: "another content type", serve: serve(http.StatusOK, "text/plain", p.Body(p.timed(one))),
		want: one})
	return all
}
