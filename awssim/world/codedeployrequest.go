package world

// Replacement is the task set that CodeDeploy requests of ECS, as an AppSpec describes it. Empty
// fields are taken from the PRIMARY task set.
type Replacement struct {
	Definition      string // ARN, family:revision or family
	TargetGroup     string // ARN
	Container       string
	Port            int32
	PlatformVersion string // "": the primary's
	Network         *Network
	Providers       []Provider
	ExternalID      string // deployment id
}

// Network is an awsvpc configuration.
type Network struct {
	Subnets, SecurityGroups []string
	PublicIP                string // ENABLED, DISABLED, ""
}

// Provider is one item of a capacity provider strategy.
type Provider struct {
	Name         string
	Base, Weight int32
}
