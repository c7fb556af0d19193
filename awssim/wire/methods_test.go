package wire_test

import "reflect"

// methods are the calls of a room for tests, found by reflection.
func methods(room any) []any {
	var all []any
	v := reflect.ValueOf(room)
	for i := range v.NumMethod() {
		if t := v.Method(i).Type(); t.NumIn() == 2 && t.NumOut() == 2 && t.In(1).Kind() == reflect.Pointer {
			all = append(all, v.Method(i).Interface())
		}
	}
	return all
}
