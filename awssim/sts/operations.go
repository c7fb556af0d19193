package sts

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		s.AssumeRole,
		s.AssumeRoleWithWebIdentity,
		s.GetAccessKeyInfo,
		s.GetCallerIdentity,
		s.GetSessionToken,
	}
}
