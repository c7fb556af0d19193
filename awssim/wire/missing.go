package wire

import "reflect"

// Missing returns those of the named fields of in, a pointer to an input, that are not set: nil, or
// empty if the SDK has a plain string. Each service words its own error.
func Missing(in any, names ...string) []string {
	v := reflect.ValueOf(in).Elem()
	var gone []string
	for _, n := range names {
		if f := v.FieldByName(n); f.IsZero() {
			gone = append(gone, n)
		}
	}
	return gone
}
