package appfile

import "time"

// PlacedGate is a gate, and where in the pipeline it judges.
type PlacedGate struct {
	Gate
	Stage    string        // ANALYSIS, WAIT; empty: the whole pipeline
	Duration time.Duration // of the stage; 0: as long as the canary gets requests
	Share    int           // percent of the requests that the canary gets then
}

// EndsEarly reports whether the stage ends as soon as its gates are good.
func (g PlacedGate) EndsEarly() bool { return g.Stage == StageAnalysis }

// PlacedGates returns the gates of the stages, then those of the whole pipeline.
func (a *Application) PlacedGates() (all []PlacedGate) {
	share, first := 0, 0
	add := func(gates []Gate, stage string, d time.Duration, share int) {
		for _, g := range gates {
			all = append(all, PlacedGate{Gate: g, Stage: stage, Duration: d, Share: share})
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
			add(with.Gates, s.Name, with.Duration, share)
		case Wait:
			add(with.Gates, s.Name, with.Duration, share)
		}
	}
	add(a.Gates, "", 0, first)
	return all
}
