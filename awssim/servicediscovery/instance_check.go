package servicediscovery

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxKeyLength    = 255
	maxValueLength  = 1024
	maxCustomLength = 5000 // keys and values of custom ones together
)

// checkAttributes refuses instance attributes that AWS refuses.
func checkAttributes(r *world.Registry, attributes map[string]string) error {
	if len(attributes) == 0 {
		return invalidInput("The instance has no attributes.")
	}
	custom, length := 0, 0
	for _, k := range slices.Sorted(maps.Keys(attributes)) {
		v := attributes[k]
		if k == "" || len(k) > maxKeyLength || len(v) > maxValueLength {
			return invalidInput("The attribute %q is too long: keys have 1 to %d characters, values up to %d.", k,
				maxKeyLength, maxValueLength)
		}
		if !strings.HasPrefix(k, "AWS_") {
			custom, length = custom+1, length+len(k)+len(v)
			continue
		}
		if err := checkReserved(r, k, v); err != nil {
			return err
		}
	}
	if custom > maxAttributes || length > maxCustomLength {
		return invalidInput("An instance has at most %d custom attributes of %d characters in all.", maxAttributes,
			maxCustomLength)
	}
	for _, rec := range r.Records {
		if err := checkRecord(rec.Type, attributes); err != nil {
			return err
		}
	}
	return nil
}

// checkReserved refuses invalid values of Cloud Map's reserved attributes.
func checkReserved(r *world.Registry, k, v string) error {
	switch k {
	case world.AttributeIPv4:
		if a, err := netip.ParseAddr(v); err != nil || !a.Is4() {
			return invalidInput("Invalid value for attribute %s: %s", k, v)
		}
	case world.AttributeIPv6:
		if a, err := netip.ParseAddr(v); err != nil || !a.Is6() {
			return invalidInput("Invalid value for attribute %s: %s", k, v)
		}
	case world.AttributePort:
		if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 65535 {
			return invalidInput("Invalid value for attribute %s: %s", k, v)
		}
	case world.AttributeCNAME:
	case world.AttributeInit:
		if !r.HasCustomHealth {
			return invalidInput("%s is only supported for services with HealthCheckCustomConfig.", k)
		}
		if v != "HEALTHY" && v != "UNHEALTHY" {
			return invalidInput("Invalid value for attribute %s: %s", k, v)
		}
	case "AWS_EC2_INSTANCE_ID":
		if r.Namespace.HasDNS() {
			return invalidInput("%s is only supported in HTTP namespaces.", k)
		}
	case "AWS_ALIAS_DNS_NAME":
		return invalidInput("Attribute %s: not simulated.", k)
	default:
		return invalidInput("Invalid attribute: %s. Attributes starting with AWS_ are reserved.", k)
	}
	return nil
}

// checkRecord refuses an instance that lacks an attribute for a record of its service.
func checkRecord(kind string, attributes map[string]string) error {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return attributes[k] != "" })
	}
	ok, needs := true, ""
	switch kind {
	case "A":
		ok, needs = has(world.AttributeIPv4), world.AttributeIPv4
	case "AAAA":
		ok, needs = has(world.AttributeIPv6), world.AttributeIPv6
	case "CNAME":
		ok, needs = has(world.AttributeCNAME), world.AttributeCNAME
	case "SRV":
		ok = has(world.AttributePort) && has(world.AttributeIPv4, world.AttributeIPv6)
		needs = world.AttributePort + " and " + world.AttributeIPv4 + " or " + world.AttributeIPv6
	}
	if !ok {
		return invalidInput("Instances of a service with %s records need the attribute %s.", kind, needs)
	}
	return nil
}
