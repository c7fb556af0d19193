package journal

// Endpoint is the AWS that a deployment runs in: AWS itself, or a local AWS. The same service may
// exist in both, with different deployments.
type Endpoint struct {
	URL string // of ECS; empty: AWS itself
	// World is the ID of the local AWS's world. A reset or a restart gives a new one, because the
	// deployments of the previous world have left nothing in it. It is empty if the endpoint has no
	// ID, as AWS itself, or if it did not respond.
	World string
	// Unrecorded: a sluice that did not record the endpoint wrote the deployment. No world had an ID
	// then.
	Unrecorded bool
}

// IsAWS reports whether e is AWS itself.
func (e Endpoint) IsAWS() bool { return e.URL == "" && !e.Unrecorded }

// Has reports whether a deployment at the endpoint d is one of e, the endpoint of a command.
// Worlds are compared by their IDs, whatever the address is. Where one of the IDs is unknown, the
// addresses are compared.
func (e Endpoint) Has(d Endpoint) bool {
	switch {
	case d.World != "" && e.World != "":
		return d.World == e.World
	case d.Unrecorded:
		return e.World == ""
	}
	return d.URL == e.URL
}
