// Package revision registers the task definition of a deployment once, and deregisters old ones.
// Start reading at [Ensure].
package revision
