package appfile

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
)

const gateProviders = "analysisProviders:\n- {name: prom, type: PROMETHEUS, config: {address: 'https://prom.example'}}\n" +
	"- {name: cw, type: CLOUDWATCH}\n"

func loadGates(t *testing.T, text string) (*Application, error) {
	t.Helper()
	return Load(files("sluice.yaml", text+gateProviders), ".", nil)
}

// A stage that is over before a gate can have a value is refused: readings begin after an interval and the warm-up, and
// a minute counts three minutes after its end.
func TestStagesTooShortForTheirGates(t *testing.T) {
	for stage, want := range map[string]string{
		"WAIT, with: {duration: 30s, gates: [{signal: errors, max: 1%}]}":                                "the stage takes 30s, and the first reading of gate errors is after 1m0s",
		"WAIT, with: {duration: 3m, gates: [{signal: errors, max: 1%}]}":                                 "the stage takes 3m0s, and gate errors cannot have a value before 4m0s: it counts a minute 3m0s after its end",
		"ANALYSIS, with: {duration: 3m, metrics: [{signal: errors, max: 1%}]}":                           "gate errors cannot have a value before 4m0s",
		"WAIT, with: {duration: 5m, gates: [{alarm: slow, after: 10m}]}":                                 "the first reading of gate slow is after 11m0s",
		"WAIT, with: {duration: 5m, gates: [{signal: errors, max: 1%, after: 2m}]}":                      "before 6m0s",
		"WAIT, with: {duration: 5m, gates: [{signal: errors, max: 1%, interval: 3m}]}":                   "before 6m0s",
		"WAIT, with: {duration: 3m, gates: [{provider: cw, query: 'a', expected: {max: 1}}]}":            "before 4m0s",
		"WAIT, with: {duration: 3m, gates: [{provider: prom, query: 'a', expected: {max: 1}}]}":          "",
		"WAIT, with: {duration: 4m, gates: [{signal: errors, max: 1%}, {command: {run: [./smoke.sh]}}]}": "",
		"WAIT, with: {duration: 1s}": "",
	} {
		_, err := loadGates(t, "pipeline: {stages: [{name: "+stage+"}]}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "sluice.yaml:1:")) {
			t.Errorf("%s: the error is %v; want %q", stage, err, want)
		}
	}
}

// The timeout of a stage is its maximum duration: one that is shorter than the time to wait is refused where it stands.
func TestTimeoutsShorterThanTheWait(t *testing.T) {
	for stage, want := range map[string]string{
		"WAIT, with: {duration: 3m, timeout: 1m}":                                            "sluice.yaml:1:64: pipeline.stages[0]: the timeout is 1m0s, and the stage waits for 3m0s: raise the timeout",
		"WAIT, timeout: 1m, with: {duration: 10m}":                                           "sluice.yaml:1:43: pipeline.stages[0]: the timeout is 1m0s, and the stage waits for 10m0s: raise the timeout",
		"ANALYSIS, timeout: 1m, with: {duration: 10m, metrics: [{signal: errors, max: 1%}]}": "the timeout is 1m0s",
		"WAIT, timeout: 10m, with: {duration: 10m}":                                          "",
		"WAIT, with: {duration: 5h}":                                                         "",
	} {
		_, err := loadGates(t, "pipeline: {stages: [{name: "+stage+"}]}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: the error is %v; want %q", stage, err, want)
		}
	}
}

// Each gate that cannot judge is refused at its place, with what to write instead.
func TestGatesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		gate, want string
		problems   int // 0: one
	}{
		"max is text":          {gate: "{signal: errors, max: 5 percent}", want: "a share above 0 and below 100%"},
		"max is 1":             {gate: "{signal: errors, max: 1}", want: "a share above 0 and below 100%"},
		"worse is text":        {gate: "{signal: errors, worse: much}", want: "a number from 1 to 1000"},
		"min is text":          {gate: "{provider: prom, query: up, expected: {min: low}}", want: "is a number"},
		"unknown signal":       {gate: "{signal: latency, max: 1%}", want: "errors, or slower than a duration"},
		"too fast a signal":    {gate: "{signal: slower than 500us, worse: 1.5}", want: "from 1ms to 1h"},
		"no unit":              {gate: "{signal: slower than 2, worse: 1.5}", want: "from 1ms to 1h"},
		"below zero":           {gate: "{signal: slower than -1s, worse: 1.5}", want: "from 1ms to 1h"},
		"too slow a signal":    {gate: "{signal: slower than 2h, worse: 1.5}", want: "from 1ms to 1h"},
		"min above max":        {gate: "{provider: prom, query: up, expected: {min: 5, max: 1}}", want: "min 5 is more than max 1"},
		"alpha of 60%":         {gate: "{signal: errors, worse: 1.5, alpha: 60%}", want: "alpha: 0.6 is not between 0 and 0.5"},
		"neither":              {gate: "{signal: errors}", want: "has neither worse nor max"},
		"signal of a provider": {gate: "{signal: errors, max: 1%, provider: prometheus}", want: "a signal is a metric of the load balancer, and has no provider"},
		"unknown provider":     {gate: "{provider: pron, query: up, expected: {max: 1}}", want: `did you mean "prom"?`},
		"no provider":          {gate: "{query: up, expected: {max: 1}}", want: "next: add provider: cw or prom"},
		"max of a query":       {gate: "{provider: prom, query: up, max: 0.1}", want: "write expected: {max: 0.1}"},
		"no range":             {gate: "{provider: prom, query: up}", want: "neither expected.min nor expected.max"},
		"one side":             {gate: "{provider: prom, query: up, strategy: CANARY_PRIMARY}", want: "same query for the canary and the primary"},
		"one side of bad": {gate: "{provider: prom, bad: b, all: a, worse: 1.5}", want: "same query for the canary and the primary",
			problems: 2},
		"bad without all":   {gate: "{provider: prom, bad: b, worse: 1.5}", want: "exactly one of signal, query, and bad with all"},
		"two sources":       {gate: "{signal: errors, provider: prom, query: up, worse: 2}", want: "exactly one of signal"},
		"too often":         {gate: "{signal: errors, worse: 1.5, interval: 10s}", want: "CloudWatch has one value per minute"},
		"too often, query":  {gate: "{provider: cw, query: q, expected: {max: 1}, interval: 30s}", want: "one value per minute"},
		"previous":          {gate: "{provider: prom, query: up, strategy: PREVIOUS}", want: "it needs a stage"},
		"unknown parameter": {gate: "{provider: prom, query: '{{ .K8s.Namespace }}', expected: {max: 1}}", want: "not known: use .VariantArgs"},
		"worse below 1":     {gate: "{signal: errors, worse: 0.5}", want: "a number from 1 to 1000"},
		"max of 100%":       {gate: "{signal: errors, max: 100%}", want: `such as "1%" or 0.01`},
		"counts by query":   {gate: "{provider: prom, query: up, strategy: SEQUENTIAL, worse: 2}", want: "give bad and all, not query"},
		"range of counts":   {gate: "{signal: errors, worse: 2, expected: {max: 1}}", want: "only the strategy THRESHOLD uses expected"},
		"literal secret": {gate: "{https: {url: 'https://a.example', headers: [{key: Authorization, value: 'Bearer abc'}]}}",
			want: "is a secret: name its place"},
		"no address":     {gate: "{https: {url: 'ftp://a.example'}}", want: "begins with https:// or http://"},
		"unknown key":    {gate: "{signal: errors, wors: 2}", want: `did you mean "worse"?`},
		"not a reaction": {gate: "{signal: errors, worse: 2, onUndecided: ask}", want: "use one of hold, pass, fail"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadGates(t, "gates:\n- "+c.gate+"\n")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sluice.yaml:2:") {
				t.Errorf("%v\nwant %q with its line", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "abc") {
				t.Errorf("the secret is shown: %v", err)
			}
			if err != nil && strings.Count(err.Error(), "sluice.yaml:") != max(c.problems, 1) {
				t.Errorf("more than one problem: %v", err)
			}
		})
	}
}

// An ANALYSIS stage has a gate, and time for its first reading.
func TestAnalysisWithoutAReadingIsRefused(t *testing.T) {
	for with, want := range map[string]string{
		"{duration: 5m}": "the stage has no gate",
		"{duration: 30s, metrics: [{signal: errors, worse: 1.5}]}": "first reading of gate errors is after 1m0s",
		"{metrics: [{signal: errors, worse: 1.5}]}":                "has no duration",
		"{duration: 5m, alarms: [a, a]}":                           `two gates are named "a"`,
		"{duration: 7h, alarms: [a]}":                              "longer than the timeout of the deployment",
		"{duration: 5m, logs: [{query: a}]}":                       "sluice has no log provider",
	} {
		_, err := loadGates(t, "pipeline: {stages: [{name: ANALYSIS, with: "+with+"}]}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %q", with, err, want)
		}
	}
}

// The keys of PipeCD's ANALYSIS are read as they are; a template's metric too.
func TestPipeCDsAnalysisIsRead(t *testing.T) {
	const app = `apiVersion: pipecd.dev/v1beta1
kind: ECSApp
spec:
  name: web
  input: {serviceDefinitionFile: servicedef.yaml}
  analysisProviders: [{name: prom, type: PROMETHEUS, config: {address: "https://prom.example"}}]
  pipeline:
    stages:
      - name: ANALYSIS
        with:
          duration: 10m
          restartThreshold: 3
          metrics:
            - {strategy: THRESHOLD, provider: prom, query: 'errors{app="{{ .App.Name }}"}', interval: 2m,
               expected: {max: 0.5}, failureLimit: 2, skipOnNoData: true, timeout: 10s}
            - {strategy: CANARY_PRIMARY, provider: prom, query: 'latency{v="{{ .VariantArgs.v }}"}', deviation: HIGH,
               canaryArgs: {v: new}, primaryArgs: {v: old}}
            - {template: {name: rate, appArgs: {job: web}}}
            - {provider: prom, query: 'cpu{v="{{ .VariantArgs.v }}"}', expected: {max: 1}, primaryArgs: {v: one}}
          https: [{url: "https://a.example/smoke", expectedCode: 204, interval: 30s}]
`
	const template = `apiVersion: pipecd.dev/v1beta1
kind: AnalysisTemplate
spec:
  metrics:
    rate: {provider: prom, query: 'rate{job="{{ .AppCustomArgs.job }}"}', interval: 1m, expected: {min: 1}}
`
	fsys := files("app.pipecd.yaml", app)
	fsys[".pipe/analysis-template.yaml"] = files("x", template)["x"]
	got, err := Load(fsys, ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := got.Pipeline[0].With.(Analysis)
	if len(a.Gates) != 5 || a.Duration != 10*time.Minute {
		t.Fatalf("%+v", a)
	}
	g := a.Gates[0]
	if g.How.Strategy != analysis.Threshold || *g.How.ExpectedMax != 0.5 || g.How.FailureLimit != 2 || !g.How.SkipOnNoData ||
		g.Interval != 2*time.Minute || g.Timeout != 10*time.Second || g.Read.Values.Canary != `errors{app="web"}` ||
		g.OnUndecided != Pass || !g.How.PipeCD {
		t.Errorf("%+v", g)
	}
	if g := a.Gates[1]; g.Read.Values != (Queries{Canary: `latency{v="new"}`, Control: `latency{v="old"}`}) || !g.Compares() {
		t.Errorf("%+v", g)
	}
	if name := a.Gates[1].Name; name != `prom latency{v="*"}` { // people see no parameters of templates
		t.Errorf("the gate is named %q", name)
	}
	if g := a.Gates[2]; g.Read.Values.Canary != `rate{job="web"}` || *g.How.ExpectedMin != 1 {
		t.Errorf("%+v", g)
	}
	if g := a.Gates[3]; g.Read.Values.Canary != `cpu{v="one"}` { // PipeCD's thresholds have the parameters of the primary
		t.Errorf("%+v", g)
	}
	if g := a.Gates[4]; g.Read.HTTPS == nil || !g.How.PipeCD || g.Read.HTTPS.Code != 204 || g.Interval != 30*time.Second {
		t.Errorf("%+v", g)
	}
}
