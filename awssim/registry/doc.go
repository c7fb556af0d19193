// Package registry is what AWS Cloud Map does by itself over time: operations
// that end a moment after they were begun, health that follows half a minute
// after it was told, and name servers that follow Cloud Map.
//
// What callers find lives in [Table], an immutable snapshot of one namespace.
// [Entry.Answer] and [Entry.Discover] are the only code that decides what an
// answer holds: the DNS server, DiscoverInstances and modelled callers use the
// same. [Law] publishes a new table at each change; readers load it without any
// lock.
//
// The package knows no API: shapes, limits and refusals are the room's
// (awssim/servicediscovery). It speaks no DNS either; that is the data plane's.
//
// It does not simulate Route 53 health checks, which only public namespaces can
// have, nor hosted zones: instances of a registry with such a check are always
// healthy.
//
// Start reading at [Entry.Answer], then at [Law].
package registry
