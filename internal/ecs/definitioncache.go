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
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[revision] = td
	return td, nil
}
