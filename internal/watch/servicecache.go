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
type ServiceCache struct {
	account *account.Account
	clock   clock.Clock
	maxAge  time.Duration

	mu       sync.Mutex
	clusters map[string]*clusterCache
}

// clusterCache stores the services of one cluster.
type clusterCache struct {
	reader batchReader[*ecs.ServiceState]

	mu     sync.Mutex
	names  []string // in order of the first request
	cached map[string]cachedService
}

type cachedService struct {
	at     time.Time
	state  *ecs.ServiceState // nil: there is no such service
	served bool              // returned to a caller since it was read
}

// NewServiceCache returns a cache that keeps a response for at most keep.
func NewServiceCache(a *account.Account, c clock.Clock, keep time.Duration) *ServiceCache {
	return &ServiceCache{account: a, clock: c, maxAge: keep, clusters: map[string]*clusterCache{}}
}

// Service returns a service by name; nil if there is none.
func (s *ServiceCache) Service(ctx context.Context, cluster, name string) (*ecs.ServiceState, error) {
	of := s.cacheOf(cluster)
	now := s.clock.Now()
	if live, fresh := of.takeCached(name, now, s.maxAge); fresh {
		return live, nil
	}
	live, _, err := of.reader.readKey(ctx, name, now)
	return live, err
}

func (s *ServiceCache) cacheOf(cluster string) *clusterCache {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, ok := s.clusters[cluster]; ok {
		return of
	}
	of := &clusterCache{cached: map[string]cachedService{}}
	hand := ecs.Cluster{API: s.account.ECS(), Name: cluster}
	of.reader = batchReader[*ecs.ServiceState]{clock: s.clock, size: ecs.ServiceBatch,
		read: func(ctx context.Context, keys []string) (map[string]*ecs.ServiceState, error) {
			all := of.fillBatch(keys, s.clock.Now(), s.maxAge)
			found, err := hand.ReadServices(ctx, all)
			if err == nil {
				of.storeRead(all, len(keys), found, s.clock.Now())
			}
			return found, err
		}}
	s.clusters[cluster] = of
	return of
}

// takeCached returns a recent response, but only once: the next request for the name reads again.
func (s *clusterCache) takeCached(name string, now time.Time, keep time.Duration) (*ecs.ServiceState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	have, ok := s.cached[name]
	if !ok || have.served || now.Sub(have.at) > keep {
		return nil, false
	}
	have.served = true
	s.cached[name] = have
	return have.state, true
}

// fillBatch adds the services that will be requested next: those read longest ago.
func (s *clusterCache) fillBatch(keys []string, now time.Time, keep time.Duration) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(s.names), func(n string) bool {
		have := s.cached[n]
		return slices.Contains(keys, n) || !have.served && now.Sub(have.at) <= keep
	})
	slices.SortStableFunc(rest, func(a, b string) int { return s.cached[a].at.Compare(s.cached[b].at) })
	room := max(0, ecs.ServiceBatch-len(keys))
	return append(slices.Clone(keys), rest[:min(room, len(rest))]...)
}

// storeRead stores what was read; only the first asked keys were requested.
func (s *clusterCache) storeRead(keys []string, asked int, found map[string]*ecs.ServiceState, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		s.cached[k] = cachedService{at: now, state: found[k], served: i < asked}
	}
}
