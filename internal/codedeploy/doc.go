// Package codedeploy holds the verbs on AWS CodeDeploy for services of Amazon ECS:
// find the deployment group of a service, ensure a deployment, stop it, continue
// it, observe it.
//
// A deployment is made by a call without a token. It carries the ID of its action
// in its description instead, so that one whose reply was lost is found and not
// made twice. Writes go through the [sluice.Act] that the caller hands in.
//
// The package waits for nothing and judges nothing; packages watch and verdict do.
// It makes no applications and groups.
//
// Start reading at [Hand.Ensure], then [Hand.Find].
package codedeploy
