package memory

import (
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
)

// Gate is what a gate has seen.
type Gate struct {
	Since time.Time      `json:"since"` // what happened earlier does not count
	Read  time.Time      `json:"read,omitzero"`
	State analysis.State `json:"state"`
}

// Gates is what the gates of a stage have seen, by name. Index -1 is the whole pipeline.
func (m *Memory) Gates(stage int) Concern[map[string]Gate] {
	return Concern[map[string]Gate]{m, gatesKey(stage), 1, func(*map[string]Gate) []earlierPart { return nil }}
}

func gatesKey(stage int) string {
	if stage < 0 {
		return "gates"
	}
	return "gates of " + strconv.Itoa(stage)
}
