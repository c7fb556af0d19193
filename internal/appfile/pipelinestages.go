package appfile

// PipelineStages are the names of the stages that a pipeline may contain.
func PipelineStages() []string { return pipelineStagesOf(Sluice) }

// pipelineStagesOf are those of a format.
func pipelineStagesOf(f Format) (names []string) {
	for _, k := range stageKinds(f) {
		if k.treatment == Honoured {
			names = append(names, k.name)
		}
	}
	return names
}
