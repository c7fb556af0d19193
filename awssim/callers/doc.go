// Package callers is the users of a simulated service in virtual time: so many
// requests per second through a load balancer's listener, without sending one.
//
// Between two changes every request has the same fate, so each interval is
// accounted exactly: rate × share × what the target answers then. The shares
// come from [balancer.Table.Shares], the distribution of the one routing
// decision; the answers from the image's behaviour at each moment. Requests that
// are in flight when their target goes away are lost too.
//
// It sends nothing over sockets and does not model connections, retries of
// clients or DNS. Cookies are what the caller's request carries; a modelled
// caller does not take up new ones.
//
// Start reading at [Attach], then [Tally.Report].
package callers
