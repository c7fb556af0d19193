package appfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Defaults of gates.
const (
	defaultGateInterval = time.Minute
	defaultGateTimeout  = 30 * time.Second
)

// gateReader reads the gates of a checked file.
type gateReader struct {
	*loader
	providers map[string]fileProvider
	undecided Reaction // default of the format
	isWhole   bool     // the gates are of the whole pipeline
}

// newGateReader reads the providers of the file.
func (l *loader) newGateReader(spec *definition.Node) *gateReader {
	r := &gateReader{loader: l, providers: map[string]fileProvider{}, undecided: Hold}
	if r.isOfPipeCD() {
		r.undecided = Pass
	}
	r.addProviders(l.src, spec.Get("analysisProviders"))
	r.readProvidersFile()
	return r
}

// isOfPipeCD reports whether the gates judge as PipeCD does.
func (r *gateReader) isOfPipeCD() bool { return r.app.Format == PipeCDv0 || r.app.Format == PipeCDv1 }

// readProvidersFile adds the providers of a separate file, such as piped's configuration. Its other keys are
// not read.
func (r *gateReader) readProvidersFile() {
	if r.providersFile == nil {
		return
	}
	src, err := definition.Parse(r.providersFile.Name, r.providersFile.Data)
	if err != nil {
		r.others = append(r.others, err)
		return
	}
	src.HideSecrets()
	list := src.Root.Get("analysisProviders")
	if list == nil {
		list = src.Root.Get("spec").Get("analysisProviders")
	}
	if list == nil {
		r.addProblem(src.At(src.Root, "the file has no analysisProviders").Lacks(src.Root, "analysisProviders"))
		return
	}
	c := &checker{src: src, format: r.app.Format}
	c.checkValue(list, analysisProvidersKey().shape, "analysisProviders")
	r.problems = append(r.problems, c.problems...)
	r.addProviders(src, list)
}

// readAnalysis reads the options of an ANALYSIS stage.
func (r *gateReader) readAnalysis(with *definition.Node) Analysis {
	of := *r
	of.undecided = Reaction(values.TextOr(with.Get("onUndecided"), string(r.undecided)))
	a := Analysis{Duration: values.SpanOr(with.Get("duration"), 0)}
	for _, n := range values.Items(with.Get("metrics")) {
		a.Gates = append(a.Gates, of.readMetric(n))
	}
	for _, n := range values.Items(with.Get("https")) {
		a.Gates = append(a.Gates, of.readHTTPS(n, n))
	}
	for _, n := range values.Items(with.Get("commands")) {
		a.Gates = append(a.Gates, of.readCommand(n, n))
	}
	for _, n := range values.Items(with.Get("alarms")) {
		a.Gates = append(a.Gates, of.newCheck(n, n, values.Text(n), GateSource{Alarm: values.Text(n)}))
	}
	if len(a.Gates) == 0 && with != nil {
		p := r.src.At(with, "the stage has no gate: add metrics, https, commands or alarms")
		r.addProblem(p.Lacks(with, "metrics", "https", "commands", "alarms"))
	}
	r.refuseSameNames(a.Gates)
	r.refuseShortDuration(with, a.Duration, a.Gates)
	return a
}

// readWait reads the options of a WAIT stage.
func (r *gateReader) readWait(with *definition.Node) Wait {
	w := Wait{Duration: values.SpanOr(with.Get("duration"), 0), Gates: r.readGates(with.Get("gates"), false)}
	r.refuseShortDuration(with, w.Duration, w.Gates)
	return w
}

// refuseShortDuration refuses a stage that ends before the first reading of a gate, or before a reading that can have a
// value.
func (r *gateReader) refuseShortDuration(with *definition.Node, duration time.Duration, gates []Gate) {
	for _, g := range gates {
		if g.Name == "" || duration <= 0 {
			continue // refused already
		}
		soonest, _ := g.FirstValue()
		switch first := g.After + g.Interval; {
		case first > duration:
			r.addProblem(r.src.At(with.Get("duration"), "the stage takes %s, and the first reading of gate %s is after %s",
				sluice.Duration(duration), g.Name, sluice.Duration(first)))
		case g.After+soonest > duration:
			r.addProblem(r.src.At(with.Get("duration"), "the stage takes %s, and gate %s cannot have a value before %s: "+
				"it counts a minute %s after its end", sluice.Duration(duration), g.Name, sluice.Duration(g.After+soonest),
				sluice.Duration(analysis.SettleTime)))
		}
	}
}

// readGates reads the entries of gates. isWhole says that they are of the whole pipeline.
func (r *gateReader) readGates(list *definition.Node, isWhole bool) (all []Gate) {
	of := *r
	of.isWhole = isWhole
	for _, n := range values.Items(list) {
		switch {
		case values.IsGiven(n.Get("alarm")):
			all = append(all, r.newCheck(n, n, values.Text(n.Get("alarm")), GateSource{Alarm: values.Text(n.Get("alarm"))}))
		case values.IsGiven(n.Get("https")):
			all = append(all, r.readHTTPS(n, n.Get("https")))
		case values.IsGiven(n.Get("command")):
			all = append(all, r.readCommand(n, n.Get("command")))
		default:
			all = append(all, of.readMetric(n))
		}
	}
	r.refuseSameNames(all)
	return all
}

// refuseSameNames refuses two gates with one name: a verdict would not say which one it is.
func (r *gateReader) refuseSameNames(all []Gate) {
	for i, g := range all {
		if slices.ContainsFunc(all[:i], func(o Gate) bool { return o.Name == g.Name }) {
			r.addProblem(r.src.At(&definition.Node{Line: g.Line, Column: 1}, "two gates are named %q: give one of them "+
				"another name", g.Name))
		}
	}
}

// newGate returns a gate with the options that all gates have. Options stand in the entry or, for
// checks of the key gates, in its part.
func (r *gateReader) newGate(entry, part *definition.Node, name string) Gate {
	pick := func(key string) *definition.Node {
		if n := part.Get(key); values.IsGiven(n) {
			return n
		}
		return entry.Get(key)
	}
	return Gate{
		Name: values.TextOr(entry.Get("name"), name), Line: entry.Line,
		Interval:    values.SpanOr(pick("interval"), defaultGateInterval),
		Timeout:     values.SpanOr(pick("timeout"), defaultGateTimeout),
		OnUndecided: Reaction(values.TextOr(pick("onUndecided"), string(r.undecided))),
		OnError:     Reaction(values.TextOr(pick("onError"), string(Hold))),
		DryRun:      values.FlagOr(pick("dryRun"), false), After: values.SpanOr(pick("after"), 0),
		How: analysis.Gate{FailureLimit: int(values.IntegerOr(pick("failureLimit"), 0)), PipeCD: r.isOfPipeCD()},
	}
}

// newCheck returns a gate that passes or fails at each reading.
func (r *gateReader) newCheck(entry, part *definition.Node, name string, read GateSource) Gate {
	g := r.newGate(entry, part, name)
	g.How.Strategy, g.Read = analysis.Checked, read
	return g
}

func (r *gateReader) readHTTPS(entry, n *definition.Node) Gate {
	if url := values.Text(n.Get("url")); secret.URL(url) != url {
		p := r.src.At(n.Get("url"), "the URL of a gate has a secret in it: put the secret into a header, as env:NAME or "+
			"ssm:/name")
		p.Source = "" // the line shows the secret
		r.addProblem(p)
	}
	check := HTTPCheck{URL: values.Text(n.Get("url")), Method: values.TextOr(n.Get("method"), "GET"),
		Code: int(values.IntegerOr(n.Get("expectedCode"), 200)), Response: values.Text(n.Get("expectedResponse"))}
	for _, h := range values.Items(n.Get("headers")) {
		header := Header{Key: values.Text(h.Get("key")), Value: values.Text(h.Get("value"))}
		if isSecretHeader(header) {
			p := r.src.At(h.Get("value"), "the value of header %s is a secret: name its place, env:NAME or ssm:/name",
				header.Key)
			p.Source = "" // the line shows the secret
			r.addProblem(p)
		}
		check.Headers = append(check.Headers, header)
	}
	return r.newCheck(entry, n, secret.URL(check.URL), GateSource{HTTPS: &check})
}

// isSecretHeader reports whether a header has a secret as its value, and not the place of one.
func isSecretHeader(h Header) bool {
	named := secret.IsName(h.Key) || strings.EqualFold(h.Key, "Authorization") || strings.EqualFold(h.Key, "Cookie")
	return named && !values.IsSecretPlace(h.Value)
}

func (r *gateReader) readCommand(entry, n *definition.Node) Gate {
	run := values.Texts(n.Get("run"))
	if values.IsGiven(n.Get("run")) && (len(run) == 0 || run[0] == "") {
		r.addProblem(r.src.At(n, "the command of a gate has no program"))
	}
	read := GateSource{Command: run}
	if r.from != nil {
		read.Folder = r.from.Folder()
	}
	return r.newCheck(entry, n, strings.Join(run, " "), read)
}

// readMetric reads a gate on a metric.
func (r *gateReader) readMetric(n *definition.Node) Gate {
	m := &metricReader{gates: r, entry: n, from: n, file: r.src, args: queryArgs{app: r.app.Name}}
	if t := n.Get("template"); values.IsGiven(t) {
		m.args.custom = values.Map(t.Get("appArgs"))
		if m.from, m.file = r.findTemplate(t); m.from == nil {
			return Gate{Name: values.Text(t.Get("name")), Line: n.Line}
		}
	}
	return m.read()
}

// strategyWords are the strategies that a file may name.
func strategyWords() (words []string) {
	for _, s := range analysis.Strategies() {
		words = append(words, string(s))
	}
	return words
}

// nameOf shortens a query to the name of a gate.
func nameOf(kind, query string) string {
	const most = 40
	short := strings.Join(strings.Fields(query), " ")
	if len(short) > most {
		short = strings.ToValidUTF8(short[:most-1], "") + "…"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", kind, short))
}
