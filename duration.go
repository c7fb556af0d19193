package sluice

import (
	"encoding/json"
	"time"
)

// Duration is a duration in JSON for programs and people: {"text": "2m5s", "seconds": 125}.
type Duration time.Duration

// String returns the duration for people, rounded to seconds from a minute on and to tenths of a second below.
func (d Duration) String() string {
	if t := time.Duration(d); t < time.Minute {
		return t.Round(100 * time.Millisecond).String()
	}
	return time.Duration(d).Round(time.Second).String()
}

// durationJSON is the JSON of a [Duration].
type durationJSON struct {
	Text    string  `json:"text"`
	Seconds float64 `json:"seconds"`
}

// MarshalJSON returns the duration as text and in seconds. The text of less than a second is rounded to 10 microseconds:
// it may be the time of one request.
func (d Duration) MarshalJSON() ([]byte, error) {
	text := d.String()
	if t := time.Duration(d); t.Abs() < time.Second {
		text = t.Round(10 * time.Microsecond).String()
	}
	return json.Marshal(durationJSON{text, time.Duration(d).Seconds()})
}

// UnmarshalJSON reads what MarshalJSON returns, and nanoseconds, which journals of earlier versions have.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var nanoseconds time.Duration
	if json.Unmarshal(data, &nanoseconds) == nil {
		*d = Duration(nanoseconds)
		return nil
	}
	var v durationJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*d = Duration(v.Seconds * float64(time.Second))
	return nil
}
