// Package loadgen models the users of a simulated service in virtual time. A caller has a rate of
// requests per second, through a load balancer's listener or to the tasks behind a name. No request
// is sent.
//
// Between two changes every request has the same outcome, so each interval is accounted exactly:
// rate × share × answer of the target. The shares come from [balancer.Table.Shares], the
// distribution of the one routing decision. The answers come from the image's behaviour at each
// moment. Requests in flight when their target stops are lost too.
//
// A caller by name ([NameCaller]) keeps an answer for its TTL, or polls DiscoverInstances. The
// possible answers come from [registry.Entry.Eligible] and [registry.Entry.FindInstances], which
// also produce every single answer. Each request is accounted over all answers that callers still
// keep. Any share of a task that refuses is therefore a loss.
//
// The package uses no sockets; dataplane.Caller does. Through an Application Load Balancer it models
// neither
// connections nor retries. The caller's request carries its cookies; a modelled caller does not
// store new ones.
//
// Start reading at [Attach], then [Tally.Report]; at [AttachByName], then [NameTally.Report].
package loadgen
