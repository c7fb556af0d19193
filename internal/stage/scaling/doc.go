// Package scaling suspends the auto scaling of a service for a deployment, and restores it exactly.
// Start reading at [Override], then [Return].
package scaling
