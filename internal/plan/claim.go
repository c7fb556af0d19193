package plan

import (
	"fmt"
	"strings"
	"time"
)

// ClaimTag is the tag on the service that says who deploys it:
// "<deployment> <until>", until as RFC 3339 in UTC, and after them, if there was
// one, the id of the task set that served before the deployment.
const ClaimTag = "sluice:deployment"

// Claim is who deploys a service, and until when the claim holds.
type Claim struct {
	Deployment string
	Until      time.Time
	Former     string // id of the task set that served; may be empty
}

func (c Claim) String() string {
	return strings.TrimSuffix(c.Deployment+" "+c.Until.UTC().Format(time.RFC3339)+" "+c.Former, " ")
}

// HeldBy words the value of a claim tag for people: whose it is, and until when.
func HeldBy(value string) string {
	c, err := ParseClaim(value)
	if err != nil {
		return value
	}
	return c.Deployment + " until " + c.Until.UTC().Format("2006-01-02 15:04:05Z")
}

// ParseClaim reads the value of the claim tag.
func ParseClaim(value string) (Claim, error) {
	id, rest, ok := strings.Cut(value, " ")
	until, former, _ := strings.Cut(rest, " ")
	t, err := time.Parse(time.RFC3339, until)
	if !ok || err != nil {
		return Claim{}, fmt.Errorf("tag %s has the value %q, not \"<deployment> <until>\"", ClaimTag, value)
	}
	return Claim{id, t, former}, nil
}

// IDPrefix begins the ID of every deployment, and so the externalId of every
// task set that sluice made.
const IDPrefix = "slc-"

// Ours reports whether an externalId is sluice's.
func Ours(externalID string) bool { return strings.HasPrefix(externalID, IDPrefix) }
