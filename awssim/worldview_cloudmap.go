package awssim

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// NameView is a namespace of Cloud Map.
type NameView struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Kind     string         `json:"kind"` // HTTP, DNS_PRIVATE, DNS_PUBLIC
	Services []RegistryView `json:"services"`
}

// RegistryView is a service of Cloud Map.
type RegistryView struct {
	ARN       string            `json:"arn"`
	Name      string            `json:"name"`
	Records   map[string]string `json:"records,omitempty"` // type -> TTL
	Weighted  bool              `json:"weighted,omitempty"`
	Instances []InstanceView    `json:"instances"`
}

// InstanceView is an instance of a service of Cloud Map.
type InstanceView struct {
	ID         string            `json:"id"`
	Health     string            `json:"health"`
	Attributes map[string]string `json:"attributes"`
}

func viewNamespace(n *world.Namespace) NameView {
	v := NameView{ID: n.ID, Name: n.Name, Kind: n.Kind, Services: []RegistryView{}}
	for _, r := range n.Registries.All() {
		x := RegistryView{ARN: r.ARN, Name: r.Name, Records: map[string]string{}, Weighted: r.Weighted,
			Instances: []InstanceView{}}
		for _, rec := range r.Records {
			x.Records[rec.Type] = rec.TTL.Round(time.Second).String()
		}
		for _, i := range r.Instances.All() {
			x.Instances = append(x.Instances, InstanceView{ID: i.ID, Health: i.Health, Attributes: i.Attributes})
		}
		v.Services = append(v.Services, x)
	}
	return v
}
