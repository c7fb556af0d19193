package prometheus

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// sample is a time and a value: [1700000000.5, "0.25"]. Prometheus writes values as strings, because
// JSON has no NaN and no infinity; some compatible servers write numbers.
type sample struct {
	seconds, value float64
}

func (s *sample) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != 2 {
		return errors.New("a sample is not a pair")
	}
	if err := json.Unmarshal(parts[0], &s.seconds); err != nil {
		return err
	}
	word := string(parts[1])
	if quoted := ""; json.Unmarshal(parts[1], &quoted) == nil {
		word = quoted
	}
	value, err := strconv.ParseFloat(word, 64)
	if err != nil && !math.IsInf(value, 0) {
		return errors.New("a sample has no number")
	}
	s.value = value
	return nil
}
