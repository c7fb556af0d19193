package world

import (
	"strings"
	"time"
)

// RegistryChanged is told when a namespace or a service of Cloud Map was made,
// changed or deleted; the object is the *Namespace or *Registry.
// InstanceChanged is told when an instance was registered, overwritten, judged
// otherwise or deregistered; the object is the *Instance. NamesChanged is told
// when what the name servers answer has followed; the object is the *Registry.
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
	Gone          bool
	Doc           any
}

// HasDNS reports whether names below the namespace resolve.
func (n *Namespace) HasDNS() bool { return n.Kind != HTTPNamespace }

// Registry is a Cloud Map service: what ECS calls a service registry.
type Registry struct {
	ID, ARN, Name string
	Namespace     *Namespace
	Records       []RecordType // none: found by DiscoverInstances alone
	Weighted      bool         // answers one record; else up to eight
	Custom        bool         // instances have a health that is told to Cloud Map
	Instances     Ordered[*Instance]
	Revision      int64 // grows with each registration and deregistration
	Gone          bool
	Doc           any
}

// RecordType is one type of DNS record that a registry answers with.
type RecordType struct {
	Type string // A, AAAA, SRV, CNAME
	TTL  time.Duration
}

// FullName is the registry's name in DNS and in reports: "api.shop.local".
func (r *Registry) FullName() string { return r.Name + "." + r.Namespace.Name }

// TTL is that of the records of a type; ok is false if there are none.
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
	Registry   *Registry
	ID         string
	Attributes map[string]string // never changed: a registration brings a new map
	Health     string            // HEALTHY, UNHEALTHY; without health checks always HEALTHY
	Gone       bool              // deregistered
	At         time.Time         // of the registration
	Doc        any
}

// Enrolment ties the tasks of a task set to a registry. ECS allows one.
type Enrolment struct {
	Registry string // ARN
	Port     int32  // for SRV records; 0 if there are none
}

// AddNamespace puts a namespace into the world.
func (tx *Tx) AddNamespace(n *Namespace) {
	tx.Namespaces.Put(n.ID, n)
	tx.Log("namespace", n.Name, "created, %s", n.Kind)
	tx.Changed(RegistryChanged, n)
}

// DeleteNamespace takes a namespace without registries away.
func (tx *Tx) DeleteNamespace(n *Namespace) {
	n.Gone = true
	tx.Namespaces.Delete(n.ID)
	tx.Log("namespace", n.Name, "deleted")
	tx.Changed(RegistryChanged, n)
}

// AddRegistry puts a registry into its namespace.
func (tx *Tx) AddRegistry(r *Registry) {
	tx.Registries.Put(r.ARN, r)
	r.Namespace.Registries.Put(r.ID, r)
	tx.Log("registry", r.FullName(), "created")
	tx.Changed(RegistryChanged, r)
}

// DeleteRegistry takes a registry without instances away.
func (tx *Tx) DeleteRegistry(r *Registry) {
	r.Gone = true
	tx.Registries.Delete(r.ARN)
	r.Namespace.Registries.Delete(r.ID)
	tx.Log("registry", r.FullName(), "deleted")
	tx.Changed(RegistryChanged, r)
}

// Enrol registers an instance, or overwrites the one with that id. It begins
// with the health that its attributes name, where the registry keeps one.
func (tx *Tx) Enrol(r *Registry, id string, attributes map[string]string) *Instance {
	if old, ok := r.Instances.Get(id); ok {
		old.Gone = true
	}
	i := &Instance{Registry: r, ID: id, Attributes: attributes, Health: "HEALTHY", At: tx.Now()}
	if r.Custom && attributes[AttributeInit] == "UNHEALTHY" {
		i.Health = "UNHEALTHY"
	}
	r.Instances.Put(id, i)
	r.Revision++
	tx.Log("instance", r.FullName()+" "+id, "registered, %s", i.Health)
	tx.Changed(InstanceChanged, i)
	return i
}

// Withdraw deregisters an instance. One that is gone is left.
func (tx *Tx) Withdraw(i *Instance) {
	if i.Gone {
		return
	}
	i.Gone = true
	i.Registry.Instances.Delete(i.ID)
	i.Registry.Revision++
	tx.Log("instance", i.Registry.FullName()+" "+i.ID, "deregistered")
	tx.Changed(InstanceChanged, i)
}

// SetInstanceHealth sets an instance's health, where its registry keeps one.
func (tx *Tx) SetInstanceHealth(i *Instance, health string) {
	if i.Gone || !i.Registry.Custom || i.Health == health {
		return
	}
	tx.Log("instance", i.Registry.FullName()+" "+i.ID, "%s -> %s", i.Health, health)
	i.Health = health
	tx.Changed(InstanceChanged, i)
}

// NamespaceByName is the namespace of that name; names are unlike in case only.
func (r *Region) NamespaceByName(name string) *Namespace {
	for _, n := range r.Namespaces.All() {
		if strings.EqualFold(n.Name, name) {
			return n
		}
	}
	return nil
}
