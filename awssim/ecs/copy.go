package ecs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// clone is a deep copy of a value of the SDK's shapes. Unexported fields, which
// hold nothing there, are copied as they are; a union's member is copied.
func clone[T any](v T) T {
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

// fingerprint is the text that tells one request from another: equal parameters have
// equal text, whatever order their maps have.
func fingerprint(in any) string {
	b, err := json.Marshal(in)
	if err != nil {
		return fmt.Sprintf("%#v", in)
	}
	return string(b)
}

func ptr[T any](v T) *T { return &v }

// val is what p points to, or the zero value.
func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// text is p, or nil where it would be empty: AWS leaves such members out.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// stamp is t, or nil where it never came.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
