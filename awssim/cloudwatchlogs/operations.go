package cloudwatchlogs

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		s.CreateLogGroup,
		s.CreateLogStream,
		s.DeleteLogGroup,
		s.DeleteLogStream,
		s.DeleteRetentionPolicy,
		s.DescribeLogGroups,
		s.DescribeLogStreams,
		s.FilterLogEvents,
		s.GetLogEvents,
		s.ListTagsForResource,
		s.PutLogEvents,
		s.PutRetentionPolicy,
		s.TagResource,
		s.UntagResource,
	}
}
