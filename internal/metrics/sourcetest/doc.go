// Package sourcetest is the suite that every metric source over HTTP passes: values, gaps, late and
// double points, and the responses of servers and proxies that are no answer.
//
// Start reading at [Run].
package sourcetest
