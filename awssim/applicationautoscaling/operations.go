package applicationautoscaling

// operations are the methods that are calls of the API; a test of awssim holds
// that none is missing. They are listed, and not looked up by reflection, so
// that the linker can leave out what nobody calls.
func (s *Service) operations() []any {
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
