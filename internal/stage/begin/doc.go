// Package begin does what every stage does first: it reads the service, takes the snapshot, claims
// the service, suspends auto scaling and registers the revision. Start reading at [Stage].
package begin
