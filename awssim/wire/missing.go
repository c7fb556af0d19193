package wire

import "reflect"

// Missing are those of the named members of in, a pointer to an input, that are
// not there: nil, or empty where the SDK has a plain string. Each service words
// its own refusal.
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
