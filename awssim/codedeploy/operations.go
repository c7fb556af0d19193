package codedeploy

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		s.BatchGetApplications, s.BatchGetDeploymentGroups, s.BatchGetDeploymentTargets, s.BatchGetDeployments,
		s.ContinueDeployment,
		s.CreateApplication, s.CreateDeployment, s.CreateDeploymentConfig, s.CreateDeploymentGroup, s.DeleteApplication,
		s.DeleteDeploymentConfig, s.DeleteDeploymentGroup, s.GetApplication, s.GetApplicationRevision, s.GetDeployment,
		s.GetDeploymentConfig, s.GetDeploymentGroup, s.GetDeploymentTarget, s.ListApplications, s.ListDeploymentConfigs,
		s.ListDeploymentGroups, s.ListDeploymentTargets, s.ListDeployments, s.ListTagsForResource,
		s.PutLifecycleEventHookExecutionStatus,
		s.SkipWaitTimeForInstanceTermination, s.StopDeployment, s.TagResource, s.UntagResource,
		s.UpdateDeploymentGroup,
	}
}
