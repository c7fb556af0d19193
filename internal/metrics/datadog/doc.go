// Package datadog reads metrics by the query API of Datadog (version 1).
//
// It reads one number per step, and refuses queries with several series. Start reading at
// [Source.Query].
package datadog
