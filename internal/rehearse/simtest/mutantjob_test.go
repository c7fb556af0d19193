package simtest

// jobMutants are rules of tasks without a service.
var jobMutants = []mutant{
	{"a task by itself is started again without being looked for", "internal/stage/task/launch.go",
		"\tif begun && l.Unanswered {\n", "\tif begun && l.Unanswered && j == nil {\n"},
	{"the token of a task by itself is another one the second time", "internal/stage/task/launch.go",
		"ecs.Launch{ID: j.ActionID(action), ",
		"ecs.Launch{ID: j.ActionID(action + j.Clock.Now().Format(time.RFC3339Nano)), "},
	{"a task by itself that somebody stops has come to its end", "internal/verdict/diagnosis/run.go",
		"case t.StopCode != \"\" && t.StopCode != \"EssentialContainerExited\":", "case t.StopCode == \"none\":"},
	{"the first container decides about a task by itself", "internal/stage/task/await.go",
		"if c, isFailed := diagnosis.ExplainRun(e, v.job.Watch, v.logs", "if c, isFailed := diagnosis.ExplainRun(e, " +
			"e.Containers[0].Name, v.logs"},
}
