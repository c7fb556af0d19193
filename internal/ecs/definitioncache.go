package ecs

import (
	"context"
	"sync"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// DefinitionCache reads each registered task definition once: revisions never change, except for
// their tags.
type DefinitionCache struct {
	api *awsecs.Client

	mu    sync.Mutex
	known map[string]*Tagged // by revision
}

// NewDefinitionCache returns an empty cache.
func NewDefinitionCache(api *awsecs.Client) *DefinitionCache {
	return &DefinitionCache{api: api, known: map[string]*Tagged{}}
}

// Read returns a registered task definition.
func (c *DefinitionCache) Read(ctx context.Context, revision string) (*ecstypes.TaskDefinition, error) {
	td, err := c.ReadTagged(ctx, revision)
	if td == nil {
		return nil, err
	}
	return td.TaskDefinition, err
}

// ReadTagged returns a registered task definition with the tags that it had when it was read first.
func (c *DefinitionCache) ReadTagged(ctx context.Context, revision string) (*Tagged, error) {
	c.mu.Lock()
	td, ok := c.known[revision]
	c.mu.Unlock()
	if ok {
		return td, nil
	}
	td, err := ReadTagged(ctx, c.api, revision)
	if err == nil {
		c.keep(td)
	}
	return td, err
}

// ReadLatest returns the newest ACTIVE revision of a family, or nil. It is always read, because a
// family gets new revisions.
func (c *DefinitionCache) ReadLatest(ctx context.Context, family string) (*Tagged, error) {
	td, err := LatestTagged(ctx, c.api, family)
	if td != nil {
		c.keep(td)
	}
	return td, err
}

func (c *DefinitionCache) keep(td *Tagged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[newRevision(td.TaskDefinition).Name] = td
}
