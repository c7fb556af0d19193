package analysis

// Strategy is how a gate compares what it sees.
type Strategy string

// Strategies. THRESHOLD, PREVIOUS, CANARY_BASELINE and CANARY_PRIMARY are those of PipeCD.
const (
	Sequential     Strategy = "SEQUENTIAL"      // counts of the canary against counts of the primary, at any look
	Threshold      Strategy = "THRESHOLD"       // each value in a range
	Previous       Strategy = "PREVIOUS"        // values against those of the previous deployment
	CanaryBaseline Strategy = "CANARY_BASELINE" // values of the canary against those of the baseline
	CanaryPrimary  Strategy = "CANARY_PRIMARY"  // values of the canary against those of the primary
	Paired         Strategy = "PAIRED"          // values of both variants in the same periods, at any look
	Checked        Strategy = "CHECK"           // a request, a command or an alarm that passes or fails
)

// Strategies returns the strategies of metrics: all but [Checked].
func Strategies() []Strategy {
	return []Strategy{Sequential, Threshold, Previous, CanaryBaseline, CanaryPrimary, Paired}
}

// ComparesVariants reports whether the strategy compares a series of the canary with one of another variant.
func (s Strategy) ComparesVariants() bool {
	return s == CanaryBaseline || s == CanaryPrimary || s == Paired
}

// Directions in which values of the canary may not deviate from those of the control.
const (
	Either = "EITHER"
	High   = "HIGH"
	Low    = "LOW"
)

// Defaults of a gate.
const (
	defaultWorse      = 1.5  // margin on the odds
	defaultAlpha      = 0.01 // chance that a good canary is called bad
	defaultBeta       = 0.05 // chance that a canary which is not good enough passes early
	defaultSpread     = 3    // windows with failures of the canary
	defaultErrorLimit = 4    // Argo's consecutiveErrorLimit
)

// Gate is how one gate judges. A zero value of a field means its default.
type Gate struct {
	Strategy Strategy `json:"strategy,omitempty"` // default THRESHOLD, as in PipeCD

	// SEQUENTIAL. If only Max is set, the canary is compared with Max and not with the primary.
	Worse  float64 `json:"worse,omitempty"`  // accepted ratio of the odds, canary to primary; default 1.5 without Max
	Max    float64 `json:"max,omitempty"`    // largest accepted share of bad requests of the canary; 0: none
	Alpha  float64 `json:"alpha,omitempty"`  // chance of a wrong bad verdict; default 0.01. PAIRED has it too
	Beta   float64 `json:"beta,omitempty"`   // chance of a wrong early pass; default 0.05
	Spread int     `json:"spread,omitempty"` // a bad verdict needs canary failures in so many windows; default 3

	// THRESHOLD, PREVIOUS, CANARY_BASELINE, CANARY_PRIMARY, CHECK.
	ExpectedMin  *float64 `json:"expectedMin,omitempty"`
	ExpectedMax  *float64 `json:"expectedMax,omitempty"`
	FailureLimit int      `json:"failureLimit,omitempty"` // failed looks that are tolerated
	SkipOnNoData bool     `json:"skipOnNoData,omitempty"` // a comparison in which one side has no values is no failure
	Deviation    string   `json:"deviation,omitempty"`    // EITHER, HIGH or LOW; default EITHER. PAIRED has it too

	ErrorLimit int `json:"errorLimit,omitempty"` // looks in a row without an answer that are tolerated; default 4

	// PipeCD is whether the gate is of a file of PipeCD. There, a look without an answer fails, and one
	// with a value that is not a number fails too, unless SkipOnNoData is set.
	PipeCD bool `json:"pipeCD,omitempty"`
}

// comparesVariants reports whether SEQUENTIAL compares the canary with the primary.
func (g Gate) comparesVariants() bool { return g.Max == 0 || g.Worse != 0 }

// judgesLooks reports whether each look of the strategy passes or fails by itself, as in PipeCD.
func (g Gate) judgesLooks() bool { return g.Strategy != Sequential && g.Strategy != Paired }

// failsUnanswered reports whether a look without an answer is a failed one.
func (g Gate) failsUnanswered() bool { return g.PipeCD && g.judgesLooks() }

// withDefaults fills in what is not set.
func (g Gate) withDefaults() Gate {
	setDefault(&g.Strategy, Threshold)
	if g.comparesVariants() {
		setDefault(&g.Worse, defaultWorse)
	}
	setDefault(&g.Alpha, defaultAlpha)
	setDefault(&g.Beta, defaultBeta)
	setDefault(&g.Spread, defaultSpread)
	setDefault(&g.Deviation, Either)
	setDefault(&g.ErrorLimit, defaultErrorLimit)
	return g
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
