package ecs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func showTask(t *world.Task, tags bool) *ecstypes.Task {
	doc, def := docOfTask(t), docOfDefinition(t.Definition).def
	d := &ecstypes.Task{
		TaskArn: ptr(t.ARN), ClusterArn: ptr(t.Cluster.ARN), TaskDefinitionArn: ptr(t.Definition.ARN),
		LastStatus: ptr(t.LastStatus), DesiredStatus: ptr(t.DesiredStatus), Version: t.Version,
		Group: optionalText(t.Group), StartedBy: optionalText(t.StartedBy),
		LaunchType:           ecstypes.LaunchType(t.LaunchType),
		CapacityProviderName: optionalText(t.Provider), AvailabilityZone: optionalText(t.Zone),
		HealthStatus: ecstypes.HealthStatus(t.Health),
		Cpu:          deepCopy(def.Cpu), Memory: deepCopy(def.Memory), EnableExecuteCommand: doc.exec,
		Overrides: showOverrides(t, doc),
		StopCode:  ecstypes.TaskStopCode(t.StopCode), StoppedReason: optionalText(t.StoppedReason),
		CreatedAt: optionalTime(t.CreatedAt), ConnectivityAt: optionalTime(t.ConnectivityAt),
		PullStartedAt: optionalTime(t.PullStartedAt), PullStoppedAt: optionalTime(t.PullStoppedAt),
		StartedAt:  optionalTime(t.StartedAt),
		StoppingAt: optionalTime(t.StoppingAt), ExecutionStoppedAt: optionalTime(t.ExecutionStoppedAt),
		StoppedAt:   optionalTime(t.StoppedAt),
		Attachments: []ecstypes.Attachment{}, Containers: []ecstypes.Container{},
		Attributes: []ecstypes.Attribute{{Name: ptr("ecs.cpu-architecture"), Value: ptr("x86_64")}},
	}
	if t.Definition.HasOwnAddress() {
		d.Attachments = append(d.Attachments, showInterface(t))
	}
	if t.Instance != nil {
		d.ContainerInstanceArn = ptr(t.Instance.ARN)
	}
	if !t.ConnectivityAt.IsZero() {
		d.Connectivity = "CONNECTED"
	}
	if t.LaunchType == "FARGATE" {
		d.PlatformVersion, d.PlatformFamily = deepCopy(doc.platform), ptr("Linux")
		d.EphemeralStorage = &ecstypes.EphemeralStorage{SizeInGiB: 20}
		if def.EphemeralStorage != nil {
			d.EphemeralStorage = deepCopy(def.EphemeralStorage)
		}
		d.FargateEphemeralStorage = &ecstypes.TaskEphemeralStorage{SizeInGiB: d.EphemeralStorage.SizeInGiB}
	}
	for _, c := range t.Containers {
		d.Containers = append(d.Containers, showContainer(t, c))
	}
	if tags {
		d.Tags = shownTags(doc.tags)
	} else {
		d.Tags = []ecstypes.Tag{}
	}
	return d
}

// showOverrides names every container, overridden or not, as AWS does.
func showOverrides(t *world.Task, doc *taskDoc) *ecstypes.TaskOverride {
	o := &ecstypes.TaskOverride{}
	if doc.overrides != nil {
		o = deepCopy(doc.overrides)
	}
next:
	for _, c := range t.Containers {
		for i := range o.ContainerOverrides {
			if val(o.ContainerOverrides[i].Name) == c.Spec.Name {
				continue next
			}
		}
		o.ContainerOverrides = append(o.ContainerOverrides, ecstypes.ContainerOverride{Name: ptr(c.Spec.Name)})
	}
	o.InferenceAcceleratorOverrides = orEmpty(o.InferenceAcceleratorOverrides)
	return o
}

// showInterface returns the task's network interface, which EC2 describes too.
func showInterface(t *world.Task) ecstypes.Attachment {
	a := ecstypes.Attachment{Id: ptr(attachmentOf(t)), Type: ptr("ElasticNetworkInterface"),
		Status: ptr(interfaceStatus(t))}
	a.Details = []ecstypes.KeyValuePair{keyValue("subnetId", t.Subnet.ID)}
	if t.Address.IsValid() {
		a.Details = append(a.Details,
			keyValue("networkInterfaceId", t.InterfaceID()),
			keyValue("macAddress", t.InterfaceMAC()),
			keyValue("privateDnsName", t.PrivateDNSName(regionOf(t.ARN))),
			keyValue("privateIPv4Address", t.Address.String()))
	}
	return a
}

func attachmentOf(t *world.Task) string {
	h := sha256.Sum256([]byte("attachment " + t.ID))
	x := hex.EncodeToString(h[:16])
	return x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:]
}

func interfaceStatus(t *world.Task) string {
	switch t.LastStatus {
	case "PROVISIONING":
		return "PRECREATED"
	case "PENDING":
		return "ATTACHING"
	case "DEPROVISIONING":
		return "DETACHING"
	case "STOPPED":
		return "DELETED"
	}
	return "ATTACHED"
}

func keyValue(name, value string) ecstypes.KeyValuePair {
	return ecstypes.KeyValuePair{Name: ptr(name), Value: ptr(value)}
}

func showContainer(t *world.Task, c *world.Container) ecstypes.Container {
	h := sha256.Sum256([]byte("container " + t.ID + " " + c.Spec.Name))
	x := hex.EncodeToString(h[:16])
	d := ecstypes.Container{
		ContainerArn: ptr(t.Cluster.ARN[:len(t.Cluster.ARN)-len("cluster/"+t.Cluster.Name)] + "container/" +
			t.Cluster.Name + "/" + t.ID + "/" +
			x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:]),
		TaskArn: ptr(t.ARN), Name: ptr(c.Spec.Name), Image: ptr(c.Spec.Image), LastStatus: ptr(c.Status),
		HealthStatus: ecstypes.HealthStatus(c.Health), Reason: optionalText(c.Reason),
		RuntimeId: optionalText(c.RuntimeID), ImageDigest: optionalText(c.Digest),
		NetworkBindings: []ecstypes.NetworkBinding{}, NetworkInterfaces: []ecstypes.NetworkInterface{},
	}
	if c.ExitCode != nil {
		d.ExitCode = ptr(int32(*c.ExitCode))
	}
	if !t.Definition.HasOwnAddress() && c.Status == "RUNNING" {
		d.NetworkBindings = showBindings(c)
	}
	if t.Definition.HasOwnAddress() && t.Address.IsValid() {
		d.NetworkInterfaces = append(d.NetworkInterfaces, ecstypes.NetworkInterface{
			AttachmentId: ptr(attachmentOf(t)), PrivateIpv4Address: ptr(t.Address.String()),
		})
	}
	fillSizes(&d, t, c)
	return d
}

// showBindings returns the ports of the container instance that belong to a container.
func showBindings(c *world.Container) []ecstypes.NetworkBinding {
	out := []ecstypes.NetworkBinding{}
	for _, p := range c.Spec.Ports {
		out = append(out, ecstypes.NetworkBinding{BindIP: ptr("0.0.0.0"), ContainerPort: ptr(p.Container),
			HostPort: ptr(p.Published()), Protocol: ecstypes.TransportProtocol(p.Protocol)})
	}
	return out
}

func fillSizes(d *ecstypes.Container, t *world.Task, c *world.Container) {
	defs := docOfDefinition(t.Definition).def.ContainerDefinitions
	for i := range defs {
		if x := &defs[i]; val(x.Name) == c.Spec.Name {
			d.Cpu = ptr(fmt.Sprint(x.Cpu))
			if x.Memory != nil {
				d.Memory = ptr(fmt.Sprint(*x.Memory))
			}
			if x.MemoryReservation != nil {
				d.MemoryReservation = ptr(fmt.Sprint(*x.MemoryReservation))
			}
		}
	}
}
