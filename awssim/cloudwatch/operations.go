package cloudwatch

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		s.DeleteAlarms,
		s.DescribeAlarmHistory,
		s.DescribeAlarms,
		s.DisableAlarmActions,
		s.EnableAlarmActions,
		s.GetMetricData,
		s.GetMetricStatistics,
		s.ListTagsForResource,
		s.PutMetricAlarm,
		s.PutMetricData,
		s.SetAlarmState,
		s.TagResource,
		s.UntagResource,
	}
}
