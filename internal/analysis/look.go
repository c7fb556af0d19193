package analysis

import "time"

// Counts are the requests of one variant, and how many of them were bad.
type Counts struct {
	Bad int64 `json:"bad"`
	All int64 `json:"all"`
}

// valid corrects counts that AWS published at different times: at most All are bad.
func (c Counts) valid() Counts { return Counts{Bad: min(c.Bad, c.All), All: c.All} }

func (c Counts) isNegative() bool { return c.Bad < 0 || c.All < 0 }

func (c Counts) add(d Counts) Counts { return Counts{Bad: c.Bad + d.Bad, All: c.All + d.All} }

// share is the share of bad requests, 0 without requests.
func (c Counts) share() float64 {
	if c.All == 0 {
		return 0
	}
	return float64(c.Bad) / float64(c.All)
}

// Window is the counts of both variants in one period. From identifies it, to the second.
type Window struct {
	From    time.Time `json:"from"`
	Canary  Counts    `json:"canary"`
	Primary Counts    `json:"primary"`
}

func (w Window) valid() Window {
	w.Canary, w.Primary = w.Canary.valid(), w.Primary.valid()
	return w
}

// SettleTime is how long after its end a minute counts as complete. The nodes of a load balancer report minutes late,
// and CloudWatch, like other systems that collect metrics, adds to the number of a minute until then.
const SettleTime = 3 * time.Minute

// Check is the result of a request, a command or an alarm.
type Check struct {
	Passed bool   `json:"passed"`
	Failed string `json:"failed,omitempty"` // why it did not pass
}

// Look is the result of one reading of a gate. The first look of PipeCD's strategies comes after one
// interval, not at once.
type Look struct {
	At      time.Time // when the metrics were read. A look that is not later than the last one is ignored
	Windows []Window  // SEQUENTIAL: closed windows. A window that the gate has seen already is ignored
	// NoBadSeries: SEQUENTIAL: the query of bad requests has no series. Its name may be wrong.
	NoBadSeries bool

	Canary  []float64 // values of the series since the last look
	Control []float64 // values of the baseline, the primary or the previous deployment, in the same periods
	First   bool      // PREVIOUS: there is no previous deployment, so that a gate with a value is good, as in PipeCD

	Check   Check  // CHECK
	Problem string // the provider did not answer: why. The rest of the look is ignored
}
