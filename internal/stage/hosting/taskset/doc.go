// Package taskset hosts the variants as task sets of one service with deployment controller EXTERNAL.
// Start reading at [New].
package taskset
