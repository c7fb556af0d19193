// Package terraform is the Terraform provider. Its resource sluice_wait waits for a deployment of an
// ECS service with the verdict of `sluice wait`. Its data source sluice_live_weights reads the weights
// of a listener rule as they are now, so that an apply does not reset those of a running release.
//
// The provider writes nothing to AWS. It judges nothing itself: package watch does. A plan reads only
// the data sources.
//
// Start reading at [Provider].
package terraform
