package appfile

import "time"

// PlacedGate is a gate, and where in the pipeline it judges.
type PlacedGate struct {
	Gate
	Stage     string        // name; empty: the whole pipeline
	Duration  time.Duration // of the stage; 0: as long as the canary gets requests
	Share     int           // percent of the requests that the canary gets then
	EndsEarly bool          // the stage ends as soon as its gates are good
}

// PlacedGates returns the gates of the stages, then those of the whole pipeline.
func (a *Application) PlacedGates() (all []PlacedGate) {
	share, first := 0, 0
	add := func(gates []Gate, at PlacedGate) {
		for _, g := range gates {
			at.Gate = g
			all = append(all, at)
		}
	}
	for _, s := range a.Pipeline {
		switch with := s.With.(type) {
		case TrafficRouting:
			share = with.Weights.Canary()
			if first == 0 {
				first = share
			}
		case PrimaryRollout:
			share = 0 // the new version is the primary then
		case Analysis:
			add(with.Gates, PlacedGate{Stage: s.Name, Duration: with.Duration, Share: share, EndsEarly: true})
		case Wait:
			add(with.Gates, PlacedGate{Stage: s.Name, Duration: with.Duration, Share: share})
		}
	}
	add(a.Gates, PlacedGate{Share: first})
	return all
}
