// Package hooks has the command that answers a hook at which ECS has paused a deployment of its own strategy. Start
// reading at [Commands].
package hooks
