package appfile

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// metricReader reads one gate on a metric.
type metricReader struct {
	gates *gateReader
	entry *definition.Node   // of the file
	from  *definition.Node   // entry, or its template
	file  *definition.Source // of from
	args  queryArgs
}

func (m *metricReader) get(key string) *definition.Node { return m.from.Get(key) }

// problem adds a problem of a value; nil: of the whole gate. A value that the check of the keys has refused has one already.
func (m *metricReader) problem(n *definition.Node, format string, args ...any) {
	if n == nil {
		n = m.from
	} else if m.gates.hasProblemAt(m.file, n.Line, n.Column) {
		return
	}
	m.gates.addProblem(m.file.At(n, format, args...))
}

// hasRefusedKey reports whether the check of the keys has refused one of the node, or its value.
func (m *metricReader) hasRefusedKey(n *definition.Node) bool {
	return n != nil && slices.ContainsFunc(n.Entries, func(e definition.Entry) bool {
		return m.gates.hasProblemAt(m.file, e.Line, e.Column) ||
			m.gates.hasProblemAt(m.file, e.Value.Line, e.Value.Column)
	})
}

// read reads the gate, and adds the problems of its values.
func (m *metricReader) read() Gate {
	g := m.gates.newGate(m.from, m.entry, m.name())
	g.Line = m.entry.Line
	g.How.Strategy = m.strategy()
	g.How.Worse, _ = values.Number(m.get("worse"))
	g.How.Max, _ = values.Fraction(m.get("max"))
	g.How.Alpha, _ = values.Fraction(m.get("alpha"))
	g.How.SkipOnNoData, g.How.Deviation = values.FlagOr(m.get("skipOnNoData"), false), values.Text(m.get("deviation"))
	if x, ok := values.Number(m.get("expected").Get("min")); ok {
		g.How.ExpectedMin = &x
	}
	if x, ok := values.Number(m.get("expected").Get("max")); ok {
		g.How.ExpectedMax = &x
	}
	m.checkOptions(g)
	g.Read = m.readSource(g)
	m.checkInterval(g)
	return g
}

// name is the name of a gate whose entry gives none.
func (m *metricReader) name() string {
	if s := values.Text(m.get("signal")); s != "" {
		return s
	}
	text := values.TextOr(m.get("query"), values.Text(m.get("bad")))
	return nameOf(values.Text(m.get("provider")), hideParameters(text))
}

// strategy returns the strategy, or the default for what the gate reads.
func (m *metricReader) strategy() analysis.Strategy {
	if s := values.Text(m.get("strategy")); s != "" {
		return analysis.Strategy(s)
	}
	if values.IsGiven(m.get("signal")) || values.IsGiven(m.get("bad")) || values.IsGiven(m.get("all")) {
		return analysis.Sequential
	}
	return analysis.Threshold
}

// checkOptions refuses options that the strategy does not use, and options that it lacks.
func (m *metricReader) checkOptions(g Gate) {
	is := g.How.Strategy
	switch {
	case m.hasRefusedKey(m.from), m.hasRefusedKey(m.get("expected")): // what it lacks may be the key that is refused
	case is == analysis.Sequential && g.How.Worse == 0 && g.How.Max == 0:
		m.problem(nil, "gate %s has neither worse nor max: add worse: 1.5 to compare with the primary, or max: 1%% to limit "+
			"the share", g.Name)
	case is == analysis.Threshold && g.How.ExpectedMin == nil && g.How.ExpectedMax == nil:
		if m.limitsQuery() {
			m.problem(m.get("max"), "the limit of a query is the key expected: write expected: {max: %s}", m.get("max").Text)
			return
		}
		m.problem(nil, "gate %s has neither expected.min nor expected.max", g.Name)
	case is == analysis.Previous && m.gates.isWhole:
		m.problem(m.get("strategy"), "PREVIOUS compares with the same stage of the last deployment: it needs a stage. "+
			"Move the gate to an ANALYSIS or a WAIT")
	case g.How.Alpha > 0.5:
		m.problem(m.get("alpha"), "gate %s: alpha: %v is not between 0 and 0.5", g.Name, g.How.Alpha)
	case g.How.ExpectedMin != nil && g.How.ExpectedMax != nil && *g.How.ExpectedMin > *g.How.ExpectedMax:
		m.problem(m.get("expected"), "gate %s: expected: min %v is more than max %v", g.Name, *g.How.ExpectedMin,
			*g.How.ExpectedMax)
	}
	for _, key := range []string{"worse", "max", "alpha"} {
		if is != analysis.Sequential && values.IsGiven(m.get(key)) {
			m.problem(m.get(key), "only the strategy SEQUENTIAL uses %s", key)
		}
	}
	if is != analysis.Threshold && values.IsGiven(m.get("expected")) {
		m.problem(m.get("expected"), "only the strategy THRESHOLD uses expected")
	}
}

// limitsQuery reports whether a gate of a query gives its limit as a gate of a signal does.
func (m *metricReader) limitsQuery() bool {
	return values.IsGiven(m.get("query")) && m.get("max") != nil && !values.IsGiven(m.get("worse"))
}

// readSource reads what the gate reads.
func (m *metricReader) readSource(g Gate) (s GateSource) {
	given := 0
	for _, key := range []string{"signal", "query", "bad"} {
		if values.IsGiven(m.get(key)) {
			given++
		}
	}
	if given != 1 || values.IsGiven(m.get("bad")) != values.IsGiven(m.get("all")) {
		m.problem(nil, "gate %s has exactly one of signal, query, and bad with all", g.Name)
		return s
	}
	if values.IsGiven(m.get("signal")) {
		signal, _ := signalOf(m.get("signal"))
		if !g.Counts() {
			m.problem(m.get("strategy"), "a signal counts requests: use the strategy SEQUENTIAL")
		}
		if values.IsGiven(m.get("provider")) {
			m.problem(m.get("provider"), "a signal is a metric of the load balancer, and has no provider: remove it, or give a "+
				"query in place of the signal")
		}
		return GateSource{Signal: &signal}
	}
	s.Provider = m.findProvider()
	if values.IsGiven(m.get("query")) {
		if g.Counts() {
			m.problem(m.get("query"), "the strategy SEQUENTIAL counts requests: give bad and all, not query")
		}
		s.Values = m.readQueries("query", g.Compares())
		return s
	}
	if !g.Counts() {
		m.problem(m.get("bad"), "bad and all need the strategy SEQUENTIAL")
	}
	s.Bad, s.All = m.readQueries("bad", g.Compares()), m.readQueries("all", g.Compares())
	return s
}

func (m *metricReader) findProvider() *Provider {
	n := m.get("provider")
	p, ok := m.gates.providers[values.Text(n)]
	names := slices.Sorted(maps.Keys(m.gates.providers))
	switch {
	case ok:
		m.gates.checkConfig(p)
		return &p.Provider
	case values.Text(n) == "":
		problem := m.file.At(m.from, "a gate with a query needs a provider")
		problem.Next = "add provider: " + strings.Join(names, " or ")
		if len(names) == 0 {
			problem.Next = "add one to analysisProviders of the file, and name it here: provider: NAME"
		}
		m.gates.addProblem(problem)
	default:
		problem := m.file.At(n, "there is no provider %q in analysisProviders", n.Text)
		problem.Next = "add it to analysisProviders, or name piped's configuration: --providers FILE"
		problem.Meant = definition.Nearest(n.Text, names)
		m.gates.addProblem(problem)
	}
	return nil
}

// readQueries returns the query of each side. A comparison needs two different ones.
func (m *metricReader) readQueries(key string, compares bool) (q Queries) {
	n := m.get(key)
	args := m.entry.Get("canaryArgs")
	if of := m.entry.Get("primaryArgs"); m.strategy() == analysis.Threshold && values.IsGiven(of) {
		args = of // as PipeCD does
	}
	q.Canary = m.expand(n, "canary", values.Map(args))
	if !compares {
		return q
	}
	side := "primary"
	args = m.entry.Get("primaryArgs")
	if m.strategy() == analysis.CanaryBaseline {
		side, args = "baseline", m.entry.Get("baselineArgs")
	}
	q.Control = m.expand(n, side, values.Map(args))
	if q.Control == q.Canary {
		m.problem(n, "%s is the same query for the canary and the %s: use {{ .VariantArgs.name }} with canaryArgs and "+
			"%sArgs, or {{ .Variant }}", key, side, side)
	}
	return q
}

// expand replaces the parameters of a query.
func (m *metricReader) expand(n *definition.Node, variant string, of map[string]string) string {
	args := m.args
	args.variant, args.variantArgs = variant, of
	text, unknown := args.expand(n.Text)
	for _, name := range unknown {
		m.problem(n, "the query has the parameter {{ %s }}, which is not known: use .VariantArgs, .AppCustomArgs, "+
			".App.Name or .Variant", name)
	}
	return text
}

// checkInterval refuses readings more often than metrics appear.
func (m *metricReader) checkInterval(g Gate) {
	fromAWS := g.Read.Signal != nil || g.Read.Provider != nil && g.Read.Provider.Type == ProviderCloudWatch
	if fromAWS && g.Interval < time.Minute {
		m.problem(m.get("interval"), "gate %s is read every %s, and CloudWatch has one value per minute: use 1m or more",
			g.Name, g.Interval)
	}
}
