package simtest

// shiftedMutants are rules of services that CodeDeploy deploys.
var shiftedMutants = []mutant{
	{"a deployment of CodeDeploy has no identity", "internal/codedeploy/deploy.go",
		"Description: aws.String(ownDescription(s.By)),\n", "Description: aws.String(\"sluice\"),\n"},
	{"a deployment of CodeDeploy is stopped without its rollback", "internal/codedeploy/deploy.go",
		"AutoRollbackEnabled: aws.Bool(back)}", "AutoRollbackEnabled: aws.Bool(back && id == \"\")}"},
	{"a revision is registered twice", "internal/stage/bluegreen/deploy.go",
		"\tif saved.Begun || s.Plan.IsRegistered() {\n",
		"\tif saved.Begun && s == nil || s.Plan.IsRegistered() {\n"},
	{"what returns by CodeDeploy waits for a person", "internal/stage/bluegreen/follow.go",
		"\t\tif isReady(update) && !continued {\n",
		"\t\tif isReady(update) && continued {\n"},
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
