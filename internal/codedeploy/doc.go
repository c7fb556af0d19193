// Package codedeploy reads and writes AWS CodeDeploy for Amazon ECS services: it finds the
// deployment group of a service, and it creates, stops, continues and reads deployments.
//
// CreateDeployment has no client token. A deployment carries the ID of its action in its
// description instead, so a repeated call finds it and does not create another. Writes go through
// the [sluice.Act] of the caller.
//
// The package does not wait and does not judge results; packages watch and verdict do. It does not
// create applications and deployment groups.
//
// Start reading at [Client.EnsureDeployment], then [Client.FindGroup].
package codedeploy
