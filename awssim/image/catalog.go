package image

// Catalog holds images by reference, beside the built-in sim/* ones. A reference
// in it wins.
type Catalog map[string]Behaviour

// Lookup is what the image of that reference does: from the catalogue, else by
// [Parse]. ok is false for a reference that nobody knows.
func (c Catalog) Lookup(ref string) (Behaviour, bool) {
	if b, ok := c[ref]; ok {
		return b, true
	}
	b, err := Parse(ref)
	return b, err == nil
}
