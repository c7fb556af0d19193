package stagetest

import (
	"strings"
	"testing/fstest"
)

// CanaryServiceFiles returns an application whose service ECS rolls and whose canary is a separate
// service. It appends more to the service definition.
func (b *Bench) CanaryServiceFiles(image, pipeline, more string) fstest.MapFS {
	files := b.RollingFiles(image, more)
	files["sluice.yaml"] = b.Files(image, pipeline)["sluice.yaml"]
	return files
}

// Pipeline returns a pipeline with those stages.
func Pipeline(stages ...string) string {
	return "\npipeline:\n  stages:\n    - " + strings.Join(stages, "\n    - ") + "\n"
}

// Stages of a pipeline.
const (
	CanaryRollout  = "{name: ECS_CANARY_ROLLOUT, with: {scale: 50}}"
	ShiftFifth     = "{name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}"
	PrimaryRollout = "{name: ECS_PRIMARY_ROLLOUT}"
	ShiftBack      = "{name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}"
	CleanCanary    = "{name: ECS_CANARY_CLEAN}"
	Approval       = "{name: WAIT_APPROVAL}"
)

// PipelineHeldAfter returns the canary pipeline with an approval after its n-th stage.
func PipelineHeldAfter(n int) string {
	lines := strings.Split(strings.TrimSpace(CanaryPipeline), "\n")
	lines = append(lines[:2+n:2+n], append([]string{"    - {name: WAIT_APPROVAL}"}, lines[2+n:]...)...)
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// BlueGreenPipeline is a canary of full size that gets all requests. The old primary stays
// until the clean.
const BlueGreenPipeline = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 100}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}
    - {name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}
    - {name: WAIT_APPROVAL}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
