package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// ServiceCache reads services that are requested repeatedly, such as once a minute for each
// application of an account. A read includes the services requested before, so that ten
// applications need one read. Safe for concurrent use; make one with [NewServiceCache].
type Shelf struct {
	account *account.Account
	clock   clock.Clock
	keep    time.Duration

	mu       sync.Mutex
	clusters map[string]*shelf
}

// clusterCache stores the services of one cluster.
type shelf struct {
	board board[*ecs.Live]

	mu    sync.Mutex
	names []string // in order of the first request
	seen  map[string]sighting
}

type sighting struct {
	at    time.Time
	live  *ecs.Live // nil: there is no such service
	asked bool      // returned to a caller since it was read
}

// NewServiceCache returns a cache that keeps a response for at most keep.
func NewShelf(a *account.Account, c clock.Clock, keep time.Duration) *Shelf {
	return &Shelf{account: a, clock: c, keep: keep, clusters: map[string]*shelf{}}
}

// Service returns a service by name; nil if there is none.
func (s *Shelf) Service(ctx context.Context, cluster, name string) (*ecs.Live, error) {
	of := s.of(cluster)
	now := s.clock.Now()
	if live, fresh := of.recall(name, now, s.keep); fresh {
		return live, nil
	}
	live, _, err := of.board.get(ctx, name, now)
	return live, err
}

func (s *Shelf) of(cluster string) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, ok := s.clusters[cluster]; ok {
		return of
	}
	of := &shelf{seen: map[string]sighting{}}
	hand := ecs.Cluster{API: s.account.ECS(), Name: cluster}
	of.board = board[*ecs.Live]{clock: s.clock, size: ecs.ServiceBatch, read: func(ctx context.Context, keys []string) (map[string]*ecs.Live, error) {
		all := of.fill(keys, s.clock.Now(), s.keep)
		found, err := hand.Services(ctx, all)
		if err == nil {
			of.put(all, len(keys), found, s.clock.Now())
		}
		return found, err
	}}
	s.clusters[cluster] = of
	return of
}

// takeCached returns a recent response, but only once: the next request for the name reads again.
func (s *shelf) recall(name string, now time.Time, keep time.Duration) (*ecs.Live, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	have, ok := s.seen[name]
	if !ok || have.asked || now.Sub(have.at) > keep {
		return nil, false
	}
	have.asked = true
	s.seen[name] = have
	return have.live, true
}

// fillBatch adds the services that will be requested next: those read longest ago.
func (s *shelf) fill(keys []string, now time.Time, keep time.Duration) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(s.names), func(n string) bool {
		have := s.seen[n]
		return slices.Contains(keys, n) || !have.asked && now.Sub(have.at) <= keep
	})
	slices.SortStableFunc(rest, func(a, b string) int { return s.seen[a].at.Compare(s.seen[b].at) })
	room := max(0, ecs.ServiceBatch-len(keys))
	return append(slices.Clone(keys), rest[:min(room, len(rest))]...)
}

// storeRead stores what was read; only the first asked keys were requested.
func (s *shelf) put(keys []string, asked int, found map[string]*ecs.Live, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		s.seen[k] = sighting{at: now, live: found[k], asked: i < asked}
	}
}
