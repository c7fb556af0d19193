package gates_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// fakePrometheus answers queries of counts: the canary fails bad of 100 requests a minute, the primary none of 400.
func fakePrometheus(t *testing.T, bad int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of-the-test" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		value := map[string]int{"bad canary": bad, "all canary": 100, "bad primary": 0, "all primary": 400}[r.FormValue("query")]
		var start, end float64
		fmt.Sscan(r.FormValue("start"), &start)
		fmt.Sscan(r.FormValue("end"), &end)
		if at := r.FormValue("time"); at != "" {
			fmt.Sscan(at, &end)
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[%f,"%d"]}]}}`, end, value)
			return
		}
		var points []string
		for at := start; at <= end; at += 60 {
			points = append(points, fmt.Sprintf(`[%f,"%d"]`, at, value))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`,
			strings.Join(points, ","))
	}))
	t.Cleanup(s.Close)
	return s
}

// A gate with queries of a provider refuses a canary that fails more, and passes one that does not. The token is
// read from its place and shown nowhere.
func TestGateOfAProvider(t *testing.T) {
	for name, c := range map[string]struct {
		bad  int
		want sluice.Outcome
	}{"bad": {10, sluice.RolledBack}, "good": {0, sluice.Succeeded}} {
		t.Run(name, func(t *testing.T) {
			server := fakePrometheus(t, c.bad)
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				b.Engine.OutsideAWS = &stage.OutsideAWS{HTTP: server.Client(), Secret: secretOfTheTest}
				end := deploy(b, "sim/web:v2", judged(analysisStage(`duration: 20m, metrics: [{provider: prom, worse: 1.5, max: 1%, `+
					`bad: "bad {{ .Variant }}", all: "all {{ .Variant }}"}]`))+
					"analysisProviders: [{name: prom, type: PROMETHEUS, config: {address: \""+server.URL+"\", bearer: env:TOKEN}}]\n")
				if end.Outcome != c.want || c.bad > 0 && !strings.Contains(end.Cause, "of the canary are bad (10.00 %)") {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if strings.Contains(b.EventLog(), "token-of-the-test") {
					b.Error("the token is shown")
				}
			})
		})
	}
}

func secretOfTheTest(_ context.Context, place string) (string, error) {
	if place != "env:TOKEN" {
		return "", errors.New("there is no such secret")
	}
	return "token-of-the-test", nil
}

// A provider that never answers is no verdict: the gate asks, even with onError: pass, or fails if onError says so.
// A provider that answered before is ignored with onError: pass.
func TestSilentProviderIsNoVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		answers int
		want    string
	}{"pass": {0, "asks"}, "fail": {0, "had no answer"}, "pass, once": {1, ""}} {
		t.Run(name, func(t *testing.T) {
			server := matrix(func(n int) (int, []string) {
				if n < c.answers {
					return http.StatusOK, []string{"0.5"}
				}
				return http.StatusUnauthorized, nil
			}).start(t)
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				end, isAsked := judgeBy(b, server.URL, "2m", "query: q, expected: {max: 1}, interval: 15s, onError: "+name[:4], false)
				want := sluice.Succeeded
				if strings.HasPrefix(name, "fail") {
					want = sluice.RolledBack
				}
				if end.Outcome != want || isAsked != (c.want == "asks") || !isAsked && !strings.Contains(end.Cause, c.want) {
					b.Fatalf("%s, asked %t: %s\n%s", end.Outcome, isAsked, end.Cause, b.EventLog())
				}
				if took := waited(b, "ANALYSIS"); took < 2*time.Minute && want == sluice.Succeeded {
					b.Errorf("the stage took %s, and a provider without an answer is ignored only at its end", took)
				}
			})
		})
	}
}

// Gates that can never answer are refused before the first write, with the place in the file.
func TestGatesThatCannotAnswerAreRefused(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		for gate, want := range map[string]string{
			"{provider: prom, query: q, expected: {max: 1}}":     "there is no such secret",
			"{provider: web, query: '.a |', expected: {max: 1}}": "no expression of jq",
			"{provider: cw, query: 'a b', expected: {max: 1}}":   "is no metric",
			"{provider: dd, query: q, expected: {max: 1}}":       "no site of Datadog",
			"{command: {run: [./nope.sh]}}":                      "no such file or directory",
			"{command: {run: [no-such-program]}}":                "executable file not found in $PATH",
		} {
			files := b.Files("sim/web:v2", judged("{name: WAIT, with: {duration: 20m, gates: ["+gate+"]}}")+`analysisProviders:
  - {name: prom, type: PROMETHEUS, config: {address: "https://p.example", bearer: env:OTHER}}
  - {name: dd, type: DATADOG, config: {address: "p.example", apiKey: env:TOKEN, applicationKey: env:TOKEN}}
  - {name: web, type: WEB, config: {address: "https://w.example"}}
  - {name: cw, type: CLOUDWATCH}
`)
			app, err := appfile.Load(files, ".", nil)
			stagetest.Must(b, err)
			err = stage.CheckGates(context.Background(), app, &stage.OutsideAWS{HTTP: http.DefaultClient, Secret: secretOfTheTest})
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sluice.yaml:") {
				b.Errorf("%s: %v, want %q", gate, err, want)
			}
		}
	})
}
