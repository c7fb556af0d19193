package appfile

import "github.com/sluice-ecs/sluice/internal/analysis"

// The keys of gates. PipeCD's keys are as PipeCD has them; further keys are sluice's.

// analysisKeys returns the options of an ANALYSIS stage.
func analysisKeys() []key {
	return []key{
		neededKey("duration", shape{kind: span}, "How long the gates judge. The stage ends earlier if every gate is good."),
		honouredKey("metrics", shape{kind: list, of: &shape{kind: object, keys: metricKeys(),
			complete: completeMetric()}},
			"Gates on metrics."),
		honouredKey("https", shape{kind: list, of: &shape{kind: object, keys: httpsKeys()}},
			"Gates that send a request and check the response."),
		honouredKey("commands", shape{kind: list, of: commandShape()},
			"Gates that run a command; its exit code decides. Refused inside piped."),
		honouredKey("alarms", shape{kind: list, of: &shape{kind: text, min: 1}},
			"CloudWatch alarms; the gate fails while one is in state ALARM."),
		honouredKey("onUndecided", reactionShape(), undecidedSentence),
		unusedKey("restartThreshold", "piped restarts its own analysis stage; sluice continues after a restart with "+
			"what it has counted."),
		refusedKey("logs", "sluice has no log provider: count the log lines with a metric filter, and name the metric."),
	}
}

const undecidedSentence = "What follows if the time is over and the gate has no verdict: hold asks a person, pass " +
	"continues, fail rolls back. Default: hold; pass in PipeCD's files. A gate without any value never passes."

func reactionShape() shape { return shape{kind: choice, words: reactionWords()} }

// completeMetric returns the sets of keys of which a gate on a metric has at least one.
func completeMetric() [][]string {
	return [][]string{{"signal", "worse"}, {"signal", "max"}, {"provider", "query"},
		{"provider", "bad", "all", "worse"}, {"provider", "bad", "all", "max"}, {"template"}}
}

// metricKeys returns the keys of a gate on a metric.
func metricKeys() []key {
	return append([]key{
		honouredKey("name", shape{kind: text, min: 1}, "The name of the gate, for people."),
		honouredKey("strategy", shape{kind: choice, words: strategyWords()},
			"How the gate judges. Default: SEQUENTIAL for signal, bad and all; otherwise THRESHOLD."),
		honouredKey("signal", shape{kind: signal}, "A metric of the load balancer without a query: errors (5xx of targets), "+
			"or slower than a duration, such as \"slower than 500ms\"."),
		honouredKey("provider", shape{kind: text, min: 1}, "The name of a provider of analysisProviders."),
		honouredKey("query", shape{kind: text, min: 1}, "The query of a series. PipeCD's parameters, such as "+
			"{{ .VariantArgs.name }}, are replaced."),
		honouredKey("bad", shape{kind: text, min: 1}, "The query that counts bad requests of one variant per minute."),
		honouredKey("all", shape{kind: text, min: 1}, "The query that counts all requests of one variant per minute."),
		honouredKey("worse", shape{kind: ratio}, "SEQUENTIAL: the accepted factor on the odds of a bad request, compared "+
			"with the primary. Default: 1.5, unless max is given."),
		honouredKey("max", shape{kind: fraction}, "SEQUENTIAL: the accepted share of bad requests, such as 1%."),
		honouredKey("alpha", shape{kind: fraction}, "SEQUENTIAL: the accepted share of good releases that the gate refuses. "+
			"Default: 1%."),
		honouredKey("expected", shape{kind: object, keys: []key{
			honouredKey("min", shape{kind: number}, "The smallest accepted value."),
			honouredKey("max", shape{kind: number}, "The largest accepted value."),
		}}, "THRESHOLD: the accepted range of every value."),
		honouredKey("deviation", shape{kind: choice, words: []string{analysis.Either, analysis.High, analysis.Low}},
			"The direction in which a difference from the other series fails. Default: EITHER."),
		honouredKey("skipOnNoData", shape{kind: flag}, "Whether a reading without values passes, in a file of PipeCD also if no reading has one."),
		honouredKey("baselineArgs", shape{kind: labels}, "VariantArgs of the baseline's query."),
		honouredKey("canaryArgs", shape{kind: labels}, "VariantArgs of the canary's query."),
		honouredKey("primaryArgs", shape{kind: labels}, "VariantArgs of the primary's query."),
		honouredKey("template", templateShape(), "A template of the folder .pipe."),
		honouredKey("onUndecided", reactionShape(), undecidedSentence),
		honouredKey("after", shape{kind: span}, "The warm-up: what happens earlier does not count. Default: none."),
	}, commonGateKeys()...)
}

func templateShape() shape {
	return shape{kind: object, keys: []key{
		neededKey("name", shape{kind: text, min: 1}, "The name of the template."),
		honouredKey("appArgs", shape{kind: labels}, "AppCustomArgs of the template."),
	}}
}

// commonGateKeys returns the keys of every gate.
func commonGateKeys() []key {
	return []key{
		honouredKey("interval", shape{kind: span}, "The time between two readings. Default: 1m."),
		honouredKey("failureLimit", shape{kind: integer, max: 1000},
			"How many readings may fail. Default: 0."),
		honouredKey("timeout", shape{kind: span}, "The maximum duration of one reading. Default: 30s."),
		honouredKey("onError", reactionShape(), "What follows if more than four readings in a row get no answer: hold "+
			"waits, and asks a person at the end; pass ignores the gate if it had values before; fail rolls back. Default: hold. "+
			"In PipeCD's files such a reading is a failed one, and only SEQUENTIAL and PAIRED use this key."),
		honouredKey("dryRun", shape{kind: flag}, "Whether a bad verdict is only reported. Default: false."),
	}
}

func httpsKeys() []key {
	return append([]key{
		neededKey("url", shape{kind: webAddress}, "The URL."),
		honouredKey("method", shape{kind: choice, words: []string{"GET", "HEAD", "POST", "PUT"}},
			"The method of the request. Default: GET."),
		honouredKey("headers", shape{kind: list, of: &shape{kind: object, keys: []key{
			neededKey("key", shape{kind: text, min: 1}, "The name of the header."),
			neededKey("value", shape{kind: text}, "Its value; env:NAME and ssm:/name refer to a secret."),
		}}}, "The headers of the request."),
		honouredKey("expectedCode", shape{kind: integer, min: 100, max: 599}, "The expected status. Default: 200."),
		honouredKey("expectedResponse", shape{kind: text}, "The expected body. Default: any."),
	}, commonGateKeys()...)
}

func commandShape() *shape {
	return &shape{kind: object, complete: [][]string{{"run"}}, keys: append([]key{
		neededKey("run", shape{kind: list, of: &shape{kind: text, min: 1}}, "The program and its arguments. It "+
			"runs in the folder of this file, or in the current one on a machine that does not have that folder."),
	}, commonGateKeys()...)}
}

// gatesKey returns the key gates of a WAIT, or of a whole file.
func gatesKey(sentence string) key {
	keys := append(metricKeys(),
		honouredKey("alarm", shape{kind: text, min: 1}, "A CloudWatch alarm; the gate fails while it is in state ALARM."),
		honouredKey("https", shape{kind: object, keys: httpsKeys()}, "A request whose response decides."),
		honouredKey("command", *commandShape(), "A command whose exit code decides."))
	return honouredKey("gates", shape{kind: list, of: &shape{kind: object, keys: keys,
		complete: append(completeMetric(), []string{"alarm"}, []string{"https"}, []string{"command"})}}, sentence)
}
