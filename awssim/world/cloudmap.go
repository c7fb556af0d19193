package world

import (
	"strings"
	"time"
)

// RegistryChanged is the change of a namespace or a Cloud Map service that was created, changed or
// deleted; the object is the *Namespace or *Registry. InstanceChanged is the change of an instance
// that was registered, overwritten, deregistered or changed its health; the object is the
// *Instance. NamesChanged says that the name servers now answer by an earlier change; the object is
// the *Registry.
const (
	RegistryChanged ChangeKind = "registry"
	InstanceChanged ChangeKind = "instance"
	NamesChanged    ChangeKind = "names"
)

// Kinds of namespaces.
const (
	HTTPNamespace    = "HTTP"
	PrivateNamespace = "DNS_PRIVATE"
	PublicNamespace  = "DNS_PUBLIC"
)

// Namespace is a Cloud Map namespace.
type Namespace struct {
	ID, ARN, Name string
	Kind          string
	VPC           string // of a private one
	Registries    Ordered[*Registry]
	Deleted       bool
	Doc           any
}

// HasDNS reports whether names in the namespace resolve by DNS.
func (n *Namespace) HasDNS() bool { return n.Kind != HTTPNamespace }

// Registry is a Cloud Map service. ECS calls it a service registry.
type Registry struct {
	ID, ARN, Name   string
	Namespace       *Namespace
	Records         []RecordType // none: only DiscoverInstances returns the instances
	Weighted        bool         // DNS answers one record; otherwise up to eight
	HasCustomHealth bool         // instances have a custom health status
	Instances       Ordered[*Instance]
	Revision        int64 // grows with each registration and deregistration
	Deleted         bool
	Doc             any
}

// RecordType is one type of DNS record of a registry.
type RecordType struct {
	Type string // A, AAAA, SRV, CNAME
	TTL  time.Duration
}

// FullName returns the registry's DNS name: "api.shop.local".
func (r *Registry) FullName() string { return r.Name + "." + r.Namespace.Name }

// TTL returns the TTL of the records of a type. ok is false if the registry has no such records.
func (r *Registry) TTL(kind string) (ttl time.Duration, ok bool) {
	for _, x := range r.Records {
		if x.Type == kind {
			return x.TTL, true
		}
	}
	return 0, false
}

// Attributes of an instance that Cloud Map and DNS understand.
const (
	AttributeIPv4  = "AWS_INSTANCE_IPV4"
	AttributeIPv6  = "AWS_INSTANCE_IPV6"
	AttributePort  = "AWS_INSTANCE_PORT"
	AttributeCNAME = "AWS_INSTANCE_CNAME"
	AttributeInit  = "AWS_INIT_HEALTH_STATUS"
)

// Instance is a Cloud Map instance.
type Instance struct {
	Registry     *Registry
	ID           string
	Attributes   map[string]string // never changed: each registration sets a new map
	Health       string            // HEALTHY, UNHEALTHY; without health checks always HEALTHY
	Deregistered bool              // deregistered
	At           time.Time         // of the registration
	Doc          any
}

// RegistryAttachment connects the tasks of a task set to a registry. ECS allows one per task set.
type RegistryAttachment struct {
	Registry  string // ARN
	Port      int32  // for SRV records; 0 if there are none
	Container string // whose port it is, or ""
}

// AddNamespace adds a namespace.
func (tx *Tx) AddNamespace(n *Namespace) {
	tx.Namespaces.Put(n.ID, n)
	tx.Log("namespace", n.Name, "created, %s", n.Kind)
	tx.Changed(RegistryChanged, n)
}

// DeleteNamespace deletes a namespace that has no registries.
func (tx *Tx) DeleteNamespace(n *Namespace) {
	n.Deleted = true
	tx.Namespaces.Delete(n.ID)
	tx.Log("namespace", n.Name, "deleted")
	tx.Changed(RegistryChanged, n)
}

// AddRegistry adds a registry to its namespace.
func (tx *Tx) AddRegistry(r *Registry) {
	tx.Registries.Put(r.ARN, r)
	r.Namespace.Registries.Put(r.ID, r)
	tx.Log("registry", r.FullName(), "created")
	tx.Changed(RegistryChanged, r)
}

// DeleteRegistry deletes a registry that has no instances.
func (tx *Tx) DeleteRegistry(r *Registry) {
	r.Deleted = true
	tx.Registries.Delete(r.ARN)
	r.Namespace.Registries.Delete(r.ID)
	tx.Log("registry", r.FullName(), "deleted")
	tx.Changed(RegistryChanged, r)
}

// RegisterInstance registers an instance, or overwrites the one with that id. If the registry keeps
// a custom health, the instance starts with the health in its attributes.
func (tx *Tx) RegisterInstance(r *Registry, id string, attributes map[string]string) *Instance {
	if old, ok := r.Instances.Get(id); ok {
		old.Deregistered = true
	}
	i := &Instance{Registry: r, ID: id, Attributes: attributes, Health: "HEALTHY", At: tx.Now()}
	if r.HasCustomHealth && attributes[AttributeInit] == "UNHEALTHY" {
		i.Health = "UNHEALTHY"
	}
	r.Instances.Put(id, i)
	r.Revision++
	tx.Log("instance", r.FullName()+" "+id, "registered, %s", i.Health)
	tx.Changed(InstanceChanged, i)
	return i
}

// DeregisterInstance deregisters an instance, unless it is deregistered already.
func (tx *Tx) DeregisterInstance(i *Instance) {
	if i.Deregistered {
		return
	}
	i.Deregistered = true
	i.Registry.Instances.Delete(i.ID)
	i.Registry.Revision++
	tx.Log("instance", i.Registry.FullName()+" "+i.ID, "deregistered")
	tx.Changed(InstanceChanged, i)
}

// SetInstanceHealth sets an instance's health if its registry keeps a custom health.
func (tx *Tx) SetInstanceHealth(i *Instance, health string) {
	if i.Deregistered || !i.Registry.HasCustomHealth || i.Health == health {
		return
	}
	tx.Log("instance", i.Registry.FullName()+" "+i.ID, "%s -> %s", i.Health, health)
	i.Health = health
	tx.Changed(InstanceChanged, i)
}

// NamespaceByName returns the namespace of that name. Two names never differ in case only.
func (r *Region) NamespaceByName(name string) *Namespace {
	for _, n := range r.Namespaces.All() {
		if strings.EqualFold(n.Name, name) {
			return n
		}
	}
	return nil
}
