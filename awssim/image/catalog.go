package image

import "strings"

// Catalog maps references to images, in addition to the built-in sim/* ones. Its entries take
// precedence.
type Catalog map[string]Behaviour

// HostImages is the key that allows a catalogue to start programs of the host. Without it, a host:
// reference is a container that cannot start, with the reason.
const HostImages = "host:"

const hostImagesOff = "CannotStartContainerError: images of the host are off here; allow them with " +
	"--allow-host-images (library: Options.AllowHostImages)"

// Lookup returns the behaviour of the image of that reference: from the catalogue, otherwise by
// [Parse]. ok is false for an unknown reference.
func (c Catalog) Lookup(ref string) (b Behaviour, ok bool) {
	if b, ok := c[ref]; ok && ref != HostImages {
		return b, true
	}
	b, err := Parse(ref)
	if err != nil {
		return Behaviour{}, false
	}
	if _, allowed := c[HostImages]; strings.HasPrefix(ref, HostImages) && !allowed {
		return Behaviour{Version: b.Version, NoBoot: hostImagesOff}, true
	}
	return b, true
}
