package appfile

// stageKind is one kind of stage that a pipeline may contain, or that is refused.
type stageKind struct {
	name      string
	treatment Treatment
	sentence  string
	with      []key
}

func (s stageKind) withShape() shape {
	with := shape{kind: object, keys: s.with}
	if s.name == StageAnalysis {
		with.complete = [][]string{{"metrics"}, {"https"}, {"commands"}, {"alarms"}}
	}
	return with
}

// needsWith reports whether the stage has a required option.
func (s stageKind) needsWith() bool {
	for _, k := range s.with {
		if k.needed {
			return true
		}
	}
	return false
}

const (
	routingRemark = "PipeCD replaces values outside 1 to 100 with primary 100, canary 0"
	scaleRemark   = "in PipeCD, 0 is a canary without tasks"
	knownStages   = "sluice supports ECS_SYNC, ECS_CANARY_ROLLOUT, ECS_TRAFFIC_ROUTING, ECS_PRIMARY_ROLLOUT, " +
		"ECS_CANARY_CLEAN, WAIT, ANALYSIS and WAIT_APPROVAL."
)

// stageKinds returns all kinds of stages that sluice knows.
func stageKinds(f Format) []stageKind {
	kinds := []stageKind{
		{StageSync, Honoured, "Deploys the new revision to the complete service in one step. quickSync has the " +
			"options.", nil},
		{StageCanaryRollout, Honoured, "Starts the canary next to the primary. It does not shift traffic. " +
			"With service discovery and no ECS_TRAFFIC_ROUTING, it registers the canary's tasks once they are healthy.", []key{
			neededKey("scale", shape{kind: percent, min: 1, max: 100, remark: scaleRemark},
				"The canary's size in percent of the desired count, 1 to 100."),
		}},
		{StageTrafficRouting, Honoured, "Sets the weights of primary and canary.", []key{
			honouredKey("primary", shape{kind: percent, max: 100, remark: routingRemark},
				"The primary's share in percent, 0 to 100; the canary gets the rest."),
			honouredKey("canary", shape{kind: percent, max: 100, remark: routingRemark},
				"The canary's share in percent, 0 to 100; the primary gets the rest."),
			honouredKey("exact", shape{kind: flag},
				"With service discovery: start as many extra canary tasks as the exact share needs."),
		}},
		{StagePrimaryRollout, Honoured, "Makes the new revision the primary and deletes the old primary.", []key{
			honouredKey("keepOld", shape{kind: flag},
				"Keep the old primary running until ECS_CANARY_CLEAN, so that a rollback starts no tasks."),
		}},
		{StageCanaryClean, Honoured, "Deletes the canary.", nil},
		{StageWait, Honoured, "Waits for a fixed time.", []key{
			neededKey("duration", shape{kind: span}, "How long to wait."),
			gatesKey("Gates that must not fail while the stage waits."),
		}},
		{StageAnalysis, Honoured, "Waits while gates judge the canary by metrics.", analysisKeys()},
		{StageApproval, Honoured, "Waits for approvals.", []key{
			honouredKey("approvers", shape{kind: list, of: &shape{kind: text}}, "The users who may approve. Default: "+
				"any user."),
			honouredKey("minApproverNum", shape{kind: integer, min: 1, max: 1000}, "How many approvals are needed. "+
				"Default: 1."),
		}},
		{StageRollback, Refused, "sluice adds the rollback itself; planner.autoRollback controls it.", nil},
		{"ROLLBACK", Refused, "sluice adds the rollback itself; planner.autoRollback controls it.", nil},
		{"SCRIPT_RUN", Refused, "This version of sluice runs no scripts. " + knownStages, nil},
		{"SCRIPT_RUN_ROLLBACK", Refused, "This version of sluice runs no scripts. " + knownStages, nil},
	}
	const timeout = "The timeout of the stage, as in PipeCD v0."
	for i := range kinds {
		switch {
		case f == PipeCDv1 && kinds[i].name == StageApproval: // PipeCD v1's documentation has it here
			kinds[i].with = append(kinds[i].with, honouredKey("timeout", shape{kind: span}, timeout))
		case f != PipeCDv1 && kinds[i].treatment == Honoured:
			kinds[i].with = append(kinds[i].with,
				honouredKey("timeout", shape{kind: span}, timeout),
				pipedsOwnKey("skipOn", "piped skips stages by the commit message or the changed files."))
		}
	}
	return kinds
}

// entryShape returns the shape of a stage without its options, which depend on its name.
func entryShape(f Format) shape {
	keys := []key{
		neededKey("name", shape{kind: text}, "The kind of the stage."),
		honouredKey("desc", shape{kind: text}, "A description for people."),
		honouredKey("timeout", shape{kind: span}, "The maximum duration of the stage. Default: 6h."),
		honouredKey("with", shape{}, "The stage's options."),
		pipedsOwnKey("skipOn", "piped skips stages by the commit message or the changed files."),
	}
	if f == PipeCDv1 {
		keys = append(keys, refusedKey("id", "Stages of PipeCD v1 have no id: remove it."))
	} else {
		keys = append(keys, pipedsOwnKey("id", "An ID for PipeCD's web UI."))
	}
	return shape{kind: object, keys: keys}
}

func stageNamed(f Format, name string) (stageKind, bool) {
	for _, st := range stageKinds(f) {
		if st.name == name {
			return st, true
		}
	}
	return stageKind{}, false
}
