package image

import "strings"

// Catalog holds images by reference, beside the built-in sim/* ones. A reference
// in it wins.
type Catalog map[string]Behaviour

// HostImages is the key that lets a catalogue start programs of the host. A
// catalogue without it answers every host: reference with a container that
// cannot be started, and says why.
const HostImages = "host:"

const hostImagesOff = "CannotStartContainerError: images of the host are off here; allow them with --allow-host-images (library: Options.AllowHostImages)"

// Lookup is what the image of that reference does: from the catalogue, else by
// [Parse]. ok is false for a reference that nobody knows.
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
