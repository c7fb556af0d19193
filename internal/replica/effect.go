package replica

// withoutEffect are members that the local AWS accepts and that have no effect there.
var withoutEffect = [...]struct {
	member, sentence string
	ofService        bool
	ofContainer      bool
}{
	{"serviceConnectConfiguration", "other services do not reach it by its Service Connect name", true, false},
	{"vpcLatticeConfigurations", "VPC Lattice sends it no requests", true, false},
	{"volumes", "volumes have no content", false, false},
	{"proxyConfiguration", "no proxy runs", false, false},
	{"secrets", "secrets are not read; the tasks start without them", false, true},
	{"environmentFiles", "environment files are not read", false, true},
	{"firelensConfiguration", "logs are not routed", false, true},
	{"dependsOn", "containers of a task start together", false, true},
}

// noteWithoutEffect adds a note for each member of a service without effect.
func (w *World) noteWithoutEffect(s Service) {
	containers, _ := s.TaskDefinition["containerDefinitions"].([]any)
	for _, x := range withoutEffect {
		file, given := w.Files.Task, hasValue(s.TaskDefinition[x.member])
		switch {
		case x.ofService:
			file, given = w.Files.Service, hasValue(s.AWS[x.member])
		case x.ofContainer:
			for _, c := range containers {
				container, _ := c.(map[string]any)
				given = given || hasValue(container[x.member])
			}
		}
		if given {
			w.note("%s: %s: no effect here: %s", file, x.member, x.sentence)
		}
	}
}

// hasValue reports whether a member is given, and not empty or switched off.
func hasValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0 && v["enabled"] != false
	}
	return true
}
