package servicediscovery

// operations are the methods that are calls of the API; a test of awssim holds
// that none is missing. They are listed, and not looked up by reflection, so
// that the linker can leave out what nobody calls.
func (s *Service) operations() []any {
	return []any{
		s.DiscoverInstances,
		s.DiscoverInstancesRevision,
		s.GetInstance,
		s.GetInstancesHealthStatus,
		s.GetNamespace,
		s.GetOperation,
		s.GetService,
		s.GetServiceAttributes,
		s.ListInstances,
		s.ListNamespaces,
		s.ListOperations,
		s.ListServices,
		s.ListTagsForResource,
	}
}
