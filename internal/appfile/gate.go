package appfile

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
)

// Gate is a check that a deployment must pass: what it reads, how it judges, and what follows.
type Gate struct {
	Name string        `json:"name"` // for people, and unique among the gates of a stage
	How  analysis.Gate `json:"how"`
	Read GateSource    `json:"read"`

	Interval time.Duration `json:"interval"`          // between two readings
	After    time.Duration `json:"after,omitempty"`   // warm-up: earlier windows do not count
	Timeout  time.Duration `json:"timeout,omitempty"` // of one reading

	OnUndecided Reaction `json:"onUndecided"` // what follows at the end of the time without a verdict
	OnError     Reaction `json:"onError"`     // what follows if the readings fail
	DryRun      bool     `json:"dryRun,omitempty"`

	// Earlier is when the same stage of the last successful deployment began; zero: none is known. Only
	// PREVIOUS uses it, and it is not in the file.
	Earlier time.Time `json:"earlier,omitzero"`

	Line int `json:"-"` // of the entry in the application file
}

// ComparesWithEarlier reports whether the gate compares the canary with an earlier deployment.
func (g Gate) ComparesWithEarlier() bool { return g.How.Strategy == analysis.Previous }

// Counts reports whether the gate counts requests of the canary.
func (g Gate) Counts() bool { return g.How.Strategy == analysis.Sequential }

// Compares reports whether the gate compares the canary with the primary.
func (g Gate) Compares() bool {
	return g.Counts() && g.How.Worse > 0 || g.How.Strategy.ComparesVariants()
}

// readsClosedMinutes reports whether the gate sees a minute only some time after its end.
func (g Gate) readsClosedMinutes() bool {
	return g.Counts() || g.Read.Provider != nil && g.Read.Provider.Type == ProviderCloudWatch
}

// FirstValue returns how long after it begins to count a gate can have its first value: at the soonest, and at the
// latest if there are requests. The warm-up of the gate is before that time.
func (g Gate) FirstValue() (soonest, latest time.Duration) {
	every := max(g.Interval, 1)
	if !g.readsClosedMinutes() {
		return every, every
	}
	reading := func(after time.Duration) time.Duration { return (after + every - 1) / every * every }
	const soon = time.Minute + analysis.SettleTime
	return reading(soon), reading(soon + time.Minute) // a minute that has begun before does not count
}

// Reaction is what follows if a gate gives no verdict.
type Reaction string

// The reactions.
const (
	Hold Reaction = "hold" // wait, and ask a person
	Pass Reaction = "pass"
	Fail Reaction = "fail"
)

func reactionWords() []string { return []string{string(Hold), string(Pass), string(Fail)} }

// GateSource is what a gate reads. Exactly one of Signal, Provider, HTTPS, Command and Alarm is set.
type GateSource struct {
	Signal   *Signal    `json:"signal,omitempty"`
	Provider *Provider  `json:"provider,omitempty"`
	Values   Queries    `json:"values,omitzero"` // of a provider: one series
	Bad      Queries    `json:"bad,omitzero"`    // of a provider: counts, with All
	All      Queries    `json:"all,omitzero"`
	HTTPS    *HTTPCheck `json:"https,omitempty"`
	Command  []string   `json:"command,omitempty"` // its exit code decides
	Folder   string     `json:"folder,omitempty"`  // of the command: that of the application file; empty: the current one
	Alarm    string     `json:"alarm,omitempty"`   // name of a CloudWatch alarm
}

// Signal is a pair of bad requests and all requests, which AWS publishes for every target group of an Application Load
// Balancer.
type Signal struct {
	// SlowerThan counts the requests that take longer. Zero counts responses of targets with a status
	// from 500 to 599.
	SlowerThan time.Duration `json:"slowerThan,omitempty"`
}

// Queries are the query of a series for each variant. Queries of a series that is not compared have
// only Canary.
type Queries struct {
	Canary  string `json:"canary"`
	Control string `json:"control,omitempty"` // primary, or baseline
}

// HTTPCheck is a request whose response decides.
type HTTPCheck struct {
	URL      string   `json:"url"`
	Method   string   `json:"method"`
	Headers  []Header `json:"headers,omitempty"`
	Code     int      `json:"code"`
	Response string   `json:"response,omitempty"` // expected body; empty: any
}

// Header is a header of a request. Its value may be a reference to a secret.
type Header struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// AllGates returns the gates of the whole pipeline, and those of its stages.
func (a *Application) AllGates() (all []Gate) {
	for _, g := range a.PlacedGates() {
		all = append(all, g.Gate)
	}
	return all
}
