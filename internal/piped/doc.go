// Package piped is the PipeCD plugin: it runs sluice's stages inside piped.
//
// It implements piped's plugin contract over gRPC: deployment (planning and running of stages),
// live state and plan preview. The stages are those of package stage. Here they run on a
// [stage.Host] that stores data in piped's metadata of the deployment. There is no engine and no
// journal: piped decides which stage runs next.
//
// The facts about the time before the deployment that a stage needs are saved once, in a small
// record (type baseline). Whenever a stage begins, the plan is made again from it and from the
// files of the target commit, so it is the same each time.
//
// The package does not decide whether to continue, to wait or to roll back. It keeps nothing in
// memory that must survive a kill.
//
// Start reading at [Main], then execute.go and host.go.
package piped
