// Package outside detects what other actors change during a deployment, and applies onOutsideChange.
// Start reading at [Watch].
package outside
