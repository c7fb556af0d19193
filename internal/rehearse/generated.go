package rehearse

// OldImage is the image of the version that serves at the start; the image catalogue of the world
// defines what it does.
const OldImage = "sim/rehearsal:old"

// Secret is in the environment of generated applications. No event and no row may contain it (P6).
const Secret = "s3cr3t-of-the-environment"

// OtherToolID is the external ID of a task set that another tool created.
const OtherToolID = "another-tool/1"
