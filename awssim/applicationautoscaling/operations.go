package applicationautoscaling

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		s.DeleteScalingPolicy,
		s.DeleteScheduledAction,
		s.DeregisterScalableTarget,
		s.DescribeScalableTargets,
		s.DescribeScalingActivities,
		s.DescribeScalingPolicies,
		s.DescribeScheduledActions,
		s.ListTagsForResource,
		s.PutScalingPolicy,
		s.PutScheduledAction,
		s.RegisterScalableTarget,
		s.TagResource,
		s.UntagResource,
	}
}
