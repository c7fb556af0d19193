// Package history plans rollbacks of services that have no journal here. It chooses the revision
// from the history that ECS or CodeDeploy keeps, and plans a deployment of it.
//
// The package is pure, as package plan is.
//
// Start reading at [ChooseReturn] and [MakeReturn].
package history
