// Package rolling runs deployments that ECS rolls: it requests them, follows them to their end, and
// rolls them back. Start reading at [Update].
package rolling
