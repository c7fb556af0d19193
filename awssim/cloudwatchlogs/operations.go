package cloudwatchlogs

// operations are the methods that are calls of the API; a test of awssim holds
// that none is missing. They are listed, and not looked up by reflection, so
// that the linker can leave out what nobody calls.
func (s *Service) operations() []any {
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
