package plan

import (
	"fmt"
	"strings"
	"time"
)

// ClaimTag is the tag on the service that names the owning deployment. Its value is "<deployment>
// <until>", until as RFC 3339 in UTC. The id of the task set that served before the deployment
// follows, if there was one.
const ClaimTag = "sluice:deployment"

// Claim names the deployment that owns a service, and when the claim expires.
type Claim struct {
	Deployment string
	Until      time.Time
	Former     string // id of the task set that served; may be empty
}

func (c Claim) String() string {
	return strings.TrimSuffix(c.Deployment+" "+c.Until.UTC().Format(time.RFC3339)+" "+c.Former, " ")
}

// IsValidAt reports whether the claim has not expired at a time.
func (c Claim) IsValidAt(t time.Time) bool { return !c.Until.Before(t) }

// ClaimText formats the value of a claim tag for people: the owner and the expiry.
func ClaimText(value string) string {
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

// IDPrefix begins the ID of every deployment. The externalId of every task set that sluice created
// therefore begins with it too.
const IDPrefix = "slc-"

// IsSluiceID reports whether sluice created the resource with this externalId.
func IsSluiceID(externalID string) bool { return strings.HasPrefix(externalID, IDPrefix) }
