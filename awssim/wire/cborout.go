package wire

import (
	"math"
	"reflect"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
)

// The library encodes only whole trees, and maps in Go's order. These bytes place its scalars into
// maps and lists of indefinite length, in the order of the shape. One answer therefore always has
// the same bytes.
const (
	openList = 0x9f
	openMap  = 0xbf
	closing  = 0xff
)

// appendCBOR writes v as RPC v2. It omits the same fields as appendJSON.
func (s *shape) appendCBOR(b []byte, v reflect.Value) []byte {
	switch s.kind {
	case kindPointer:
		if v.IsNil() {
			return appendValue(b, &cbor.Nil{})
		}
		return s.elem.appendCBOR(b, v.Elem())
	case kindList:
		b = append(b, openList)
		for i := range v.Len() {
			b = s.elem.appendCBOR(b, v.Index(i))
		}
		return append(b, closing)
	case kindMap:
		b = append(b, openMap)
		for _, k := range sortedKeys(v) {
			b = s.elem.appendCBOR(appendValue(b, cbor.String(k.String())), v.MapIndex(k))
		}
		return append(b, closing)
	case kindStruct:
		b = append(b, openMap)
		for i := range s.fields {
			f := &s.fields[i]
			if m := v.Field(f.index); !f.shape.isAbsent(m) {
				b = f.shape.appendCBOR(appendValue(b, cbor.String(f.out)), m)
			}
		}
		return append(b, closing)
	case kindUnion:
		return s.appendCBORUnion(b, v)
	}
	return appendValue(b, s.scalarCBOR(v))
}

func (s *shape) appendCBORUnion(b []byte, v reflect.Value) []byte {
	b = append(b, openMap)
	if f := s.unionMember(v); f != nil {
		b = f.shape.appendCBOR(appendValue(b, cbor.String(f.out)), v.Elem().Elem().Field(f.index))
	}
	return append(b, closing)
}

func appendValue(b []byte, x cbor.Value) []byte { return append(b, cbor.Encode(x)...) }

func (s *shape) scalarCBOR(v reflect.Value) cbor.Value {
	switch s.kind {
	case kindString:
		return cbor.String(v.String())
	case kindBool:
		return cbor.Bool(v.Bool())
	case kindInt:
		return cborInteger(v.Int())
	case kindFloat:
		return cbor.Float64(v.Float())
	case kindBlob:
		return cbor.Slice(v.Bytes())
	case kindTime:
		return &cbor.Tag{ID: 1, Value: cborEpoch(v.Interface().(time.Time))}
	}
	return &cbor.Nil{} // documents, which no service of this protocol has
}

func cborInteger(i int64) cbor.Value {
	if i < 0 {
		return cbor.NegInt(-uint64(i))
	}
	return cbor.Uint(i)
}

// cborEpoch returns a time in seconds, with milliseconds if it has any. Clients truncate to
// milliseconds, so the number is never below the exact value.
func cborEpoch(t time.Time) cbor.Value {
	ms := t.UnixMilli()
	if ms%1000 == 0 {
		return cborInteger(ms / 1000)
	}
	f := float64(ms) / 1e3
	if ms > 0 && int64(f*1e3) < ms {
		f = math.Nextafter(f, math.Inf(1))
	}
	return cbor.Float64(f)
}
