package simtest

// namedMutants are rules of services that are found by a name. That an operation failed
// is no rule of these: what DiscoverInstances shows is awaited besides, and would tell.
var namedMutants = []mutant{
	{"the canary is registered before its health checks pass", "internal/stage/access/discovered/tasks.go",
		"\t\tcase isHealthy(d, t) && (m.Variant == sluice.Canary || d.names.IsDiscoverable(t.ID)):\n",
		"\t\tcase m.Variant == sluice.Canary || isHealthy(d, t) && d.names.IsDiscoverable(t.ID):\n"},
	{"records of the canary stay when it leaves the name", "internal/route/cloudmap/driver.go",
		"\tif err := d.Instances.Deregister(ctx, act, CanaryInstances, leave); err != nil {\n\t\treturn err\n\t}\n",
		""},
	{"a record is put back under an id of our own", "internal/route/cloudmap/driver.go",
		"back = append(back, Instance{ID: m.instance,", "back = append(back, Instance{ID: d.Prefix + m.ID,"},
	{"a record is put back without what ECS says of its task", "internal/route/cloudmap/driver.go",
		"Attributes: d.Deregistered[m.instance]})",
		"Attributes: map[string]string{addressKey: m.Address, portKey: d.Deregistered[m.instance][portKey]}})"},
	{"the canary's records do not say what ECS says", "internal/route/cloudmap/selection.go",
		"\"ECS_CLUSTER_NAME\": p.Cluster, ", ""},
	{"what was taken out is not put back by the rollback", "internal/stage/access/discovered/traffic.go",
		"\tswitch {\n" +
			"\tcase d.names.LastRead().Pool().Primary == 0:\n",
		"\tswitch {\n" +
			"\tcase d.names.LastRead().CountDeregistered() > 0:\n" +
			"\t\treturn nil\n" +
			"\tcase d.names.LastRead().Pool().Primary == 0:\n"},
	{"what is about to be taken out is not saved before", "internal/route/cloudmap/driver.go",
		"\tif err := d.saveAttributes(ctx, out); err != nil {\n\t\treturn err\n\t}\n", "\tdefer func() { _ = " +
			"d.saveAttributes(ctx, out) }()\n"},
	{"Cloud Map's operations are not awaited", "internal/route/cloudmap/operation.go",
		"failed, err := n.collectFailed(ctx, all, ids)", "failed, err := []int(nil), error(nil)"},
	{"what others take out of a name is not noticed", "internal/route/cloudmap/drift.go",
		"\t\tcase !m.registered && !m.deregistered && m.Healthy &&\n\t\t\t(d.seenRegistered[m.instance] || m.Age > " +
			"registrationLimit):\n", "\t\tcase !m.registered && !m.deregistered && m.Healthy && m.registered:\n"},
	{"records of the canary that others take out are not noticed", "internal/route/cloudmap/drift.go",
		"if d.ExpectsCanary && !m.registered && m.Healthy && d.Registered[m.instance] {",
		"if d.ExpectsCanary && !m.registered && m.Healthy && d.Registered[m.instance] && m.registered {"},
	{"what others put back in a name is not noticed", "internal/route/cloudmap/drift.go",
		"case m.registered && m.returnable && d.seenDeregistered[m.instance]:",
		"case m.registered && m.returnable && d.seenDeregistered[m.instance] && !m.registered:"},
	{"a share is told that ECS undoes", "internal/stage/access/discovered/shift.go",
		"\t\terr = cmp.Or(checkStaysDeregistered(ctx, d, to), checkShareReached(d, to))\n",
		"\t\terr = cmp.Or(checkShareReached(d, to), checkShareReached(d, to))\n"},
	{"records of canary tasks that died stay", "internal/route/cloudmap/reconcile.go",
		"d.deregisterAll(ctx, act, CanaryInstances, s.dead)", "d.deregisterAll(ctx, act, CanaryInstances, nil)"},
	{"what was put back while its task is told to stop stays", "internal/route/cloudmap/reconcile.go",
		"d.deregisterAll(ctx, act, PrimaryInstances, late)", "d.deregisterAll(ctx, act, PrimaryInstances, nil)"},
	{"a share is not kept while tasks come and go", "internal/stage/access/discovered/reconcile.go",
		"\tif err != nil || held == 0 {\n",
		"\tif err != nil || held >= 0 {\n"},
	{"a share is not raised to one task", "internal/plan/shares.go",
		"for n := 1; n <= p.Canary; n++ {", "for n := 2; n <= p.Canary; n++ {"},
	{"an exact share starts no further tasks", "internal/stage/access/discovered/shift.go",
		"\tcase want.Canary <= pool.Canary:\n",
		"\tcase want.Canary <= pool.Canary || d.step.Stage.Exact:\n"},
	{"the end of a deployment does not read the name", "internal/stage/confirmcallers.go",
		"\tif arn == \"\" && !known {\n",
		"\tif arn == \"\" || known {\n"},
}
