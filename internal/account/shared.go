package account

import "reflect"

// Shared returns the one value of type T that all users of the account share, such as a reader of
// metrics that joins the reads of all deployments. make makes it at the first call.
func Shared[T any](a *Account, make func() T) T {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := reflect.TypeFor[T]()
	if have, ok := a.shared[key].(T); ok {
		return have
	}
	if a.shared == nil {
		a.shared = map[reflect.Type]any{}
	}
	value := make()
	a.shared[key] = value
	return value
}
