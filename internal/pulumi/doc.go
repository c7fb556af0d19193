// Package pulumi is the Pulumi provider with the resource sluice:index:WaitForEcsDeployment: it waits for a
// deployment of an ECS service and fails the update with the cause if the deployment fails.
//
// It implements Pulumi's contract for providers over gRPC and uses only the generated types of that contract.
// The verdict is that of `sluice wait`: see [watch.Judge]. A preview never waits. Nothing is written to AWS.
//
// The engine stores inputs and outputs. The provider keeps nothing, and it never takes a stored outcome for the
// current one: a wait that failed is repeated by the next update.
//
// Start reading at [Main], then resource.go and inputs.go.
package pulumi
