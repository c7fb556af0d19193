package appfile

// stageKind is one kind of stage that a pipeline may contain, or that is refused.
type stageKind struct {
	name string
	list List
	says string
	with []key
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
	known         = "sluice knows ECS_SYNC, ECS_CANARY_ROLLOUT, ECS_TRAFFIC_ROUTING, ECS_PRIMARY_ROLLOUT, ECS_CANARY_CLEAN, WAIT and WAIT_APPROVAL."
)

// stageKinds returns all kinds of stages that sluice knows.
func stageKinds(f Format) []stageKind {
	kinds := []stageKind{
		{StageSync, Honoured, "Brings the whole service to the new revision at once; quickSync says how.", nil},
		{StageCanaryRollout, Honoured, "Starts the canary beside the primary. It moves no traffic.", []key{
			needed("scale", shape{kind: percent, min: 1, max: 100, remark: scaleRemark}, "The canary's size in percent of the desired count, 1 to 100."),
		}},
		{StageTrafficRouting, Honoured, "Moves the weights of primary and canary.", []key{
			honoured("primary", shape{kind: percent, max: 100, remark: routingRemark}, "The primary's share in percent, 0 to 100; the canary has the rest."),
			honoured("canary", shape{kind: percent, max: 100, remark: routingRemark}, "The canary's share in percent, 0 to 100; the primary has the rest."),
			honoured("exact", shape{kind: flag}, "With service discovery: start as many extra canary tasks as the exact share takes."),
		}},
		{StagePrimaryRollout, Honoured, "Makes the new revision the primary and deletes the old primary.", []key{
			honoured("keepOld", shape{kind: flag}, "Keep the old primary warm until the canary is cleaned, for a rollback without a start."),
		}},
		{StageCanaryClean, Honoured, "Takes the canary away.", nil},
		{StageWait, Honoured, "Lets time pass.", []key{
			needed("duration", shape{kind: span}, "How long."),
		}},
		{StageApproval, Honoured, "Waits for people.", []key{
			honoured("approvers", shape{kind: list, of: &shape{kind: text}}, "Who may approve. None: anybody."),
			honoured("minApproverNum", shape{kind: whole, min: 1, max: 1000}, "How many have to; 1 if not given."),
		}},
		{StageRollback, Refused, "A rollback is added by itself where one is wanted (planner.autoRollback).", nil},
		{"ROLLBACK", Refused, "A rollback is added by itself where one is wanted (planner.autoRollback).", nil},
		{"ANALYSIS", Refused, "This sluice has no analysis stage: a rollout fails by itself where tasks or targets do. " + known, nil},
		{"SCRIPT_RUN", Refused, "This sluice runs no scripts. " + known, nil},
		{"SCRIPT_RUN_ROLLBACK", Refused, "This sluice runs no scripts. " + known, nil},
	}
	if f == PipeCDv1 {
		return kinds
	}
	for i := range kinds {
		if kinds[i].list == Honoured {
			kinds[i].with = append(kinds[i].with,
				honoured("timeout", shape{kind: span}, "PipeCD v0 kept the stage's timeout here too."),
				pipedsOwn("skipOn", "piped skips stages by the commit's message or files."))
		}
	}
	return kinds
}

// entryShape returns the shape of a stage without its options, which depend on its name.
func entryShape(f Format) shape {
	keys := []key{
		needed("name", shape{kind: text}, "What the stage does."),
		honoured("desc", shape{kind: text}, "A text for people."),
		honoured("timeout", shape{kind: span}, "The hard limit of the stage; 6h if not given."),
		honoured("with", shape{}, "The stage's options."),
		pipedsOwn("skipOn", "piped skips stages by the commit's message or files."),
	}
	if f == PipeCDv1 {
		keys = append(keys, refused("id", "PipeCD v1 has no id of stages: leave it out."))
	} else {
		keys = append(keys, pipedsOwn("id", "An ID for PipeCD's pages."))
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
