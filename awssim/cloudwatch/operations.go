package cloudwatch

// operations are the methods that are calls of the API; a test of awssim holds
// that none is missing. They are listed, and not looked up by reflection, so
// that the linker can leave out what nobody calls.
func (s *Service) operations() []any {
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
