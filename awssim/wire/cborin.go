package wire

import (
	"math"
	"reflect"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// decodeCBOR reads an RPC v2 body into a new value of the shape, by the rules of decodeJSON:
// unknown fields are ignored, a wrong type is an error. Maps, lists and strings of indefinite
// length are accepted.
func (s *shape) decodeCBOR(body []byte) (reflect.Value, *world.Refusal) {
	v := reflect.New(s.typ)
	if len(body) == 0 {
		return v, nil
	}
	x, err := cbor.Decode(body)
	if err != nil {
		return v, serializationError("the body is not CBOR")
	}
	if _, ok := x.(cbor.Map); !ok {
		return v, s.mismatchCBOR(x)
	}
	return v, s.setCBOR(v.Elem(), x)
}

// setCBOR stores x in v.
func (s *shape) setCBOR(v reflect.Value, x cbor.Value) *world.Refusal {
	switch x := x.(type) {
	case *cbor.Nil, *cbor.Undefined:
		return nil
	case cbor.Map:
		if s.kind == kindStruct || s.kind == kindMap || s.kind == kindUnion {
			return s.setCBORMap(v, x)
		}
	case cbor.List:
		if s.kind == kindList {
			return s.setCBORList(v, x)
		}
	}
	switch s.kind {
	case kindPointer:
		p := reflect.New(s.elem.typ)
		v.Set(p)
		return s.elem.setCBOR(p.Elem(), x)
	case kindDocument:
		return nil
	}
	if !s.setCBORScalar(v, x) {
		return s.mismatchCBOR(x)
	}
	return nil
}

func (s *shape) setCBORList(v reflect.Value, l cbor.List) *world.Refusal {
	v.Set(reflect.MakeSlice(s.typ, len(l), len(l)))
	for i, x := range l {
		if isNull(x) {
			return serializationError("null can not be a member of a list")
		}
		if err := s.elem.setCBOR(v.Index(i), x); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) setCBORMap(v reflect.Value, o cbor.Map) *world.Refusal {
	switch s.kind {
	case kindMap:
		return s.setCBOREntries(v, o)
	case kindUnion:
		return s.setCBORUnion(v, o)
	}
	for i := range s.fields {
		f := &s.fields[i]
		x, ok := o[f.in]
		if !ok {
			continue
		}
		if err := f.shape.setCBOR(v.Field(f.index), x); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) setCBOREntries(v reflect.Value, o cbor.Map) *world.Refusal {
	m := reflect.MakeMapWithSize(s.typ, len(o))
	for k, x := range o {
		e := reflect.New(s.elem.typ).Elem()
		if err := s.elem.setCBOR(e, x); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(k).Convert(s.typ.Key()), e)
	}
	v.Set(m)
	return nil
}

// setCBORUnion stores the one field that is set; see setUnion.
func (s *shape) setCBORUnion(v reflect.Value, o cbor.Map) *world.Refusal {
	for i := range s.fields {
		f := &s.fields[i]
		x, ok := o[f.in]
		if !ok || isNull(x) {
			continue
		}
		if !v.IsNil() {
			return serializationError("Union must have exactly one member set")
		}
		p := reflect.New(f.holder)
		if err := f.shape.setCBOR(p.Elem().Field(f.index), x); err != nil {
			return err
		}
		v.Set(p)
	}
	return nil
}

func isNull(x cbor.Value) bool {
	switch x.(type) {
	case *cbor.Nil, *cbor.Undefined:
		return true
	}
	return false
}

func (s *shape) setCBORScalar(v reflect.Value, x cbor.Value) bool {
	switch s.kind {
	case kindString:
		t, ok := x.(cbor.String)
		v.SetString(string(t))
		return ok
	case kindBool:
		b, ok := x.(cbor.Bool)
		v.SetBool(bool(b))
		return ok
	case kindBlob:
		b, ok := x.(cbor.Slice)
		v.SetBytes(append([]byte{}, b...))
		return ok
	case kindInt:
		i, err := cbor.AsInt64(x)
		if err != nil || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
		return true
	case kindFloat:
		f, err := cbor.AsFloat64(x)
		v.SetFloat(f)
		return err == nil
	case kindTime:
		return setCBORTime(v, x)
	}
	return false
}

// setCBORTime reads tag 1, seconds since the epoch, and rounds to the nearest millisecond.
func setCBORTime(v reflect.Value, x cbor.Value) bool {
	tag, ok := x.(*cbor.Tag)
	if !ok || tag.ID != 1 {
		return false
	}
	f, err := cbor.AsFloat64(tag.Value)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e12 {
		return false
	}
	v.Set(reflect.ValueOf(time.UnixMilli(int64(math.Round(f * 1e3))).UTC()))
	return true
}

func (s *shape) mismatchCBOR(x cbor.Value) *world.Refusal {
	return serializationError(kindOfCBOR(x) + " can not be converted to " + s.modelTypeName())
}

func kindOfCBOR(x cbor.Value) string {
	switch x.(type) {
	case cbor.String:
		return "a String"
	case cbor.Bool:
		return "a Boolean"
	case cbor.Slice:
		return "a Blob"
	case cbor.List:
		return "a list"
	case cbor.Map:
		return "a structure"
	case *cbor.Tag:
		return "a tag"
	}
	return "a number"
}
