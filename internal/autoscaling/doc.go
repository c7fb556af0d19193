// Package autoscaling reads and writes the scalable targets of an ECS service in Application Auto
// Scaling: their suspension and their bounds.
//
// Every write sets all three suspensions, because AWS does not document how it treats omitted
// fields of SuspendedState. A write sets bounds only if they change. With every write, AWS moves
// the desired count into the bounds, whatever the write changes (API reference,
// RegisterScalableTarget).
//
// [ChooseTarget] decides what a deployment may write. It keeps values that another actor changed
// during the deployment. The package does not wait and has no state. It does not create or delete
// targets, and it does not change scaling policies or scheduled actions.
//
// Start reading at [Service].
package autoscaling
