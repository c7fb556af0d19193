package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// RegisteredIDs returns the sorted IDs of the registered instances.
func (e *Environment) RegisteredIDs(tx *world.Tx) (ids []string) {
	if r, ok := tx.Registries.Get(e.Case.World.RegistryARN()); ok {
		ids = r.Instances.Keys()
	}
	slices.Sort(ids)
	return ids
}

// registeredSplit counts the registered tasks of both variants.
func (e *Environment) registeredSplit(tx *world.Tx) (s plan.Split) {
	for _, id := range e.RegisteredIDs(tx) {
		if IsSluiceInstance(id) {
			s.Canary++
		} else {
			s.Primary++
		}
	}
	return s
}

// registeredText returns the number of registered tasks, for the state of a service.
func (e *Environment) registeredText(tx *world.Tx) string {
	s := e.registeredSplit(tx)
	return fmt.Sprintf("%d of the primary registered, %d of the canary", s.Primary, s.Canary)
}

// IsSluiceInstance reports whether sluice registered an instance.
func IsSluiceInstance(id string) bool { return strings.HasPrefix(id, plan.IDPrefix) }
