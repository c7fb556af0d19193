// Package cloudmap simulates the behaviour of AWS Cloud Map over time. Operations end a moment
// after they began. Custom health changes half a minute after it was set. Name servers lag behind
// Cloud Map.
//
// [Table] is an immutable snapshot of one namespace as callers see it. Only [Entry.AnswerQuestion]
// and [Entry.DiscoverInstances] decide the contents of an answer. The DNS server, DiscoverInstances
// and modelled callers all use them. [Controller] publishes a new table at each change. Readers
// load it without a lock.
//
// The package has no API: awssim/servicediscovery holds shapes, limits and refusals. It speaks no
// DNS: awssim/dataplane does.
//
// It does not simulate hosted zones and Route 53 health checks, which only public namespaces can
// have: instances of a registry with such a check are always healthy.
//
// Start reading at [Entry.AnswerQuestion], then at [Controller].
package cloudmap
