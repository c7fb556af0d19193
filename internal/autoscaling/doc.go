// Package autoscaling holds the verbs on Application Auto Scaling: observe the
// scalable targets of an ECS service, and set what is suspended of them and their
// bounds.
//
// Every write names all three suspensions, because AWS does not say what a
// structure does to the members that it leaves out; bounds are named only where
// they change. AWS pulls the desired count into the bounds with each such write,
// whatever it is about (API reference, RegisterScalableTarget).
//
// What a deployment may write, and what it leaves because somebody else changed it
// meanwhile, is decided by [Settle]; the package waits for nothing and remembers
// nothing. It makes no target and takes none away, and leaves policies and
// scheduled actions alone.
//
// Start reading at [Service].
package autoscaling
