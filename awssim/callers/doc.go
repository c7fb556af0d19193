// Package callers is the users of a simulated service in virtual time: so many
// requests per second through a load balancer's listener, or to the tasks behind
// a name, without sending one.
//
// Between two changes every request has the same fate, so each interval is
// accounted exactly: rate × share × what the target answers then. The shares
// come from [balancer.Table.Shares], the distribution of the one routing
// decision; the answers from the image's behaviour at each moment. Requests that
// are in flight when their target goes away are lost too.
//
// Callers by name ([NameCaller]) keep what they found for its TTL, or poll
// DiscoverInstances. Who finds what comes from [registry.Entry.Eligible] and
// [registry.Entry.Found], which every single answer is drawn from; each request is
// accounted over all the answers that callers still keep, so that any share of a
// task that refuses is a loss.
//
// It sends nothing over sockets (the data plane's Caller does). Through a load
// balancer it models neither connections nor retries; cookies are what the
// caller's request carries, a modelled caller does not take up new ones.
//
// Start reading at [Attach], then [Tally.Report]; at [AttachByName], then
// [NameTally.Report].
package callers
