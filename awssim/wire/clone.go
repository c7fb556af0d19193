package wire

import (
	"reflect"
	"time"
)

// Clone returns a deep copy of a value of the SDK's types. APIs use it so that stored values are
// shared with neither requests nor responses. Unexported fields, which are empty there, are copied
// shallowly; the value of a union is copied deeply.
func Clone[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	cloneInto(out, reflect.ValueOf(&v).Elem())
	return out.Interface().(T)
}

func cloneInto(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			cloneInto(dst.Elem(), src.Elem())
		}
	case reflect.Interface:
		if !src.IsNil() {
			in := reflect.New(src.Elem().Type()).Elem()
			cloneInto(in, src.Elem())
			dst.Set(in)
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
			for i := range src.Len() {
				cloneInto(dst.Index(i), src.Index(i))
			}
		}
	case reflect.Map:
		cloneMap(dst, src)
	case reflect.Struct:
		cloneStruct(dst, src)
	default:
		dst.Set(src)
	}
}

func cloneMap(dst, src reflect.Value) {
	if src.IsNil() {
		return
	}
	dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
	for _, k := range src.MapKeys() {
		v := reflect.New(src.Type().Elem()).Elem()
		cloneInto(v, src.MapIndex(k))
		dst.SetMapIndex(k, v)
	}
}

func cloneStruct(dst, src reflect.Value) {
	dst.Set(src)
	if src.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range src.NumField() {
		if src.Type().Field(i).IsExported() {
			cloneInto(dst.Field(i), src.Field(i))
		}
	}
}
