package sluice_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
)

// A duration in JSON is text and seconds. Journals of earlier versions have nanoseconds.
func TestDurationInJSON(t *testing.T) {
	for text, d := range map[string]time.Duration{
		`{"text":"6h0m0s","seconds":21600}`:    6 * time.Hour,
		`{"text":"2m5s","seconds":125}`:        125 * time.Second,
		`{"text":"1.5s","seconds":1.5}`:        1500 * time.Millisecond,
		`{"text":"0s","seconds":0}`:            0,
		`{"text":"880µs","seconds":0.00088}`:   880 * time.Microsecond,
		`{"text":"12.35ms","seconds":0.01235}`: 12350 * time.Microsecond,
		`{"text":"-3s","seconds":-3}`:          -3 * time.Second,
	} {
		got, err := json.Marshal(sluice.Duration(d))
		if err != nil || string(got) != text {
			t.Errorf("%s is written as %s, %v, want %s", d, got, err, text)
		}
		var back, earlier sluice.Duration
		if err := json.Unmarshal(got, &back); err != nil || time.Duration(back) != d {
			t.Errorf("%s is read as %s, %v", got, time.Duration(back), err)
		}
		nanoseconds, _ := json.Marshal(d)
		if err := json.Unmarshal(nanoseconds, &earlier); err != nil || time.Duration(earlier) != d {
			t.Errorf("%s is read as %s, %v, want %s", nanoseconds, time.Duration(earlier), err, d)
		}
	}
	var d sluice.Duration
	if err := json.Unmarshal([]byte(`"6h"`), &d); err == nil {
		t.Errorf("a text is read as %s, want an error", time.Duration(d))
	}
}
