package simtest

// shiftedMutants are rules of services that CodeDeploy deploys.
var shiftedMutants = []mutant{
	{"a deployment of CodeDeploy has no identity", "internal/codedeploy/deploy.go",
		"Description: aws.String(ownDescription(s.By)),\n", "Description: aws.String(\"sluice\"),\n"},
	{"a deployment of CodeDeploy is stopped without its rollback", "internal/codedeploy/deploy.go",
		"AutoRollbackEnabled: aws.Bool(back)}", "AutoRollbackEnabled: aws.Bool(back && id == \"\")}"},
	{"a revision is registered twice", "internal/stage/codedeploy.go",
		"\tif saved.Begun || r.Plan.IsRegistered() {\n", "\tif saved.Begun && r == nil || r.Plan.IsRegistered() {\n"},
	{"what returns by CodeDeploy waits for a person", "internal/stage/codedeploy_follow.go",
		"\t\tif isReady(s) && !continued {\n", "\t\tif isReady(s) && continued {\n"},
	{"an alarm stops what returns by CodeDeploy", "internal/stage/codedeploy_rollback.go",
		"NoAlarms: true}", "NoAlarms: false}"},
	{"hooks judge what returns by CodeDeploy", "internal/stage/codedeploy_rollback.go",
		"definition.NewAppSpec(f.Spec.Input, *f.Spec.Input.TaskDefinition, nil)",
		"definition.NewAppSpec(f.Spec.Input, *f.Spec.Input.TaskDefinition, r.Plan.CodeDeploy.Hooks)"},
	{"attributes are not restored after CodeDeploy", "internal/stage/codedeploy_rollback.go",
		"\tif len(r.snapshot.Attributes.Members) == 0 ||", "\tif len(r.snapshot.Attributes.Members) >= 0 ||"},
	{"what CodeDeploy says of the end is not heard", "internal/stage/codedeploy_follow.go",
		"\tif v.Outcome != sluice.Succeeded {\n", "\tif v.Outcome == sluice.Stalled {\n"},
}
