package ecs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// deepCopy returns a deep copy of a value of the SDK's types. Unexported fields, which are empty
// there, are copied shallowly; the value of a union is copied deeply.
func deepCopy[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	copyInto(out, reflect.ValueOf(&v).Elem())
	return out.Interface().(T)
}

var timeType = reflect.TypeFor[time.Time]()

func copyInto(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			copyInto(dst.Elem(), src.Elem())
		}
	case reflect.Interface:
		if !src.IsNil() {
			in := reflect.New(src.Elem().Type()).Elem()
			copyInto(in, src.Elem())
			dst.Set(in)
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
			for i := range src.Len() {
				copyInto(dst.Index(i), src.Index(i))
			}
		}
	case reflect.Map:
		copyMap(dst, src)
	case reflect.Struct:
		copyStruct(dst, src)
	default:
		dst.Set(src)
	}
}

func copyMap(dst, src reflect.Value) {
	if src.IsNil() {
		return
	}
	dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
	for _, k := range src.MapKeys() {
		v := reflect.New(src.Type().Elem()).Elem()
		copyInto(v, src.MapIndex(k))
		dst.SetMapIndex(k, v)
	}
}

func copyStruct(dst, src reflect.Value) {
	dst.Set(src)
	if src.Type() == timeType {
		return
	}
	for i := range src.NumField() {
		if src.Type().Field(i).IsExported() {
			copyInto(dst.Field(i), src.Field(i))
		}
	}
}

// requestFingerprint returns a text that identifies a request: equal parameters have equal text,
// whatever order their maps have.
func requestFingerprint(in any) string {
	b, err := json.Marshal(in)
	if err != nil {
		return fmt.Sprintf("%#v", in)
	}
	return string(b)
}

func ptr[T any](v T) *T { return &v }

// val returns the value that p points to, or the zero value.
func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// optionalText returns a pointer to s, or nil if s is empty: AWS omits such fields.
func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// optionalTime returns a pointer to t, or nil if t is zero.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
