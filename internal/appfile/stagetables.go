package appfile

// stageKind is one kind of stage that a pipeline may contain, or that is refused.
type stageKind struct {
	name      string
	treatment Treatment
	sentence  string
	with      []key
}

func (s stageKind) withShape() shape { return shape{kind: object, keys: s.with} }

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
	routingRemark = "PipeCD takes what is not within 1 and 100 for primary 100, canary 0"
	scaleRemark   = "PipeCD takes 0 for a canary without tasks"
	knownStages   = "sluice knows ECS_SYNC, ECS_CANARY_ROLLOUT, ECS_TRAFFIC_ROUTING, ECS_PRIMARY_ROLLOUT, " +
		"ECS_CANARY_CLEAN, WAIT and WAIT_APPROVAL."
)

// stageKinds returns all kinds of stages that sluice knows.
func stageKinds(f Format) []stageKind {
	kinds := []stageKind{
		{StageSync, Honoured, "Brings the whole service to the new revision at once; quickSync says how.", nil},
		{StageCanaryRollout, Honoured, "Starts the canary beside the primary. It moves no traffic.", []key{
			neededKey("scale", shape{kind: percent, min: 1, max: 100, remark: scaleRemark},
				"The canary's size in percent of the desired count, 1 to 100."),
		}},
		{StageTrafficRouting, Honoured, "Moves the weights of primary and canary.", []key{
			honouredKey("primary", shape{kind: percent, max: 100, remark: routingRemark},
				"The primary's share in percent, 0 to 100; the canary has the rest."),
			honouredKey("canary", shape{kind: percent, max: 100, remark: routingRemark},
				"The canary's share in percent, 0 to 100; the primary has the rest."),
			honouredKey("exact", shape{kind: flag},
				"With service discovery: start as many extra canary tasks as the exact share takes."),
		}},
		{StagePrimaryRollout, Honoured, "Makes the new revision the primary and deletes the old primary.", []key{
			honouredKey("keepOld", shape{kind: flag},
				"Keep the old primary warm until the canary is cleaned, for a rollback without a start."),
		}},
		{StageCanaryClean, Honoured, "Takes the canary away.", nil},
		{StageWait, Honoured, "Lets time pass.", []key{
			neededKey("duration", shape{kind: span}, "How long."),
		}},
		{StageApproval, Honoured, "Waits for people.", []key{
			honouredKey("approvers", shape{kind: list, of: &shape{kind: text}}, "Who may approve. None: anybody."),
			honouredKey("minApproverNum", shape{kind: integer, min: 1, max: 1000}, "How many have to; 1 if not given."),
		}},
		{StageRollback, Refused, "A rollback is added by itself where one is wanted (planner.autoRollback).", nil},
		{"ROLLBACK", Refused, "A rollback is added by itself where one is wanted (planner.autoRollback).", nil},
		{"ANALYSIS", Refused, "This sluice has no analysis stage: a rollout fails by itself where tasks or " +
			"targets do. " + knownStages, nil},
		{"SCRIPT_RUN", Refused, "This sluice runs no scripts. " + knownStages, nil},
		{"SCRIPT_RUN_ROLLBACK", Refused, "This sluice runs no scripts. " + knownStages, nil},
	}
	if f == PipeCDv1 {
		return kinds
	}
	for i := range kinds {
		if kinds[i].treatment == Honoured {
			kinds[i].with = append(kinds[i].with,
				honouredKey("timeout", shape{kind: span}, "PipeCD v0 kept the stage's timeout here too."),
				pipedsOwnKey("skipOn", "piped skips stages by the commit's message or files."))
		}
	}
	return kinds
}

// entryShape returns the shape of a stage without its options, which depend on its name.
func entryShape(f Format) shape {
	keys := []key{
		neededKey("name", shape{kind: text}, "What the stage does."),
		honouredKey("desc", shape{kind: text}, "A text for people."),
		honouredKey("timeout", shape{kind: span}, "The hard limit of the stage; 6h if not given."),
		honouredKey("with", shape{}, "The stage's options."),
		pipedsOwnKey("skipOn", "piped skips stages by the commit's message or files."),
	}
	if f == PipeCDv1 {
		keys = append(keys, refusedKey("id", "PipeCD v1 has no id of stages: leave it out."))
	} else {
		keys = append(keys, pipedsOwnKey("id", "An ID for PipeCD's pages."))
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
