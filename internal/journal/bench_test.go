package journal_test

import (
	"fmt"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// BenchmarkPipeline is what one simulated deployment asks of its journal.
func BenchmarkPipeline(b *testing.B) {
	for b.Loop() {
		j, err := journal.Open(journal.Memory, newTicking())
		must(b, err)
		created(b, j, "d1")
		for i := range 6 {
			_, err := j.BeginStage(bg, "d1", i, "STAGE")
			must(b, err)
			for k := range 10 {
				_, err = j.AppendEvent(bg, sluice.Seal("d1", "", sluice.Noted{}))
				must(b, err)
				_, err = j.Commands(bg, "d1", 0)
				must(b, err)
				must(b, j.Save(bg, "d1", fmt.Sprint(i, k), []byte("value")))
			}
			must(b, j.EndStage(bg, "d1", i, journal.StageDone, "", ""))
		}
		must(b, j.Close())
	}
}

func BenchmarkOpenMemory(b *testing.B) {
	for b.Loop() {
		j, err := journal.Open(journal.Memory, newTicking())
		must(b, err)
		must(b, j.Close())
	}
}
