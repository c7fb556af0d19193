// Package watch polls services until a verdict ends: read, judge, read again, for one service or a
// thousand.
//
// Waiters share batched reads: one DescribeServices call reads ten services, those that are due now
// and those that are due next. The rest of a service is read only when a poll shows a change; see
// [verdict.ServiceFollower.Needs]. All reads pass the account's gate.
//
// The package makes no decisions about deployments; package verdict does. It writes nothing.
//
// Start reading at [Watch.Wait].
package watch
