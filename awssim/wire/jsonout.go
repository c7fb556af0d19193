package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"sort"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// appendJSON writes v as awsJson. Nil fields are omitted; plain numbers and booleans are always
// written. Times are seconds since the epoch with milliseconds. Maps are sorted by key.
func (s *shape) appendJSON(b []byte, v reflect.Value) []byte {
	switch s.kind {
	case kindString:
		return appendString(b, v.String())
	case kindBool:
		return strconv.AppendBool(b, v.Bool())
	case kindInt:
		return strconv.AppendInt(b, v.Int(), 10)
	case kindFloat:
		return appendFloat(b, v.Float())
	case kindTime:
		return appendEpoch(b, v.Interface().(time.Time))
	case kindBlob:
		return appendString(b, base64.StdEncoding.EncodeToString(v.Bytes()))
	case kindPointer:
		if v.IsNil() {
			return append(b, "null"...)
		}
		return s.elem.appendJSON(b, v.Elem())
	case kindList:
		return s.appendList(b, v)
	case kindMap:
		return s.appendMap(b, v)
	case kindStruct:
		return s.appendStruct(b, v)
	case kindUnion:
		return s.appendUnion(b, v)
	}
	return appendDocument(b, v)
}

func (s *shape) appendStruct(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	first := true
	for i := range s.fields {
		f := &s.fields[i]
		m := v.Field(f.index)
		if f.shape.isAbsent(m) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = f.shape.appendJSON(append(b, f.prefix...), m)
	}
	return append(b, '}')
}

func (s *shape) appendList(b []byte, v reflect.Value) []byte {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.elem.appendJSON(b, v.Index(i))
	}
	return append(b, ']')
}

func (s *shape) appendMap(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	for i, k := range sortedKeys(v) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k.String()), ':')
		b = s.elem.appendJSON(b, v.MapIndex(k))
	}
	return append(b, '}')
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	return keys
}

func (s *shape) appendUnion(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	if f := s.unionMember(v); f != nil {
		b = f.shape.appendJSON(append(b, f.prefix...), v.Elem().Elem().Field(f.index))
	}
	return append(b, '}')
}

func appendDocument(b []byte, v reflect.Value) []byte {
	m, ok := v.Interface().(interface{ MarshalSmithyDocument() ([]byte, error) })
	if !ok {
		return append(b, "null"...)
	}
	d, err := m.MarshalSmithyDocument()
	if err != nil || !json.Valid(d) {
		return append(b, "null"...)
	}
	return append(b, d...)
}

// appendFloat writes a number. AWS writes values that JSON does not have as strings.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	for _, c := range b[n:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendEpoch(b []byte, t time.Time) []byte {
	return strconv.AppendFloat(b, float64(t.UnixMilli())/1e3, 'f', -1, 64)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7F {
			q, _ := json.Marshal(s)
			return append(b, world.PrintableJSON(q)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
