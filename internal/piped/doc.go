// Package piped is the PipeCD plugin: sluice's stages inside piped.
//
// It speaks piped's plugin contract over gRPC: deployment (planning and running of
// stages), live state and plan preview. A stage is the very code of package stage;
// here it runs on a [stage.Host] whose memory is piped's metadata of the
// deployment, without an engine and without a journal: piped decides what runs
// next.
//
// What a stage must know of the time before the deployment is saved once, small
// (type ground); the plan is made anew from it and from the files of the target
// commit whenever a stage begins, so that it is the same each time.
//
// The package will not decide whether to go on, to wait or to roll back, and keeps
// nothing in memory that a kill may not take.
//
// Start reading at [Main], then execute.go and host.go.
package piped
