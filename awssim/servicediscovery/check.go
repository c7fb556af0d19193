package servicediscovery

import (
	"slices"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// noService refuses a question about a service, which this world has not.
func noService(id *string, member string) error {
	if err := given(id, member); err != nil {
		return err
	}
	return world.Refuse("ServiceNotFound", "Service not found")
}

func noNamespace(namespace, service *string) error {
	if err := given(namespace, "namespaceName"); err != nil {
		return err
	}
	if err := given(service, "serviceName"); err != nil {
		return err
	}
	return world.Refuse("NamespaceNotFound", "Namespace not found")
}

func given(s *string, member string) error {
	if s == nil || *s == "" {
		return world.Refuse("InvalidInput", "1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", member)
	}
	return nil
}

func page(max *int32, token *string, limit int32) error {
	if max != nil && (*max < 1 || *max > limit) {
		return world.Refuse("InvalidInput", "1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: Member must have value between 1 and %d", *max, limit)
	}
	if token != nil && *token != "" {
		return world.Refuse("InvalidInput", "Invalid NextToken")
	}
	return nil
}

func filter[T ~string](name T, values []string, known ...T) error {
	if !slices.Contains(known, name) {
		return world.Refuse("InvalidInput", "Filter name %q is not supported", string(name))
	}
	if len(values) == 0 {
		return world.Refuse("InvalidInput", "Filter %q has no values", string(name))
	}
	return nil
}
