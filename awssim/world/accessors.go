package world

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// IsStrict reports whether the world panics when an invariant is violated. Otherwise it logs the
// violation.
func (w *World) IsStrict() bool { return w.strict }

// Now returns the clock's time, in UTC. It runs no due event.
func (w *World) Now() time.Time { return w.clock.Now().UTC() }

// InterfaceID returns the id of the task's elastic network interface. ECS returns it in the task's
// attachment, EC2 in DescribeNetworkInterfaces.
func (t *Task) InterfaceID() string {
	id := t.ID + "0000000000000000"
	return "eni-0" + id[:16]
}

// InterfaceMAC returns the MAC address of the task's network interface.
func (t *Task) InterfaceMAC() string {
	h := sha256.Sum256([]byte("eni " + t.ID))
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", h[8], h[9], h[10], h[11], h[12])
}

// PrivateDNSName returns the private host name of the task's network interface.
func (t *Task) PrivateDNSName(region string) string {
	domain := region + ".compute.internal"
	if region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(t.Address.String(), ".", "-") + "." + domain
}
