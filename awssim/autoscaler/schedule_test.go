package autoscaler

import (
	"testing"
	"time"
)

func TestReadSchedule(t *testing.T) {
	tokyo := time.FixedZone("Asia/Tokyo", 9*60*60)
	for text, want := range map[string]struct {
		at    string
		every time.Duration
		bad   bool
	}{
		"at(2026-11-20T10:00:00)": {at: "2026-11-20T10:00:00+09:00"},
		"rate(1 minute)":          {every: time.Minute},
		"rate(12 hours)":          {every: 12 * time.Hour},
		"rate(2 days)":            {every: 48 * time.Hour},
		"cron(0 9 * * ? *)":       {},
		"at(tomorrow)":            {bad: true},
		"rate(0 minutes)":         {bad: true},
		"rate(1 week)":            {bad: true},
		"at(2026-11-20T10:00:00":  {bad: true},
		"":                        {bad: true},
		"every(1 minute)":         {bad: true},
	} {
		at, every, err := ReadSchedule(text, tokyo)
		if (err != nil) != want.bad || err == nil && every != want.every {
			t.Errorf("%s: %v, %v", text, every, err)
		}
		if want.at != "" && at.Format(time.RFC3339) != want.at {
			t.Errorf("%s: %v", text, at)
		}
	}
}
