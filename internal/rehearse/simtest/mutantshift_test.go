package simtest

// shiftedMutants are rules of services that CodeDeploy deploys.
var shiftedMutants = []mutant{
	{"a deployment of CodeDeploy has no identity", "internal/codedeploy/deploy.go",
		"Description: aws.String(ownDescription(s.By)),\n", "Description: aws.String(\"sluice\"),\n"},
	{"a deployment of CodeDeploy is stopped without its rollback", "internal/codedeploy/deploy.go",
		"AutoRollbackEnabled: aws.Bool(back)}", "AutoRollbackEnabled: aws.Bool(back && id == \"\")}"},
	{"a revision is registered twice", "internal/stage/revision/revision.go",
		"\tcase saved.Begun || saved.Revision != nil:\n",
		"\tcase saved.Begun && s == nil || saved.Revision != nil:\n"},
	{"what returns by CodeDeploy waits for a person", "internal/stage/bluegreen/follow.go",
		"\t\tcase isReady(update) && !waited.shift:\n",
		"\t\tcase isReady(update) && waited.shift:\n"},
	{"an alarm stops what returns by CodeDeploy", "internal/stage/bluegreen/rollback.go",
		"\t\tNoAlarms: true}\n",
		"\t\tNoAlarms: false}\n"},
	{"hooks judge what returns by CodeDeploy", "internal/stage/bluegreen/rollback.go",
		"\tspec, err := appspec.New(f.Spec.Input, *f.Spec.Input.TaskDefinition, nil)\n",
		"\tspec, err := appspec.New(f.Spec.Input, *f.Spec.Input.TaskDefinition, s.Plan.CodeDeploy.Hooks)\n"},
	{"attributes are not restored after CodeDeploy", "internal/stage/bluegreen/rollback.go",
		"\tif len(s.Snapshot.Attributes.Members) == 0 ||\n",
		"\tif len(s.Snapshot.Attributes.Members) >= 0 ||\n"},
	{"what CodeDeploy says of the end is not heard", "internal/stage/bluegreen/follow.go",
		"\tif v.Outcome != sluice.Succeeded {\n",
		"\tif v.Outcome == sluice.Stalled {\n"},
}
