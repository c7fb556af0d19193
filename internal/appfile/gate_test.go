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

// Each gate that cannot judge is refused at its place, with what to write instead.
func TestGatesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ gate, want string }{
		"unknown signal":       {"{signal: latency, max: 1%}", "errors, or slower than a duration"},
		"too fast a signal":    {"{signal: slower than 500us, worse: 1.5}", "from 1ms to 1h"},
		"no unit":              {"{signal: slower than 2, worse: 1.5}", "from 1ms to 1h"},
		"below zero":           {"{signal: slower than -1s, worse: 1.5}", "from 1ms to 1h"},
		"too slow a signal":    {"{signal: slower than 2h, worse: 1.5}", "from 1ms to 1h"},
		"min above max":        {"{provider: prom, query: up, expected: {min: 5, max: 1}}", "min 5 is more than max 1"},
		"alpha of 60%":         {"{signal: errors, worse: 1.5, alpha: 60%}", "alpha: 0.6 is not between 0 and 0.5"},
		"neither":              {"{signal: errors}", "has neither worse nor max"},
		"signal of a provider": {"{signal: errors, max: 1%, provider: prometheus}", "a signal is a metric of the load balancer, and has no provider"},
		"unknown provider":     {"{provider: pron, query: up, expected: {max: 1}}", `did you mean "prom"?`},
		"no provider":          {"{query: up, expected: {max: 1}}", "needs a provider"},
		"no range":             {"{provider: prom, query: up}", "neither expected.min nor expected.max"},
		"one side":             {"{provider: prom, query: up, strategy: CANARY_PRIMARY}", "same query for the canary and the primary"},
		"one side of bad":      {"{provider: prom, bad: b, all: a, worse: 1.5}", "same query for the canary and the primary"},
		"bad without all":      {"{provider: prom, bad: b, worse: 1.5}", "exactly one of signal, query, and bad with all"},
		"two sources":          {"{signal: errors, provider: prom, query: up, worse: 2}", "exactly one of signal"},
		"too often":            {"{signal: errors, worse: 1.5, interval: 10s}", "CloudWatch has one value per minute"},
		"too often, query":     {"{provider: cw, query: q, expected: {max: 1}, interval: 30s}", "one value per minute"},
		"previous":             {"{provider: prom, query: up, strategy: PREVIOUS}", "it needs a stage"},
		"unknown parameter":    {"{provider: prom, query: '{{ .K8s.Namespace }}', expected: {max: 1}}", "not known: use .VariantArgs"},
		"worse below 1":        {"{signal: errors, worse: 0.5}", "a number from 1 to 1000"},
		"max of 100%":          {"{signal: errors, max: 100%}", `such as "1%" or 0.01`},
		"counts by query":      {"{provider: prom, query: up, strategy: SEQUENTIAL, worse: 2}", "give bad and all, not query"},
		"range of counts":      {"{signal: errors, worse: 2, expected: {max: 1}}", "only the strategy THRESHOLD uses expected"},
		"literal secret": {"{https: {url: 'https://a.example', headers: [{key: Authorization, value: 'Bearer abc'}]}}",
			"is a secret: name its place"},
		"no address":     {"{https: {url: 'ftp://a.example'}}", "begins with https:// or http://"},
		"unknown key":    {"{signal: errors, wors: 2}", `did you mean "worse"?`},
		"not a reaction": {"{signal: errors, worse: 2, onUndecided: ask}", "use one of hold, pass, fail"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadGates(t, "gates:\n- "+c.gate+"\n")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sluice.yaml:2:") {
				t.Errorf("%v\nwant %q with its line", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "abc") {
				t.Errorf("the secret is shown: %v", err)
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
