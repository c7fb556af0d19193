package engine

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sluice-ecs/sluice/internal/stage"

	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/hosttest"
)

func TestHostOnTheJournal(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Subject {
		path := filepath.Join(t.TempDir(), "journal.db")
		var last *journal.Journal
		open := func(id string) func(*testing.T) stage.Host {
			made := false
			return func(t *testing.T) stage.Host {
				ctx := context.Background()
				j, err := journal.Open(path, clock.Real())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = j.Close() })
				last = j
				if !made {
					err = j.CreateDeployment(ctx, journal.Deployment{ID: id, Account: "123456789012",
						Region: "us-east-1", Cluster: "prod", Service: id, State: journal.Running, Plan: []byte("{}")})
					made = true
				}
				if err != nil {
					t.Fatal(err)
				}
				row, err := j.BeginStage(ctx, id, 0, "ECS_SYNC")
				if err != nil {
					t.Fatal(err)
				}
				return &host{engine: &Engine{Journal: j, Clock: clock.Real()}, deployment: id, stage: "1 ECS_SYNC",
					began: row.Began}
			}
		}
		return hosttest.Subject{Open: open("slc-1"), Other: open("slc-2"), Break: func(*testing.T) { _ = last.Close() }}
	})
}
