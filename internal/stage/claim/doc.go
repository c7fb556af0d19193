// Package claim claims a service for a deployment, takes claims over and releases them. The checks
// before a write are in package step. Start reading at [Acquire].
package claim
