package history

import "slices"

// Release is one deployment of a version: of the history of ECS or CodeDeploy, or of a journal.
type Release struct {
	Version string // equal for equal versions
	Served  bool   // it replaced the version before; false: it failed, or was stopped or rolled back
	Returns bool   // sluice deployed it to roll back
}

// HasReturned reports whether the last of the releases, oldest first, left the version that it replaced for one that
// had served before. A rollback has then nothing to do, whichever history it goes by. A version that was left so does
// not count as one before: if it is deployed again, a rollback returns to the version that it replaced.
func HasReturned(releases []Release) bool {
	var kept []string // the versions through which rollbacks go back; the last one serves
	returned, failed := false, false
	for _, r := range releases {
		at := slices.Index(kept, r.Version)
		serves := at >= 0 && at == len(kept)-1
		switch {
		case !r.Served:
			failed = failed || len(kept) > 0 && !serves
			continue
		case serves:
			returned = returned || failed
		case at >= 0:
			kept, returned = kept[:at+1], true
		case r.Returns: // to a copy, or to a version from before the history
			kept, returned = append(kept[:max(0, len(kept)-2)], r.Version), true
		default:
			kept, returned = append(kept, r.Version), false
		}
		failed = false
	}
	return returned
}
