package diagnosis

// ReadEvents is what to do if nothing explains the end of a wait.
const ReadEvents = "read the service's events and tasks: sluice status --events 20"

// DeployOrRollBack is what follows the advice about a version that does not become healthy.
const DeployOrRollBack = DeployAgain + ", or roll back: sluice rollback"

// DeployAgain is what follows the advice about a version that was rolled back.
const DeployAgain = "then deploy again"

// RegisterAgain precedes the command that registers targets again.
const RegisterAgain = ", then register them again: "
