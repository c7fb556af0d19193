// Package canaryservice hosts the canary as a service of its own, next to a service that ECS rolls.
// Start reading at [New].
package canaryservice
