// Package cloudmap shifts traffic on a name of AWS Cloud Map: it controls which tasks of the two
// variants are registered as instances. Cloud Map has no weights, so a share is made by counts
// ([plan.Pool]). sluice registers the tasks of the canary under its own instance ids, with the
// attributes that ECS sets. ECS registers the tasks of the primary. sluice deregisters those, and
// registers them again unchanged, only as far as a share requires it.
//
// AWS does not document how ECS reacts if another actor deregisters an instance. The [Driver]
// monitors the instances that it deregistered. If one is registered again, the shift ends with that
// reason.
//
// The package does not start or stop tasks. It does not wait until cached DNS answers of callers
// expire: stages do.
//
// Start reading at [planChange], then [Driver.SetWeights].
package cloudmap
