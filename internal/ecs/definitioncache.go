package ecs

import (
	"context"
	"sync"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// DefinitionCache reads each registered task definition once: revisions never change.
type DefinitionCache struct {
	api *awsecs.Client

	mu    sync.Mutex
	known map[string]*ecstypes.TaskDefinition // by revision
}

// NewDefinitionCache returns an empty cache.
func NewDefinitionCache(api *awsecs.Client) *DefinitionCache {
	return &DefinitionCache{api: api, known: map[string]*ecstypes.TaskDefinition{}}
}

// Read returns a registered task definition.
func (c *DefinitionCache) Read(ctx context.Context, revision string) (*ecstypes.TaskDefinition, error) {
	c.mu.Lock()
	td, ok := c.known[revision]
	c.mu.Unlock()
	if ok {
		return td, nil
	}
	td, err := ReadDefinition(ctx, c.api, revision)
	if err == nil {
		c.keep(td)
	}
	return td, err
}

// ReadLatest returns the newest ACTIVE revision of a family, or nil. It is always read, because a
// family gets new revisions.
func (c *DefinitionCache) ReadLatest(ctx context.Context, family string) (*ecstypes.TaskDefinition, error) {
	td, err := LatestDefinition(ctx, c.api, family)
	if td != nil {
		c.keep(td)
	}
	return td, err
}

func (c *DefinitionCache) keep(td *ecstypes.TaskDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[newRevision(td).Name] = td
}
