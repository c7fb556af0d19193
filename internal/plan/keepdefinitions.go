package plan

// DefinitionTag is the tag on a task definition that names the service for which sluice registered
// it: "<cluster>/<service>". sluice sets the tag if the file asks to deregister obsolete revisions.
// It never deregisters a revision without the tag.
const DefinitionTag = "sluice:service"

// ObsoleteDefinitions is the name that plans use for the revisions deregistered when the deployment
// ends.
const ObsoleteDefinitions = "old task definitions of ours"
